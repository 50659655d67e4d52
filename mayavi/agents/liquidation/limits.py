"""Names of what limits a liquidator, and of the reasons why an account is left."""

from __future__ import annotations

from typing import Literal, get_args

Limit = Literal["capital", "depth", "gas", "most_a_block", "latency"]
"""What kept a liquidator from an account: its capital, the depth of the pool it sells in, gas, its own limit, or that
it had not noticed the account or was not ready yet."""
LIMITS: tuple[Limit, ...] = get_args(Limit)

Reason = Literal["unprofitable: bonus", "unprofitable: gas", "unprofitable: depth", "no capital", "too late"]
"""Why an account was not liquidated, from the farthest to the nearest to a liquidation.

The bonus leaves nothing at the market's prices; it does not pay the gas and the least profit; selling the collateral
does not return what it costs, in any size; the liquidator cannot pay for a size that would pay; or it would pay, and
nobody was in time.
"""
REASONS: tuple[Reason, ...] = get_args(Reason)


def no_limits() -> dict[Limit, set[bytes]]:
    """Return an empty set of accounts for each limit."""
    return {limit: set() for limit in LIMITS}
