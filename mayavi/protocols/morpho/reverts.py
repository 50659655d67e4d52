"""Explanations of Morpho's reverts with the figures that decide them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.errors import CallReverted
from mayavi.evm.units import WAD, format_units
from mayavi.protocols.revert_context import reason_text, with_context

if TYPE_CHECKING:
    from mayavi.protocols.morpho.account import MorphoAccount

_HEALTHY = "position is healthy"
_LIQUIDITY = "insufficient liquidity"
_COLLATERAL = "insufficient collateral"


def explain(account: MorphoAccount, error: CallReverted, function: str, arguments: tuple[object, ...]) -> CallReverted:
    """Return `error` with the market's name and what it depends on: liquidity, collateral, health."""
    market, reason = account.market, reason_text(error)
    hint: str | None = None
    if reason == _LIQUIDITY:
        hint = (
            f"{market.name} has {market.loan.text(market.state().liquidity)} that is not borrowed; take less, or wait"
        )
    elif reason == _COLLATERAL:
        data = account.data()
        hint = (
            f"its collateral carries {market.loan.text(data.debt_limit)} of debt, and it owes"
            f" {market.loan.text(data.debt)} before this; {_percent(market.lltv_wad)} of the value is the most"
        )
    elif reason == _HEALTHY and isinstance(arguments[0], bytes):
        data = market.account(arguments[0]).data()
        hint = f"it owes {_percent(data.ltv_wad)} of its collateral's value, and {_percent(market.lltv_wad)} is allowed"
    elif error.reason is not None and error.reason.name == "Panic":
        hint = "more is taken than the account has there; `data()` says what it has"
    return with_context(error, hint, what=f"{function} in {market.name}")


def _percent(ratio_wad: int) -> str:
    return f"{format_units(ratio_wad * 100, 18, 2)} %" if ratio_wad < 1000 * WAD else "all"
