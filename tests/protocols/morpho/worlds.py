"""Morpho on the replica, opened once and copied for each test."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

from mayavi import Fork
from mayavi.protocols import MorphoBlue, PriceFeed, add_morpho
from mayavi.protocols.dollar_feed import dollar_feed

ALICE, BOB, CAROL, DAVE = (bytes([number]) * 20 for number in (0xA1, 0xB2, 0xC3, 0xD4))
DAY = 86_400
USDC = 10**6


@cache
def _world() -> Fork:
    fork = Fork.replica("ethereum").copy()
    add_morpho(fork)
    return fork.frozen()


def open_blue() -> MorphoBlue:
    """Return Morpho on a fresh fork, with three empty markets and a vault."""
    return MorphoBlue(_world().copy())


def move_price(fork: Fork, symbol: str, factor: Decimal) -> None:
    """Multiply the dollar price of a token, which the markets' oracles read."""
    PriceFeed(fork, dollar_feed(fork, symbol)).move_by(str(factor - 1))


def pass_time(fork: Fork, seconds: int) -> None:
    fork.set_block(timestamp=fork.timestamp + seconds)
