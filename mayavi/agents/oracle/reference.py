"""Where an agent looks up what a token is really worth."""

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
    """Prices to go by."""

    def usd_e8(self, world: World, token: str) -> int:
        """What one whole `token` is worth in dollars, with eight decimals."""


@dataclass(frozen=True)
class OutsidePrices:
    """The prices of the run's processes. `symbols` says under which a token is found; by default its own."""

    symbols: Mapping[str, str] = field(default_factory=dict)

    def usd_e8(self, world: World, token: str) -> int:
        """The price of the outside market at this step."""
        return to_usd_e8(world.price_usd(self.symbols.get(token, token)))


@dataclass(frozen=True)
class FeedPrices:
    """What price feeds on the chain say: `feeds` maps a token to the name of its feed."""

    feeds: Mapping[str, str]

    def usd_e8(self, world: World, token: str) -> int:
        """What the feed answers in this block."""
        if token not in self.feeds:
            raise UnknownName.of("price", token, self.feeds, f"there are feeds for {', '.join(self.feeds)}")

        def read() -> int:
            feed = PriceFeed(world.fork, self.feeds[token])
            return feed.answer * _E8 // int(10**feed.decimals)

        return world.observe(("answer", self.feeds[token]), read)
