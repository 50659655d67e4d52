"""Value the borrowers of a scenario on many price paths, while nobody acts.

    found = mayavi.exposure("depeg_cascade", seeds="0:10000", device="cuda")
    found.figures["bad_debt"].p95.value

Nobody repays, adds collateral, trades or liquidates. The result is the debt that liquidators would have to take over,
and the bad debt if none came; a run shows what they do about it. The pool's own code values every account after every
step of every path, on the processor or on a GPU, with the same digest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mayavi.agents.oracle.price_path import PricePathAgent
from mayavi.agents.oracle.shock import OracleShockAgent
from mayavi.errors import BadScenario, UsageError
from mayavi.evm.devices import check_device, check_device_name
from mayavi.evm.specialise import chosen_specialise, specialised
from mayavi.markets.price_paths import all_to_usd_e8
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.aave.price_paths import AccountsOnPaths
from mayavi.protocols.chainlink.price_feed import PriceFeed
from mayavi.scenarios.build.build import Built, build, pace
from mayavi.scenarios.build.pricing import price_drawer
from mayavi.scenarios.exposure.result import E8, Exposure, GroupExposure
from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.scenarios.models.config import GOVERNANCE
from mayavi.scenarios.models.world import WorldOptions
from mayavi.scenarios.run.overrides import Overrides, override_texts
from mayavi.scenarios.run.request import Progress
from mayavi.scenarios.run.run import refuse_unknown
from mayavi.scenarios.sweep.plan import check_seeds, parse_seeds
from mayavi.sim.population_figures import PopulationFigures
from mayavi.sim.world_state import checked_seed

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.worlds.source import WorldSource

SEEDS = "0:1000"
PORTION = 1 << 17
"""Accounts × paths × steps that the processor values before progress is reported. A device values all at once: each
portion would be compiled for its own prices."""


class ExposureListener:
    """Callbacks of an exposure analysis, in the order of the methods. Override those you need."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress

    def open_world(self, world: WorldSource) -> Fork:
        """Open the world."""
        return world.open()

    def opening_positions(self, scenario: Scenario) -> None:
        """The borrowers are about to open their positions."""

    def planned(self, accounts: int, debt_usd: float, paths: int, steps: int) -> None:
        """The positions are open; the paths come next."""

    def paths_done(self, done: int, total: int) -> None:
        """`done` of `total` paths are valued, of all groups together."""
        if self.progress is not None:
            self.progress(done, total)


def exposure(
    scenario: str | Path,
    *,
    seeds: Iterable[int] | str = SEEDS,
    population_seed: int | None = None,
    device: str | None = None,
    chain: str | None = None,
    steps: int | None = None,
    overrides: Overrides = (),
    source: str | None = None,
    snapshot: str | Path | None = None,
    rpc_url: str | None = None,
    block: int | str | None = None,
    progress: Progress | None = None,
    listener: ExposureListener | None = None,
    **unknown: object,
) -> Exposure:
    """Value the borrowers of `scenario` on the price path of each of `seeds`, while nobody acts.

    The borrowers are those of a run with `population_seed`, by default the scenario's own, and a path is that of a run
    with its seed. `device` is `cuda`, `cuda:1`, …; by default the processor. `progress(done, total)` counts paths.
    Other arguments are those of `mayavi.run`.
    """
    refuse_unknown(exposure, unknown)
    chosen = parse_seeds(seeds) if isinstance(seeds, str) else check_seeds(seeds)
    device = _checked_device(device)
    loaded = load_scenario(
        scenario,
        chain=chain,
        steps=steps,
        overrides=override_texts(overrides),
        world=WorldOptions(source, snapshot, rpc_url, block),
    )
    _check_scenario(loaded)
    listener = listener or ExposureListener(progress)
    seed = checked_seed(loaded.config.seed if population_seed is None else population_seed)
    fork = listener.open_world(loaded.world(rpc_url))
    began = time.monotonic()
    with specialised(chosen_specialise(loaded.config.specialise)) as work:
        fork.read_within(work, seed=seed)
        try:
            built = build(loaded.config, fork, seed)
        except BadScenario as error:
            raise loaded.blame(error) from error
        populations = _populations(built)
        answers = _PostedPrices(loaded, built)
        listener.opening_positions(loaded)
        built.scheduler.begin()
        grids = _grids(built, populations, answers)
        debt = sum(int(each.columns(built.world)[1].sum()) for each in populations) / E8
        listener.planned(sum(len(each.accounts) for each in populations), debt, len(chosen), loaded.config.steps)
        groups, left = _value(populations, grids, answers, chosen, device, listener)
    return Exposure(
        scenario=loaded.name,
        chain=loaded.config.world or loaded.config.chain,
        seeds=chosen,
        population_seed=seed,
        step_seconds=answers.step_seconds,
        groups=groups,
        device=device,
        left=left,
        seconds=time.monotonic() - began,
        distinct=len(answers.distinct),
        notes=_notes(built, len(chosen), len(answers.distinct)),
    )


def _checked_device(device: str | None) -> str | None:
    """Return the name of a device that is there; None for the processor."""
    if device in (None, "cpu"):
        return None
    check_device_name(device, ("cpu",))
    check_device(device, "take the device cpu for the processor")
    return device


def _check_scenario(scenario: Scenario) -> None:
    if not scenario.config.prices:
        raise UsageError(
            f"{scenario.name} has no price processes, so that all its paths are the same",
            "give one: --set 'prices.WETH={process: gbm, volatility: 80%}'",
        )


