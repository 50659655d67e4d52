"""Explanations of Uniswap V3's revert codes."""

from __future__ import annotations

from typing import Final

from mayavi.errors import CallReverted
from mayavi.evm.abi.revert_tables import TEXTS
from mayavi.protocols.revert_context import reason_text, with_context

_LONGEST_CODE = 3

_NEXT: Final[dict[str, str]] = {
    "AI": "a pool gets its first price once only; swap to move it",
    "AS": "the amount is so small that a pool on the way gives nothing for it; give more",
    "F0": "the borrower has to send the loan and its fee back before it returns",
    "F1": "the borrower has to send the loan and its fee back before it returns",
    "I": "initialise the pool with a price first",
    "IIA": "whoever calls `swap` of a pool has to pay in its callback; the router does",
    "L": "provide liquidity first",
    "LA": "add less liquidity",
    "LO": "add less liquidity, or choose other ticks",
    "LOK": "initialise the pool with a price first; inside a callback use another pool",
    "LS": "take out no more liquidity than the position has",
    "M0": "whoever calls `mint` of a pool has to pay in its callback; the position manager does",
    "M1": "whoever calls `mint` of a pool has to pay in its callback; the position manager does",
    "NP": "a position without liquidity has no fees to update",
    "OLD": "ask for a more recent time, or let the pool remember more",
    "R": "choose a price between those of the lowest and the highest tick",
    "SPL": "a limit lies below the pool's square root price where token0 is sold, above it where token1 is",
    "STF": "give the payer more of the token, or let it approve more",
    "T": "ticks go from -887,272 to 887,272",
    "TF": "the pool holds too little of the token, or the token refuses the receiver",
    "TLM": "ticks begin at -887,272",
    "TLU": "give the lower tick first",
    "TUM": "ticks end at 887,272",
    "Not approved": "only its owner changes a position, or whom the owner approved",
    "Not cleared": "take its liquidity out and collect what it is owed first",
    "Invalid token ID": "it was never minted, or it has been burnt",
}


def explain(error: CallReverted, what: str, hint: str | None = None) -> CallReverted:
    """Return `error` with the message `<what> reverted: SPL, <meaning of SPL>` and a hint."""
    text = reason_text(error)
    meaning = TEXTS.get(text, "") if len(text) <= _LONGEST_CODE else ""
    return with_context(error, hint or _NEXT.get(text), what=what, meaning=meaning)
