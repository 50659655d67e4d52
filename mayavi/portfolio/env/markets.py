"""Markets of an environment's rows: a simulated path for each row, or one path that all rows share.

Hour 0 of a row is the start of its episode. The `LOOKBACK` hours before it are known too, so that estimates exist from
the first step on.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UnknownName, UsageError
from mayavi.gym_env.configuration import SPLITS
from mayavi.gym_env.episodes import episode_stream
from mayavi.portfolio.env.config import LOOKBACK, RWAConfig
from mayavi.portfolio.env.observations import FEATURES, features
from mayavi.portfolio.market.assets import growth, trade_gas_usd
from mayavi.portfolio.market.data import ASSETS, COLUMNS, HOUR_SECONDS, PLACE, RWAMarket
from mayavi.portfolio.market.model import RWAModel

Floats = NDArray[np.float64]
Hours = NDArray[np.int64]
Rows = NDArray[np.intp]

PEGS = ("usdy_peg", "meth_peg")
_AT_ONCE = 24
"""Paths that a thread simulates at once; the model's own batch size."""


class RowMarkets(ABC):
    """Market data of every row of `RWAYieldRows` by the hour of its episode.

    `levels` are the value of a dollar put into each asset at the first known hour; their ratios are growth factors.
    """

    digest: str
    """Identity of the market, or of the model that simulates it."""

    def __init__(self, config: RWAConfig, rows: int, paths: int, hours: int) -> None:
        """Allocate `hours` of `paths`; the first `LOOKBACK` hours are known and not played."""
        self.config, self.rows = config, rows
        self._features = np.zeros((paths, hours - LOOKBACK, FEATURES), dtype=np.float32)
        self._levels = np.ones((paths, hours, len(ASSETS)))
        self._gas = np.zeros((paths, hours - LOOKBACK))
        self._pegs = np.ones((paths, hours - LOOKBACK if config.reward == "shaped" else 0, len(PEGS)))

    @abstractmethod
    def places(self) -> tuple[Any, Any]:
        """Flat index of each row's hour 0, among played hours and among all hours."""

    @abstractmethod
    def begin(self, rows: Rows, rngs: Sequence[np.random.Generator], threads: int | None) -> None:
        """Start new episodes of `rows`."""

    @abstractmethod
    def inputs_at(self, hours: Hours, episodes: NDArray[np.int64]) -> Floats:
        """Unscaled market inputs (rows, 16) of each row at `hours`; an episode of -1 is a row without one."""

    def features_at(self, hours: Hours) -> NDArray[np.float32]:
        """Market part of the observations, (rows, FEATURES)."""
        found: NDArray[np.float32] = self._features.reshape(-1, FEATURES).take(self.places()[0] + hours, axis=0)
        return found

    def gas_at(self, hours: Hours) -> Floats:
        """Gas cost of a trade in dollars, (rows,)."""
        found: Floats = self._gas.reshape(-1).take(self.places()[0] + hours)
        return found

    def pegs_at(self, hours: Hours) -> Floats:
        """Pegs of USDY and mETH, (rows, 2); kept only for the reward that needs them."""
        found: Floats = self._pegs.reshape(-1, len(PEGS)).take(self.places()[0] + hours, axis=0)
        return found

    def levels_at(self, hours: Hours) -> Floats:
        """Levels, (rows, 3); hours down to `-LOOKBACK` are known."""
        found: Floats = self._levels.reshape(-1, len(ASSETS)).take(self.places()[1] + hours, axis=0)
        return found

    def levels_before(self, hours: Hours, window: int, rows: Rows | None = None) -> Floats:
        """Levels of the last `window` hours up to `hours`, (rows, window + 1, 3); of all rows by default."""
        now = self.places()[1] + hours
        some = now if rows is None else now[rows]
        found: Floats = self._levels.reshape(-1, len(ASSETS)).take(some[:, None] + np.arange(-window, 1), axis=0)
        return found

    def put(self, paths: slice | Rows, market: RWAMarket) -> None:
        """Store `market` as `paths`."""
        values = market.values
        first = 0 if market.times is None else int(market.times[0] // HOUR_SECONDS)
        levels = np.empty((len(values), values.shape[1], len(ASSETS)))
        levels[:, 0] = 1.0
        np.cumprod(growth(values, self.config.lent_share, first), axis=1, out=levels[:, 1:])
        self._levels[paths] = levels
        self._features[paths] = features(values, levels)
        self._gas[paths] = trade_gas_usd(values)[:, LOOKBACK:]
        if self._pegs.size:
            self._pegs[paths] = values[:, LOOKBACK:, [PLACE[name] for name in PEGS]]

    # -- copies and snapshots of rows ---------------------------------------------------------------------------------

    @abstractmethod
    def identities(self, rows: Rows) -> list[bytes]:
        """Identity of each row's path."""

    @abstractmethod
    def copy(self, sources: Rows, targets: Rows) -> None:
        """Copy the paths of `sources` to `targets`."""

    @abstractmethod
    def keep(self, rows: Rows) -> list[Any]:
        """Snapshot the paths of `rows`, for `put_kept`."""

    @abstractmethod
    def put_kept(self, kept: Sequence[Any], rows: Rows) -> None:
        """Restore snapshots into `rows`."""


class DrawnMarkets(RowMarkets):
    """One simulated path for every row, drawn when its episode starts."""

    def __init__(self, config: RWAConfig, rows: int) -> None:
        self.model = model_with(config.market)
        self._hours = LOOKBACK + config.horizon
        super().__init__(config, rows, rows, self._hours + 1)
        self.digest = sha256(f"mayavi rwa {self.model}".encode()).hexdigest()
        every = np.arange(rows)
        self._places = every * (config.horizon + 1), every * (self._hours + 1) + LOOKBACK
        self._unscaled: dict[int, Floats] = {}

    def places(self) -> tuple[Any, Any]:
        """Flat indexes of hour 0 in each row's own path."""
        return self._places

    def begin(self, rows: Rows, rngs: Sequence[np.random.Generator], threads: int | None) -> None:
        """Simulate a path for each row, in batches on several threads."""

        def draw(at: int) -> None:
            self.put(rows[at : at + _AT_ONCE], self.model.draw(rngs[at : at + _AT_ONCE], self._hours))

        parts = range(0, len(rows), _AT_ONCE)
        workers = min(len(parts), threads or os.cpu_count() or 1)
        if workers == 1:
            for at in parts:
                draw(at)
            return
        with ThreadPoolExecutor(workers) as pool:
            for each in [pool.submit(draw, at) for at in parts]:
                each.result()

    def inputs_at(self, hours: Hours, episodes: NDArray[np.int64]) -> Floats:
        """Simulate the paths again: inputs are rarely needed, and storing them would dominate a row's memory."""
        wanted = {each for each in episodes.tolist() if each >= 0}
        known = {number: path for number, path in self._unscaled.items() if number in wanted}
        missing = sorted(wanted - known.keys())
        for at in range(0, len(missing), _AT_ONCE):
            numbers = missing[at : at + _AT_ONCE]
            rngs = [episode_stream("rwa", self.config.split, number) for number in numbers]
            paths = self.model.draw(rngs, self._hours).values[:, LOOKBACK:]
            known |= dict(zip(numbers, paths, strict=True))
        self._unscaled = known
        found = np.ones((self.rows, len(COLUMNS)))
        for row, (hour, number) in enumerate(zip(hours.tolist(), episodes.tolist(), strict=True)):
            if number >= 0:
                found[row] = known[number][hour]
        return found

    def identities(self, rows: Rows) -> list[bytes]:
        """Hash of the path's levels and features."""
        return [sha256(self._levels[row].tobytes() + self._features[row].tobytes()).digest() for row in rows.tolist()]

    def _all(self) -> list[NDArray[Any]]:
        return [self._features, self._levels, self._gas, self._pegs]

    def copy(self, sources: Rows, targets: Rows) -> None:
        """Copy the paths of `sources` to `targets`."""
        for each in self._all():
            each[targets] = each[sources]

    def keep(self, rows: Rows) -> list[Any]:
        """Copy the arrays of each row's path."""
        return [[each[row].copy() for each in self._all()] for row in rows.tolist()]

    def put_kept(self, kept: Sequence[Any], rows: Rows) -> None:
        """Restore the copied arrays into `rows`."""
        for copies, row in zip(kept, rows.tolist(), strict=True):
            for each, copied in zip(self._all(), copies, strict=True):
                each[row] = copied


class SharedMarket(RowMarkets):
    """One path for all rows: a historical market with different starts, or the path of fixed starts.

    Episodes may start from hour `first` to `last`; `starts` has the current start of each row.
    """

    def __init__(self, market: RWAMarket, config: RWAConfig, rows: int, first: int, last: int, starts: Any) -> None:
        super().__init__(config, rows, 1, market.hours + 1)
        self.put(slice(None), market)
        self.market, self.first, self.last, self.starts = market, first, last, starts
        self.digest = market.digest

    def places(self) -> tuple[Any, Any]:
        """Starts of the rows in the shared path."""
        return self.starts - LOOKBACK, self.starts

    def begin(self, rows: Rows, rngs: Sequence[np.random.Generator], threads: int | None) -> None:
        """Draw a start for each row, uniformly from `first` to `last`."""
        possible = self.last - self.first + 1
        self.starts[rows] = [self.first + int(rng.integers(possible)) if possible > 1 else self.first
                             for rng in rngs]  # fmt: skip

    def consecutive(self, horizon: int) -> list[int]:
        """Starts of consecutive episodes of `horizon` hours, from the beginning of the split."""
        return list(range(self.first, self.last + 1, horizon))

    def inputs_at(self, hours: Hours, episodes: NDArray[np.int64]) -> Floats:
        """Unscaled inputs (rows, 16) from the shared path."""
        found: Floats = self.market.values[0, self.starts + hours]
        return found

    def times_at(self, hours: Hours) -> list[int]:
        """Times in seconds since 1970."""
        assert self.market.times is not None
        return [int(each) for each in self.market.times[self.starts + hours].tolist()]

    def identities(self, rows: Rows) -> list[bytes]:
        """Empty: the start is one of the row's columns, and the market is the world."""
        return [b""] * len(rows)

    def copy(self, sources: Rows, targets: Rows) -> None:
        """Do nothing: all rows share one path."""

    def keep(self, rows: Rows) -> list[Any]:
        """Nothing to snapshot: all rows share one path."""
        return [None] * len(rows)

    def put_kept(self, kept: Sequence[Any], rows: Rows) -> None:
        """Do nothing: all rows share one path."""


def model_with(parameters: dict[str, Any]) -> RWAModel:
    """Build an `RWAModel`; `UnknownName` with the nearest names for an unknown parameter."""
    known = [each.name for each in fields(RWAModel)]
    for name in parameters:
        if name not in known:
            raise UnknownName.of("parameter of the market", name, known, "docs/reference/rwa-market.md lists them")
    return replace(RWAModel(), **parameters)


def open_markets(
    config: RWAConfig, rows: int, starts: NDArray[np.int64], market: RWAMarket | None = None
) -> RowMarkets:
    """Open the markets that `config` describes, or the historical `market`.

    `starts` receives the start of each row in a shared market.
    """
    if market is None and config.data is not None:
        market = read_market(config)
    if market is not None:
        first, last = start_range(market, config)
        starts[:] = first
        return SharedMarket(market, config, rows, first, first if config.start == "fixed" else last, starts)
    if config.start == "drawn":
        return DrawnMarkets(config, rows)
    only = model_with(config.market).draw([episode_stream("rwa", "train", 0)], LOOKBACK + config.horizon)
    starts[:] = LOOKBACK
    return SharedMarket(only, config, rows, LOOKBACK, LOOKBACK, starts)


def read_market(config: RWAConfig) -> RWAMarket:
    """Read the historical market that `config` names, from `begin` to `end`."""
    from mayavi.portfolio.market.sources import open_rwa  # slow to import, and needed with data only

    assert config.data is not None
    return open_rwa(config.data, begin=config.begin, end=config.end, model=model_with(config.market))


def known_until(config: RWAConfig) -> float:
    """End of the hours that a training with `config` saw, in seconds since 1970; -inf for simulated markets.

    Both the hours of training and those that chose a checkpoint count. Raises where the file cannot be read.
    """
    if config.data is None:
        return -math.inf
    market = read_market(config)
    assert market.times is not None
    if config.split == "test":
        return float(market.times[-1])
    # The validation split chooses the best checkpoint: it is not trained on, but it is not unseen either.
    return float(market.times[round(config.boundaries[1] * len(market.times)) - 1])


def start_range(market: RWAMarket, config: RWAConfig) -> tuple[int, int]:
    """First and last hour at which an episode of the split may start: it must end within the split.

    `LOOKBACK` may reach into the previous split, but not before the beginning of the file.
    """
    hours = market.hours + 1
    edges = [0, *(round(share * hours) for share in config.boundaries), hours]
    at = SPLITS.index(config.split)
    first, last = max(edges[at], LOOKBACK), edges[at + 1] - 1 - config.horizon
    if last < first:
        has, needs = edges[at + 1] - edges[at], config.horizon + 1 + max(LOOKBACK - edges[at], 0)
        before = f" and the {LOOKBACK} before it" if needs > config.horizon + 1 else ""
        raise UsageError(
            f"the {config.split} split of '{market.source}' has {has:,} hours, and an episode needs {needs:,}: "
            f"its {config.horizon:,} steps{before}",
            "take a longer file, other boundaries, or a shorter horizon",
        )
    return first, last
