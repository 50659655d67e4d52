"""The markets under the rows: each row its own drawn path, or all of them somewhere in one that they share.

A row's hour 0 is where its episode starts. Up to `LOOKBACK` hours before it are known too: estimates exist from the
first step on.
"""

from __future__ import annotations

import os
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
from mayavi.gym_env.rwa_config import LOOKBACK, RWAConfig
from mayavi.markets.moments import say_time, to_seconds
from mayavi.markets.rwa_assets import growth, trade_gas_usd
from mayavi.markets.rwa_data import ASSETS, COLUMNS, HOUR_SECONDS, RWAMarket
from mayavi.markets.rwa_model import RWAModel

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_AT_ONCE = 16
"""Paths that a thread draws in one go: as many as the model itself works on at once."""


class RowMarkets:
    """`inputs`, `levels` and `gas` of every row by the hour of its episode; what `RWAYieldEnv` asks of a market.

    `levels` are what a dollar in each asset at the first known hour has become: their ratios are growth.
    """

    digest: str
    """What tells this market, or this way to draw markets, from others."""

    def __init__(self, rows: int, paths: int, hours: int, before: int) -> None:
        """`hours` of `paths`, of which `before` are not seen as inputs."""
        self.rows = rows
        self.inputs = np.ones((paths, hours - before, len(COLUMNS)))
        self.levels = np.ones((paths, hours, len(ASSETS)))
        self.gas = np.zeros((paths, hours - before))
        self._inputs = self.inputs.reshape(-1, len(COLUMNS))
        self._levels = self.levels.reshape(-1, len(ASSETS))
        self._gas = self.gas.reshape(-1)

    def origins(self) -> tuple[Any, Any]:
        """For each row where its hour 0 is, counted over all paths: in `inputs` and `gas`, and in `levels`."""
        raise NotImplementedError

    def begin(self, rows: Rows, chances: Sequence[np.random.Generator], threads: int | None) -> None:
        """Put `rows` at the start of new episodes."""
        raise NotImplementedError

    def inputs_at(self, hours: NDArray[np.int64]) -> Floats:
        """(rows, 16) inputs of each row at its own of `hours`."""
        found: Floats = self._inputs.take(self.origins()[0] + hours, axis=0)
        return found

    def gas_at(self, hours: NDArray[np.int64]) -> Floats:
        """(rows,) dollars of gas that a trade costs."""
        found: Floats = self._gas.take(self.origins()[0] + hours)
        return found

    def levels_at(self, hours: NDArray[np.int64]) -> Floats:
        """(rows, 3) levels; hours back to `-LOOKBACK` are known."""
        found: Floats = self._levels.take(self.origins()[1] + hours, axis=0)
        return found

    def put(self, paths: slice | Rows, market: RWAMarket, lent_share: float) -> None:
        """Take `market` for `paths`."""
        values = market.values
        first = 0 if market.times is None else int(market.times[0] // HOUR_SECONDS)
        unseen = values.shape[1] - self.inputs.shape[1]
        self.inputs[paths] = values[:, unseen:]
        self.gas[paths] = trade_gas_usd(values)[:, unseen:]
        levels = np.empty((len(values), values.shape[1], len(ASSETS)))
        levels[:, 0] = 1.0
        np.cumprod(growth(values, lent_share, first), axis=1, out=levels[:, 1:])
        self.levels[paths] = levels

    # -- what stands under rows is copied with them -------------------------------------------------------------------

    def identities(self, rows: Rows) -> list[bytes]:
        """For each row what tells its path from another's."""
        return [b""] * len(rows)

    def copy(self, sources: Rows, targets: Rows) -> None:
        """Give `targets` the paths of `sources`."""

    def keep(self, rows: Rows) -> list[Any]:
        """The paths of `rows`, to be put somewhere later."""
        return [None] * len(rows)

    def put_kept(self, kept: Sequence[Any], rows: Rows) -> None:
        """Give each of `rows` its one of `kept`."""


class DrawnMarkets(RowMarkets):
    """A path of its own for every row, drawn when its episode begins."""

    def __init__(self, config: RWAConfig, rows: int) -> None:
        self.model, self.config = model_of(config.market), config
        self._hours = LOOKBACK + config.horizon
        super().__init__(rows, rows, self._hours + 1, LOOKBACK)
        self.digest = sha256(f"mayavi rwa {self.model}".encode()).hexdigest()
        every = np.arange(rows)
        self._origins = every * (config.horizon + 1), every * (self._hours + 1) + LOOKBACK

    def origins(self) -> tuple[Any, Any]:
        """Each row has a path."""
        return self._origins

    def begin(self, rows: Rows, chances: Sequence[np.random.Generator], threads: int | None) -> None:
        """A path for each of `chances`, some of them at a time on each thread."""

        def drawn(at: int) -> None:
            market = self.model.draw(chances[at : at + _AT_ONCE], self._hours)
            self.put(rows[at : at + _AT_ONCE], market, self.config.lent_share)

        parts = range(0, len(rows), _AT_ONCE)
        workers = min(len(parts), threads or os.cpu_count() or 1)
        if workers == 1:
            for at in parts:
                drawn(at)
            return
        with ThreadPoolExecutor(workers) as pool:
            for each in [pool.submit(drawn, at) for at in parts]:
                each.result()

    def identities(self, rows: Rows) -> list[bytes]:
        """A hash of all that the path holds."""
        return [
            sha256(self.inputs[row].tobytes() + self.levels[row].tobytes()).digest()
            for row in rows.tolist()
        ]  # fmt: skip

    def copy(self, sources: Rows, targets: Rows) -> None:
        """All of the paths."""
        for each in (self.inputs, self.levels, self.gas):
            each[targets] = each[sources]

    def keep(self, rows: Rows) -> list[Any]:
        """Copies."""
        return [(self.inputs[row].copy(), self.levels[row].copy(), self.gas[row].copy()) for row in rows.tolist()]

    def put_kept(self, kept: Sequence[Any], rows: Rows) -> None:
        """From the copies."""
        for (inputs, levels, gas), row in zip(kept, rows.tolist(), strict=True):
            self.inputs[row], self.levels[row], self.gas[row] = inputs, levels, gas


class SharedMarket(RowMarkets):
    """One path for all rows: a real market, in which every episode starts elsewhere, or the one of fixed starts.

    `first` and `last` are the hours at which an episode may start; a row's own is in `starts`.
    """

    def __init__(self, market: RWAMarket, config: RWAConfig, rows: int, first: int, last: int, starts: Any) -> None:
        super().__init__(rows, 1, market.hours + 1, 0)
        self.put(slice(None), market, config.lent_share)
        self.market, self.first, self.last, self.starts = market, first, last, starts
        self.digest = market.digest

    def origins(self) -> tuple[Any, Any]:
        """The hour each row started at."""
        return self.starts, self.starts

    def begin(self, rows: Rows, chances: Sequence[np.random.Generator], threads: int | None) -> None:
        """Any hour at which an episode may start, each as likely."""
        possible = self.last - self.first + 1
        self.starts[rows] = [self.first + int(chance.integers(possible)) if possible > 1 else self.first
                             for chance in chances]  # fmt: skip

    def times_at(self, hours: NDArray[np.int64]) -> list[int]:
        """Seconds since 1970."""
        assert self.market.times is not None
        return [int(each) for each in self.market.times[self.starts + hours].tolist()]


def model_of(parameters: dict[str, Any]) -> RWAModel:
    """`RWAModel` with other `parameters`; `UnknownName` with the nearest for one it does not have."""
    known = [each.name for each in fields(RWAModel)]
    for name in parameters:
        if name not in known:
            raise UnknownName.of("parameter of the market", name, known, "docs/rl/rwa-market.md lists them")
    return replace(RWAModel(), **parameters)


def open_markets(config: RWAConfig, rows: int, starts: NDArray[np.int64]) -> RowMarkets:
    """What `config` asks for. `starts` is where rows of a shared market keep the hour they started at."""
    if config.data is not None:
        market = chosen_hours(_read(config.data), config.begin, config.end)
        first, last = span_of(market, config)
        starts[:] = first
        return SharedMarket(market, config, rows, first, first if config.start == "fixed" else last, starts)
    if config.start == "drawn":
        return DrawnMarkets(config, rows)
    only = model_of(config.market).draw([episode_stream("rwa", "train", 0)], LOOKBACK + config.horizon)
    starts[:] = LOOKBACK
    return SharedMarket(only, config, rows, LOOKBACK, LOOKBACK, starts)


def _read(path: str) -> RWAMarket:
    from mayavi.markets.rwa_history import read_rwa

    return read_rwa(path)


def chosen_hours(market: RWAMarket, begin: str | None, end: str | None) -> RWAMarket:
    """The part of `market` from one time to another."""
    assert market.times is not None
    at = [0, len(market.times)]
    for which, (name, told) in enumerate((("begin", begin), ("end", end))):
        if told is None:
            continue
        try:
            seconds = to_seconds(told)
        except ValueError:
            raise UsageError(f"{name} '{told}' is no time", "write it as 2024-01-31 or 2024-01-31T06:00") from None
        at[which] = int(np.searchsorted(market.times, seconds, side="right" if which else "left"))
    if at[1] - at[0] < 2:
        whole = f"it goes from {say_time(float(market.times[0]))} to {say_time(float(market.times[-1]))}"
        raise UsageError(f"'{market.source}' has no hours between begin and end", whole)
    part = slice(*at)
    return RWAMarket(market.times[part], market.values[:, part].copy(), market.source, market.assumed)


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
