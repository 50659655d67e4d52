"""Oracle that posts the outside prices of a run to price feeds."""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.agents.base import Agent, StepResult, World
from mayavi.agents.oracle.shock import post_intent
from mayavi.agents.quantities import MILLION, Number, as_ppm
from mayavi.errors import BadArgument
from mayavi.markets.price_paths import to_usd_e8
from mayavi.protocols.chainlink.price_feed import PriceFeed

_E8_DECIMALS = 8


class PricePathAgent(Agent):
    """Oracle that posts the prices of the run's processes; `feeds` maps symbols to feeds.

    The answer is the price in USD with 8 decimals, exactly `PricePaths.usd_e8`, converted to the feed's decimals. It is
    posted if it differs from the feed's answer or, with a `deviation`, if it differs by at least that share:
    Chainlink's feeds have 0.005 or 0.0025.

        PricePathAgent("oracle", feeds={"ETH": "Chainlink.ETH/USD"})
    """

    def __init__(self, name: str, *, feeds: Mapping[str, str], deviation: Number = 0) -> None:
        super().__init__(name)
        if not feeds:
            raise BadArgument(f"'{name}' has no feed to post to", 'give some: feeds={"ETH": "Chainlink.ETH/USD"}')
        self.feeds = dict(feeds)
        self.deviation_ppm = as_ppm(deviation, "a deviation")

    def prepare(self, world: World) -> None:
        """Open the feeds."""
        self._open = {symbol: PriceFeed(world.fork, feed) for symbol, feed in self.feeds.items()}

    def step(self, world: World, step_idx: int) -> StepResult:
        """Post the changed prices."""
        del step_idx
        intents = []
        for symbol, feed in self._open.items():
            usd_e8, decimals, now = to_usd_e8(world.price_usd(symbol)), feed.decimals, feed.answer
            answer = usd_e8 * 10**decimals // 10**_E8_DECIMALS
            if answer != now and abs(answer - now) * MILLION >= self.deviation_ppm * now:
                intents.append(post_intent("post_price", feed, now, answer, symbol=symbol))
        return StepResult(tuple(intents), f"{len(intents)} of {len(self._open)} prices have moved")
