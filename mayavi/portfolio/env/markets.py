"""The markets under the rows: each row its own drawn path, or all of them somewhere in one that they share.

A row's hour 0 is where its episode starts. Up to `LOOKBACK` hours before it are known too: estimates exist from the
first step on.
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
"""Paths that a thread draws in one go: as many as the model itself works on at once."""


class RowMarkets(ABC):
    """What `RWAYieldEnv` asks of the market of every row, by the hour of its episode.

    `levels` are what a dollar in each asset at the first known hour has become: their ratios are growth.
    """

    digest: str
    """What tells this market, or this way to draw markets, from others."""

    def __init__(self, config: RWAConfig, rows: int, paths: int, hours: int) -> None:
        """`hours` of `paths`, of which the first `LOOKBACK` are known and not played."""
        self.config, self.rows = config, rows
        self._features = np.zeros((paths, hours - LOOKBACK, FEATURES), dtype=np.float32)
        self._levels = np.ones((paths, hours, len(ASSETS)))
        self._gas = np.zeros((paths, hours - LOOKBACK))
        self._pegs = np.ones((paths, hours - LOOKBACK if config.reward == "seed" else 0, len(PEGS)))

    @abstractmethod
    def places(self) -> tuple[Any, Any]:
        """For each row where its hour 0 is, counted over all paths: among the hours that are played, and among all."""

    @abstractmethod
    def begin(self, rows: Rows, chances: Sequence[np.random.Generator], threads: int | None) -> None:
        """Put `rows` at the start of new episodes."""

    @abstractmethod
    def inputs_at(self, hours: Hours, episodes: NDArray[np.int64]) -> Floats:
        """(rows, 16) inputs, unscaled, of each row at its own of `hours`; -1 among `episodes` is a row without one."""

    def features_at(self, hours: Hours) -> NDArray[np.float32]:
        """(rows, FEATURES) of what an observation tells of the market."""
        found: NDArray[np.float32] = self._features.reshape(-1, FEATURES).take(self.places()[0] + hours, axis=0)
        return found

    def gas_at(self, hours: Hours) -> Floats:
        """(rows,) dollars of gas that a trade costs."""
        found: Floats = self._gas.reshape(-1).take(self.places()[0] + hours)
        return found

    def pegs_at(self, hours: Hours) -> Floats:
        """(rows, 2) of USDY and mETH; kept for the reward that asks for them."""
        found: Floats = self._pegs.reshape(-1, len(PEGS)).take(self.places()[0] + hours, axis=0)
        return found

    def levels_at(self, hours: Hours) -> Floats:
        """(rows, 3) levels; hours back to `-LOOKBACK` are known."""
        found: Floats = self._levels.reshape(-1, len(ASSETS)).take(self.places()[1] + hours, axis=0)
        return found

    def levels_before(self, hours: Hours, window: int, rows: Rows | None = None) -> Floats:
        """(rows, window + 1, 3) levels of the last hours up to each row's own of `hours`; of `rows`, or of all."""
        now = self.places()[1] + hours
        some = now if rows is None else now[rows]
        found: Floats = self._levels.reshape(-1, len(ASSETS)).take(some[:, None] + np.arange(-window, 1), axis=0)
        return found

    def put(self, paths: slice | Rows, market: RWAMarket) -> None:
        """Take `market` for `paths`."""
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

    # -- what stands under rows is copied with them -------------------------------------------------------------------

    @abstractmethod
    def identities(self, rows: Rows) -> list[bytes]:
        """For each row what tells its path from another's."""

    @abstractmethod
    def copy(self, sources: Rows, targets: Rows) -> None:
        """Give `targets` the paths of `sources`."""

    @abstractmethod
    def keep(self, rows: Rows) -> list[Any]:
        """The paths of `rows`, to be put somewhere later."""

    @abstractmethod
    def put_kept(self, kept: Sequence[Any], rows: Rows) -> None:
        """Give each of `rows` its one of `kept`."""


class DrawnMarkets(RowMarkets):
    """A path of its own for every row, drawn when its episode begins."""

    def __init__(self, config: RWAConfig, rows: int) -> None:
        self.model = model_of(config.market)
        self._hours = LOOKBACK + config.horizon
        super().__init__(config, rows, rows, self._hours + 1)
        self.digest = sha256(f"mayavi rwa {self.model}".encode()).hexdigest()
        every = np.arange(rows)
        self._places = every * (config.horizon + 1), every * (self._hours + 1) + LOOKBACK
        self._unscaled: dict[int, Floats] = {}

    def places(self) -> tuple[Any, Any]:
        """Each row has a path."""
        return self._places

    def begin(self, rows: Rows, chances: Sequence[np.random.Generator], threads: int | None) -> None:
        """A path for each of `chances`, some of them at a time on each thread."""

        def drawn(at: int) -> None:
            self.put(rows[at : at + _AT_ONCE], self.model.draw(chances[at : at + _AT_ONCE], self._hours))

        parts = range(0, len(rows), _AT_ONCE)
        workers = min(len(parts), threads or os.cpu_count() or 1)
        if workers == 1:
            for at in parts:
                drawn(at)
            return
        with ThreadPoolExecutor(workers) as pool:
            for each in [pool.submit(drawn, at) for at in parts]:
                each.result()

    def inputs_at(self, hours: Hours, episodes: NDArray[np.int64]) -> Floats:
        """Of paths that are drawn again: few ask, and all of them would be most of what a row takes."""
        wanted = {each for each in episodes.tolist() if each >= 0}
        known = {number: path for number, path in self._unscaled.items() if number in wanted}
        missing = sorted(wanted - known.keys())
        for at in range(0, len(missing), _AT_ONCE):
            numbers = missing[at : at + _AT_ONCE]
            chances = [episode_stream("rwa", self.config.split, number) for number in numbers]
            paths = self.model.draw(chances, self._hours).values[:, LOOKBACK:]
            known |= dict(zip(numbers, paths, strict=True))
        self._unscaled = known
        found = np.ones((self.rows, len(COLUMNS)))
        for row, (hour, number) in enumerate(zip(hours.tolist(), episodes.tolist(), strict=True)):
            if number >= 0:
                found[row] = known[number][hour]
        return found

    def identities(self, rows: Rows) -> list[bytes]:
        """A hash of all that the path did to the assets and showed."""
        return [sha256(self._levels[row].tobytes() + self._features[row].tobytes()).digest() for row in rows.tolist()]

    def _all(self) -> list[NDArray[Any]]:
        return [self._features, self._levels, self._gas, self._pegs]

    def copy(self, sources: Rows, targets: Rows) -> None:
        """All of the paths."""
        for each in self._all():
            each[targets] = each[sources]

    def keep(self, rows: Rows) -> list[Any]:
        """Copies."""
        return [[each[row].copy() for each in self._all()] for row in rows.tolist()]

    def put_kept(self, kept: Sequence[Any], rows: Rows) -> None:
        """From the copies."""
        for copies, row in zip(kept, rows.tolist(), strict=True):
            for each, copied in zip(self._all(), copies, strict=True):
                each[row] = copied