def _populations(built: Built) -> list[PopulationFigures]:
    """Return the groups of borrowers; `UsageError` without any, or with one that is not on Aave V3 or SparkLend."""
    groups = [each for each in built.snapshots.readers if isinstance(each, PopulationFigures)]
    if not groups:
        raise UsageError("the scenario has no borrowers", "take one that has: `mayavi scenarios list` names them")
    for group in groups:
        if not isinstance(group.market, AaveV3):
            raise UsageError(
                f"{group.name} borrow on a market that is neither Aave V3 nor SparkLend",
                "exposures are computed for these two; `mayavi sweep` runs the others",
            )
    if shocks := [agent.name for agent in built.world.agents if isinstance(agent, OracleShockAgent)]:
        raise UsageError(
            f"{shocks[0]} moves a price by itself, the same way on every path",
            "describe the price under `prices` instead: {process: step, at: 2, size: -30%}",
        )
    return groups


def _notes(built: Built, paths: int, distinct: int) -> tuple[str, ...]:
    found = []
    if distinct == 1 < paths:
        found.append(f"all {paths:,} paths are the same: no price has a random part within these steps")
    elif distinct < paths:
        found.append(f"only {distinct:,} of {paths:,} paths differ, so that intervals are too narrow")
    if any(agent.name == GOVERNANCE for agent in built.world.agents):
        found.append("governance does not act: parameters stay those of the start")
    return tuple(found)


class _PostedPrices:
    """Answers of every feed on the path of a seed, and the times at which a run would read the accounts."""

    def __init__(self, scenario: Scenario, built: Built) -> None:
        config, self.fork = scenario.config, built.world.fork
        blocks, self.step_seconds = pace(config)
        used = min(len(built.scheduler.blocks), blocks)
        self._offset = (used - 1) * self.step_seconds // blocks
        self._steps = config.steps
        self._draw = price_drawer(config, self.fork, self.step_seconds)
        posters = [agent for agent in built.world.agents if isinstance(agent, PricePathAgent)]
        self._feeds = [(symbol, PriceFeed(self.fork, feed)) for each in posters for symbol, feed in each.feeds.items()]
        self.distinct: set[int] = set()
        """Hashes of the paths so far."""

    @property
    def feeds(self) -> list[bytes]:
        """Feeds to which prices are posted."""
        return [feed.contract.address for _, feed in self._feeds]

    def of(self, seeds: Sequence[int]) -> list[NDArray[np.int64]]:
        """Return an array of answers for each feed, seeds × steps."""
        drawn = list(self._draw(seeds))
        self.distinct |= {hash(tuple(path[: self._steps].tobytes() for path in each.values())) for each in drawn}
        found = []
        for symbol, feed in self._feeds:
            usd_e8 = all_to_usd_e8(np.stack([each[symbol][: self._steps] for each in drawn]))
            scale = 10**feed.decimals
            found.append(usd_e8 if scale == E8 else (usd_e8.astype(object) * scale // E8))
        return found

    def times(self) -> NDArray[np.int64]:
        """Return the timestamp of each step: that of the block after which a run records its figures."""
        return int(self.fork.timestamp) + self._offset + self.step_seconds * np.arange(self._steps)


def _grids(built: Built, populations: Sequence[PopulationFigures], answers: _PostedPrices) -> list[AccountsOnPaths]:
    """Return the accounts of each group, ready to be valued; `UsageError` if the price of a token is computed."""
    found = []
    for each in populations:
        assert isinstance(each.market, AaveV3)  # `_populations` refuses others
        places = [built.world.address(name) for name in each.accounts]
        try:
            found.append(AccountsOnPaths(each.market, places, answers.feeds))
        except UsageError as error:
            raise UsageError(
                f"a price of the scenario cannot be set alone: {error.message}", "`mayavi sweep` runs such scenarios"
            ) from None
    return found


def _value(
    populations: Sequence[PopulationFigures],
    grids: Sequence[AccountsOnPaths],
    answers: _PostedPrices,
    seeds: Sequence[int],
    device: str | None,
    listener: ExposureListener,
) -> tuple[tuple[GroupExposure, ...], int]:
    """Return the totals of each group on every path, and the number of accounts that a device left."""
    found: list[list[list[NDArray[np.int64]]]] = [[[], [], [], []] for _ in grids]
    times, left, done = answers.times(), 0, 0
    most = max(len(each.accounts) for each in populations)
    size = max(1, PORTION // (most * len(times))) if device is None else len(seeds)
    for portion in _portions(seeds, size):
        prices = answers.of(portion)
        for grid, columns in zip(grids, found, strict=True):
            totals = grid.totals(prices, times, device=device)
            left += grid.left if device is not None else 0
            columns[0].append(totals.liquidatable)
            for column, words in zip(columns[1:], totals[1:], strict=True):
                column.append(np.array(words.ints(), dtype=object).reshape(len(portion), len(times)))
        done += len(portion)
        listener.paths_done(done, len(seeds))
    return tuple(
        GroupExposure(each.name, each.market.prefix, len(each.accounts), *map(np.concatenate, columns))  # type: ignore[union-attr]
        for each, columns in zip(populations, found, strict=True)
    ), left


def _portions(seeds: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(seeds), size):
        yield seeds[start : start + size]
