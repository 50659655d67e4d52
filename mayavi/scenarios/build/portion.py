"""`Portion`: what several runs of one scenario have in common, computed for the first of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mayavi.scenarios.build.pricing import price_drawer

if TYPE_CHECKING:
    from mayavi.agents.base import Agent
    from mayavi.evm.fork import Fork
    from mayavi.markets.price_paths import PricePaths
    from mayavi.scenarios.models.config import ScenarioConfig

A = TypeVar("A", bound="Agent")
T = TypeVar("T")


class Portion:
    """Runs of `config` with `seeds`, built in this order on copies of one world that is set up."""

    def __init__(self, config: ScenarioConfig, seeds: Sequence[int]) -> None:
        self.config, self.seeds = config, tuple(seeds)
        self.step_blocks, self.step_seconds = pace(config)
        self._drawn: Iterator[tuple[int, PricePaths]] | None = None
        self._known: dict[Hashable, Any] = {}

    def prices(self, fork: Fork, seed: int) -> PricePaths | None:
        """Return the price paths of the next seed, which is `seed`; None if the scenario has no prices."""
        if not self.config.prices:
            return None
        if self._drawn is None:
            draw = price_drawer(self.config, fork, self.step_seconds)
            self._drawn = zip(self.seeds, draw(self.seeds), strict=True)
        drawn, prices = next(self._drawn)
        assert drawn == seed
        return prices

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return `make()` of the first run. It may depend on the scenario and the set-up world, and on nothing else."""
        if key not in self._known:
            self._known[key] = make()
        known: T = self._known[key]
        return known

    def copies(self, key: Hashable, make: Callable[[], Sequence[A]]) -> list[A]:
        """Return copies of the agents of `once`, which hold nothing but settings before they prepare."""
        return [_copy(agent) for agent in self.once(key, make)]


def _copy(agent: A) -> A:
    """Return a shallow copy of an agent, as `copy.copy` does in more calls."""
    duplicate = agent.__new__(type(agent))
    vars(duplicate).update(vars(agent))
    return duplicate


def pace(config: ScenarioConfig) -> tuple[int, int]:
    """Return blocks and seconds per step."""
    from mayavi.evm.chains import chain

    each = chain(config.chain).block_seconds
    wanted = config.step_blocks or max(1, (config.step_time or 0) // each)
    return wanted, wanted * each