class SharedMarket(RowMarkets):
    """One path for all rows: a real market, in which every episode starts elsewhere, or the one of fixed starts.

    `first` and `last` are the hours at which an episode may start; a row's own is in `starts`.
    """

    def __init__(self, market: RWAMarket, config: RWAConfig, rows: int, first: int, last: int, starts: Any) -> None:
        super().__init__(config, rows, 1, market.hours + 1)
        self.put(slice(None), market)
        self.market, self.first, self.last, self.starts = market, first, last, starts
        self.digest = market.digest

    def places(self) -> tuple[Any, Any]:
        """The hour each row started at."""
        return self.starts - LOOKBACK, self.starts

    def begin(self, rows: Rows, chances: Sequence[np.random.Generator], threads: int | None) -> None:
        """Any hour at which an episode may start, each as likely."""
        possible = self.last - self.first + 1
        self.starts[rows] = [self.first + int(chance.integers(possible)) if possible > 1 else self.first
                             for chance in chances]  # fmt: skip

    def consecutive(self, horizon: int) -> list[int]:
        """The hours at which episodes of `horizon` start that follow each other, the first at the split's beginning."""
        return list(range(self.first, self.last + 1, horizon))

    def inputs_at(self, hours: Hours, episodes: NDArray[np.int64]) -> Floats:
        """Of the one path."""
        found: Floats = self.market.values[0, self.starts + hours]
        return found

    def times_at(self, hours: Hours) -> list[int]:
        """Seconds since 1970."""
        assert self.market.times is not None
        return [int(each) for each in self.market.times[self.starts + hours].tolist()]

    def identities(self, rows: Rows) -> list[bytes]:
        """The hour a row started at is one of its columns, and the market is the world."""
        return [b""] * len(rows)

    def copy(self, sources: Rows, targets: Rows) -> None:
        """They have it."""

    def keep(self, rows: Rows) -> list[Any]:
        """Nothing is theirs alone."""
        return [None] * len(rows)

    def put_kept(self, kept: Sequence[Any], rows: Rows) -> None:
        """They have it."""


def model_of(parameters: dict[str, Any]) -> RWAModel:
    """`RWAModel` with other `parameters`; `UnknownName` with the nearest for one it does not have."""
    known = [each.name for each in fields(RWAModel)]
    for name in parameters:
        if name not in known:
            raise UnknownName.of("parameter of the market", name, known, "docs/reference/rwa-market.md lists them")
    return replace(RWAModel(), **parameters)


def open_markets(config: RWAConfig, rows: int, starts: NDArray[np.int64]) -> RowMarkets:
    """What `config` asks for. `starts` is where rows of a shared market keep the hour they started at."""
    if config.data is not None:
        market = read_market(config)
        first, last = span_of(market, config)
        starts[:] = first
        return SharedMarket(market, config, rows, first, first if config.start == "fixed" else last, starts)
    if config.start == "drawn":
        return DrawnMarkets(config, rows)
    only = model_of(config.market).draw([episode_stream("rwa", "train", 0)], LOOKBACK + config.horizon)
    starts[:] = LOOKBACK
    return SharedMarket(only, config, rows, LOOKBACK, LOOKBACK, starts)


def read_market(config: RWAConfig) -> RWAMarket:
    """The real market that `config` names, from `begin` to `end`."""
    from mayavi.portfolio.market.sources import open_rwa  # only who has data pays for it

    assert config.data is not None
    return open_rwa(config.data, begin=config.begin, end=config.end, model=model_of(config.market))


def known_until(config: RWAConfig) -> float:
    """The time up to which a training with `config` knew a real market, in seconds since 1970; -inf for drawn ones.

    Hours to train on count, and hours to choose a checkpoint by. Raises where the file of `config` cannot be read.
    """
    if config.data is None:
        return -math.inf
    market = read_market(config)
    assert market.times is not None
    if config.split == "test":
        return float(market.times[-1])
    # The validation split chooses the best checkpoint: it is not trained on, and has been looked at all the same.
    return float(market.times[round(config.boundaries[1] * len(market.times)) - 1])


def span_of(market: RWAMarket, config: RWAConfig) -> tuple[int, int]:
    """The first and the last hour at which an episode of the split may start: it must end within the split.

    What was before is known, so `LOOKBACK` may reach into the split before; at the beginning of the file it cannot.
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
