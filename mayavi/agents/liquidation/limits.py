"""Names of limits of a liquidator, and of reasons why an account was not liquidated."""

from __future__ import annotations

from typing import Literal, get_args

Limit = Literal["capital", "depth", "gas", "most_a_block", "latency"]
"""What kept a liquidator from an account: its capital, the depth of the pool it sells in, gas, its own limit per block,
or latency: it had not noticed the account, or was not ready yet."""
LIMITS: tuple[Limit, ...] = get_args(Limit)

Reason = Literal["unprofitable: bonus", "unprofitable: gas", "unprofitable: depth", "no capital", "too late"]
"""Why an account was not liquidated, from the least to the most promising.

- `unprofitable: bonus`: no margin at the market's prices.
- `unprofitable: gas`: the margin does not exceed the gas cost, or the least profit.
- `unprofitable: depth`: no size sells at a sufficient profit.
- `no capital`: the liquidator cannot pay for a profitable size.
- `too late`: profitable, but no liquidation was executed in time.
"""
REASONS: tuple[Reason, ...] = get_args(Reason)


def no_limits() -> dict[Limit, set[bytes]]:
    """Return an empty set of accounts for each limit."""
    return {limit: set() for limit in LIMITS}
