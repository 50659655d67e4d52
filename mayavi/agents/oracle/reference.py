"""Reference prices of tokens for agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mayavi.agents.base import World
from mayavi.errors import UnknownName
from mayavi.markets.price_paths import to_usd_e8
from mayavi.protocols.chainlink.price_feed import PriceFeed

_E8 = 10**8


class ReferencePrices(Protocol):
    """Source of reference prices."""

    def usd_e8(self, world: World, token: str) -> int:
        """Return the price of one whole `token` in USD, with 8 decimals."""


@dataclass(frozen=True)
class OutsidePrices:
    """Reference prices from the run's price processes. `symbols` maps tokens to their process; default: the token."""

    symbols: Mapping[str, str] = field(default_factory=dict)

    def usd_e8(self, world: World, token: str) -> int:
        """Return the outside price at this step."""
        return to_usd_e8(world.price_usd(self.symbols.get(token, token)))


@dataclass(frozen=True)
class FeedPrices:
    """Reference prices from on-chain feeds: `feeds` maps a token to its feed."""

    feeds: Mapping[str, str]

    def usd_e8(self, world: World, token: str) -> int:
        """Return the feed's answer in this block."""
        if token not in self.feeds:
            raise UnknownName.of("price", token, self.feeds, f"there are feeds for {', '.join(self.feeds)}")

        def read() -> int:
            feed = PriceFeed(world.fork, self.feeds[token])
            return feed.answer * _E8 // int(10**feed.decimals)

        return world.observe(("answer", self.feeds[token]), read)
