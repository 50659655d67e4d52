"""Name account and amount where a market refuses to open a position."""

from __future__ import annotations

from collections.abc import Sequence

from mayavi.errors import CallReverted
from mayavi.evm.address import checksum
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import Erc20


def refused_supply(
    error: CallReverted, token: Erc20, amount: int, holder: bytes, amounts: Sequence[int]
) -> CallReverted:
    """Return `error` of the supply of `amount` for `holder`, one of the `amounts` that are supplied together."""
    together = (
        f"the {len(amounts):,} accounts supply {token.rounded_text(sum(amounts))} together" if len(amounts) > 1 else ""
    )
    hint = "; ".join(part for part in (error.hint, together) if part) or None
    return with_context(error, hint, what=f"a supply of {token.rounded_text(amount)} for {checksum(holder)}")


def refused_loan(error: CallReverted, token: Erc20, amount: int, holder: bytes) -> CallReverted:
    """Return `error` of the loan of `amount` to `holder`."""
    hint = "; ".join(part for part in (error.hint, "smaller accounts and higher health factors borrow less") if part)
    return with_context(error, hint, what=f"a loan of {token.rounded_text(amount)} to {checksum(holder)}")
