"""The oracle of a run: it tells the chain what the outside market pays."""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.agents.base import Agent, StepResult, World
from mayavi.agents.oracle.shock import posting
from mayavi.agents.quantities import MILLION, Number, as_ppm
from mayavi.errors import BadArgument
from mayavi.markets.price_paths import to_usd_e8
from mayavi.protocols.chainlink.price_feed import PriceFeed

_E8_DECIMALS = 8


class PricePathAgent(Agent):
    """Posts the prices of the run's processes to price feeds: `feeds` maps a symbol to the feed that tells its price.

    The answer is the price in dollars with eight decimals, exactly as `PricePaths.usd_e8` has it, in the feed's own
    decimals. It is posted when it differs from what the feed answers, or, with a `deviation`, when it differs by that
    share of it or more: Chainlink's feeds have 0.005 or 0.0025.

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
        """Post what has moved."""
        del step_idx
        intents = []
        for symbol, feed in self._open.items():
            usd_e8, decimals, now = to_usd_e8(world.price_usd(symbol)), feed.decimals, feed.answer
            answer = usd_e8 * 10**decimals // 10**_E8_DECIMALS
            if answer != now and abs(answer - now) * MILLION >= self.deviation_ppm * now:
                intents.append(posting("post_price", feed, now, answer, symbol=symbol))
        return StepResult(tuple(intents), f"{len(intents)} of {len(self._open)} prices have moved")
