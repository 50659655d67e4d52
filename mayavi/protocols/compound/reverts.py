"""Explain Compound reverts with the current figures of the market."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mayavi.errors import CallReverted
from mayavi.evm.abi.reverts import Reason
from mayavi.protocols.tokens import Erc20

if TYPE_CHECKING:
    from mayavi.protocols.compound.market import CompoundV3


def explain_supply(market: CompoundV3, error: CallReverted, asset: bytes, amount: int) -> CallReverted:
    """Return `error` of a supply of `amount` with the cap and the room under it, if the cap refused it."""
    reason = error.reason
    if not isinstance(reason, Reason) or reason.name != "SupplyCapExceeded":
        return error
    token, cap = Erc20(market.fork, asset), market.asset(asset).supply_cap
    used = int(market.contract.totalsCollateral(asset).totalSupplyAsset)
    meaning = (
        f"SupplyCapExceeded(): {token.rounded_text(amount)} do not fit under the supply cap of"
        f" {token.rounded_text(cap)}, of which {token.rounded_text(used)} are used"
    )
    hint = f"there is room for {token.rounded_text(max(0, cap - used))} now; supply less or another asset"
    return CallReverted(
        error.message.replace(reason.message, meaning),
        hint,
        reason=replace(reason, message=meaning, hint=hint),
        output=error.output,
        gas_used=error.gas_used,
    )
