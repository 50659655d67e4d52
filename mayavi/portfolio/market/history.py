"""Historical markets: read from CSV or Parquet, validated, and aligned to whole hours."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np

from mayavi.errors import BadArgument, BadSeries, UnknownKey, did_you_mean
from mayavi.markets.autoregression import autoregress, kept_of_half_life
from mayavi.markets.process import Floats
from mayavi.markets.series import Series
from mayavi.markets.table_file import TIME_NAMES, Table, read_all, read_table
from mayavi.markets.timestamps import say_duration, say_time, to_seconds
from mayavi.numerics import portable
from mayavi.portfolio.market.data import ABOVE_ZERO, COLUMNS, HOUR_SECONDS, HOURS_PER_YEAR, PLACE, PRICES, RWAMarket
from mayavi.portfolio.market.derived import btc_dominance, mi4_apy, utilised
from mayavi.portfolio.market.model import RWAModel

REQUIRED = ("eth_price", "btc_price", "fed_rate")
"""Required columns; every other column has a rule that fills it."""

MOST_WAIT = 3.0
"""Longest gap of a column, in multiples of its usual spacing."""

VOL_HALF_LIFE = 24.0
"""Half-life, in hours, of the weights by which `eth_vol` is estimated where no file has it."""

Fill = Literal["error", "hold"]
Source = tuple[str | PathLike[str], str] | tuple[str | PathLike[str], str, float]

_HINTS = {
    "order=": "sort the lines by time",
    "keep_last=": "remove one of them",
    "skip_blank=": "fill it in, or remove the line",
}
"""Hints that replace those of `Series`, whose arguments a market does not have."""

_ZONE = re.compile(r"(?:[zZ]|UTC|[+-]\d\d(?::?\d\d)?)$")
_CLOCK = re.compile(r"\d:\d\d")


@dataclass(frozen=True, slots=True)
class _KnownColumn:
    """Column of a file: each value is known from its time on."""

    series: Series
    name: str

    def at(self, hours: Floats, fill: Fill) -> Floats:
        """Last value known by each hour."""
        times = self.series.times
        known = np.searchsorted(times, hours, side="right") - 1
        if fill == "error":
            self._check_gaps(hours)
        values: Floats = self.series.prices[known]
        return values

    def _check_gaps(self, hours: Floats) -> None:
        series = self.series
        usual = max(series.usual_spacing, float(HOUR_SECONDS))
        waits = np.diff(series.times)
        gaps = np.flatnonzero(
            (waits > MOST_WAIT * usual) & (series.times[1:] > hours[0]) & (series.times[:-1] < hours[-1])
        )
        if len(gaps):
            at = int(gaps[0])
            more = f", the first of {len(gaps)} gaps" if len(gaps) > 1 else ""
            raise BadSeries(
                f"'{series.file}': {say_duration(float(waits[at]))} without {self.name} from "
                f"{say_time(float(series.times[at]))} on{more}; usual is {say_duration(series.usual_spacing)}",
                "fill it in, choose hours without it (begin and end), or keep the last value in a file of its own: "
                "write_rwa(read_rwa(FILE, fill='hold'), OUT)",
            )


def read_rwa(
    source: str | PathLike[str] | Mapping[str, Source],
    *,
    begin: str | float | None = None,
    end: str | float | None = None,
    fill: Fill = "error",
    model: RWAModel | None = None,
) -> RWAMarket:
    """Read a market from a file with the columns `COLUMNS`, or from several files joined by time.

    For several files, map each column to its source: {"eth_price": ("eth.csv", "close"), …}; a third item is the delay
    in hours after which a value is known. Each whole hour (UTC, as are times without a zone) gets the last value known
    by then: nothing is averaged or taken from later. Prices must be hourly or denser. A gap of more than three times
    the usual spacing is an error; with fill="hold" it keeps the last value. `REQUIRED` columns must be there;
    docs/reference/rwa-market.md describes the rules by which `model` fills the others.
    """
    if fill not in ("error", "hold"):
        raise BadArgument(f"fill '{fill}' is unknown", "choose 'error' or 'hold'")
    if isinstance(source, Mapping):
        known = _join_files(source)
        label = " + ".join(dict.fromkeys(Path(each[0]).name for each in source.values()))
    else:
        known, label = _read_one_file(Path(source)), str(source)
    hours = _common_hours(known, label, begin, end)
    columns = {name: each.at(hours, fill)[None, :] for name, each in known.items()}
    assumed = tuple(name for name in COLUMNS if name not in columns)
    fill_absent(columns, model or RWAModel())
    values = np.empty((1, len(hours), len(COLUMNS)))
    for name, place in PLACE.items():
        values[:, :, place] = columns[name]
    return RWAMarket(hours, values, label, assumed)


def write_rwa(
    market: RWAMarket, path: str | PathLike[str], *, row: int = 0, begin: str | float = "2025-01-01T00:00:00Z"
) -> None:
    """Write one path of a market as CSV or Parquet, which `read_rwa` reads back exactly.

    A simulated market has no times: its hours are written as those from `begin` on.
    """
    target = Path(path)
    if not 0 <= row < market.paths:
        raise BadArgument(f"there is no path '{row}' in {market!r}", f"paths are 0 to {market.paths - 1}")
    times = market.times
    if times is None:
        times = to_seconds(begin) + HOUR_SECONDS * np.arange(market.hours + 1, dtype=np.float64)
    kind = target.suffix.lower()
    if kind == ".csv":
        with target.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(("time", *COLUMNS))
            for time, values in zip(times.tolist(), market.values[row].tolist(), strict=True):
                lines.writerow((say_time(time), *map(repr, values)))
    elif kind == ".parquet":
        import duckdb  # slow to import, and needed for Parquet only

        table = {"time": times.astype(np.int64)} | {
            name: np.ascontiguousarray(market.values[row, :, place]) for name, place in PLACE.items()
        }
        with duckdb.connect() as database:
            database.register("market", table)
            name = str(target).replace("'", "''")
            database.execute(f"copy (select * from market order by time) to '{name}' (format parquet)")
    else:
        raise BadArgument(f"'{target}' is not a file that a market can be written to", "name a .csv or .parquet file")


def _read_one_file(path: Path) -> dict[str, _KnownColumn]:
    found = read_all(path)
    by_name = {name.strip().casefold(): name for name in found.names}
    if len(by_name) < len(found.names):
        names = [name.strip().casefold() for name in found.names]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadSeries(f"'{path}' has two columns '{twice}'", "remove one of them")
    time = next((by_name[name] for name in TIME_NAMES if name in by_name), None)
    if time is None:
        listed = ", ".join(f"'{name}'" for name in found.names) or "none"
        raise BadSeries(f"'{path}' has no column 'time'", f"it has {listed}")
    for name in REQUIRED:
        if name not in by_name:
            near = did_you_mean(name, [each for each in by_name if each not in COLUMNS])
            raise BadSeries(f"'{path}' has no column '{name}'", near or f"it needs time, {', '.join(REQUIRED)}")
    for folded, name in by_name.items():
        if folded not in COLUMNS and name != time:
            near = did_you_mean(name, [each for each in COLUMNS if each not in by_name])
            raise BadSeries(
                f"'{path}' has a column '{name}' that no market has",
                near or f"remove it; there are {', '.join(COLUMNS)}",
            )
    known: dict[str, _KnownColumn] = {}
    times: Floats | None = None
    for name in COLUMNS:
        if name in by_name:
            table = found.table(time, by_name[name])
            if times is None:
                _check_zones(table)
            known[name] = _column(table, name, "ascending", skip_blank=False, times=times)
            times = known[name].series.times
    return known


def _join_files(source: Mapping[str, Source]) -> dict[str, _KnownColumn]:
    for name in source:
        if name not in COLUMNS:
            raise UnknownKey.of("column", name, COLUMNS, f"there are {', '.join(COLUMNS)}")
    for name in REQUIRED:
        if name not in source:
            raise BadSeries(f"no file is named for the column '{name}'", f"required are {', '.join(REQUIRED)}")
    known: dict[str, _KnownColumn] = {}
    for name, (path, column, *delay) in source.items():
        table = read_table(Path(path), None, column)
        _check_zones(table)
        found = _column(table, name, "either", skip_blank=True)
        hours = float(delay[0]) if delay else 0.0
        if not (np.isfinite(hours) and hours >= 0):
            raise BadArgument(f"the delay '{hours:g}' of {name} is not a valid time to wait", "hours, zero or more")
        series = found.series
        if hours:
            later = series.times + hours * HOUR_SECONDS
            series = Series(series.file, series.place, later, series.prices, series.places)
        known[name] = _KnownColumn(series, name)
    return known


def _column(
    table: Table, name: str, order: Literal["ascending", "either"], skip_blank: bool, times: Floats | None = None
) -> _KnownColumn:
    try:
        series = Series.of_table(table, order, skip_blank=skip_blank, any_sign=name not in ABOVE_ZERO, times=times)
    except BadSeries as error:
        own = next((hint for argument, hint in _HINTS.items() if argument in (error.hint or "")), error.hint)
        raise BadSeries(error.message, own) from None
    if name in PRICES and series.usual_spacing > HOUR_SECONDS:
        raise BadSeries(
            f"'{table.file}' has {name} every {say_duration(series.usual_spacing)}",
            "prices come every hour or more often",
        )
    return _KnownColumn(series, name)


def _check_zones(table: Table) -> None:
    """Raise `BadSeries` where some times of a file have a zone and others have none."""
    clocks = [(place, str(time).strip()) for place, time, _ in table.rows if _CLOCK.search(str(time))]
    if not clocks:
        return
    first = bool(_ZONE.search(clocks[0][1]))
    for place, time in clocks:
        if bool(_ZONE.search(time)) != first:
            problem = "has no time zone, unlike those" if first else "has a time zone, unlike those"
            raise BadSeries(
                f"'{table.file}', {table.place} {place}: '{time}' {problem} before it",
                "give every time its zone, as in 2023-03-11T07:00:00Z, or none: then all are UTC",
            )


def _common_hours(
    known: Mapping[str, _KnownColumn], label: str, begin: str | float | None, end: str | float | None
) -> Floats:
    """Whole hours from `begin` to `end` at which every column has a value."""
    limits = []
    for name, asked in (("begin", begin), ("end", end)):
        try:
            limits.append(None if asked is None else to_seconds(asked))
        except (ValueError, OverflowError):
            raise BadArgument(f"{name} '{asked}' is not a valid time", "write it as 2023-03-11T07:00:00Z") from None
    first = max(float(each.series.times[0]) for each in known.values())
    # A slow column, such as a daily rate, stays valid for a while after its last value; prices do not.
    last = min(
        float(each.series.times[-1]) + max(0.0, each.series.usual_spacing - HOUR_SECONDS) for each in known.values()
    )
    low = max(first, limits[0]) if limits[0] is not None else first
    high = min(last, limits[1]) if limits[1] is not None else last
    hours = np.arange(np.ceil(low / HOUR_SECONDS), np.floor(high / HOUR_SECONDS) + 1) * HOUR_SECONDS
    if len(hours) < 2:
        if last < first:
            late = max(known, key=lambda name: float(known[name].series.times[0]))
            early = min(known, key=lambda name: float(known[name].series.times[-1]))
            raise BadSeries(
                f"'{label}' has no hour with every column: {late} begins at {say_time(first)}, after {early} ends",
                "take files of the same time, or leave out a column that a rule can fill",
            )
        raise BadSeries(
            f"'{label}' has no two whole hours from {say_time(low)} to {say_time(high)} with every column",
            f"all columns have values from {say_time(first)} to {say_time(last)}",
        )
    return hours


def fill_absent(columns: dict[str, Floats], model: RWAModel) -> None:
    """Fill absent columns from the model's means and from what is known by each hour."""
    eth, btc, fed = (columns[name] for name in REQUIRED)

    def absent(name: str) -> bool:
        return name not in columns

    for name, start in (("sol_price", model.sol_start), ("mnt_price", model.mnt_start)):
        if absent(name):
            columns[name] = start * (eth / eth[:, :1])
    constant = {
        "meth_apy": model.staking_mean,
        "usdy_peg": 1.0,
        "meth_peg": 1.0,
        "usdy_vol": model.usdy_vol_mean,
        "gas_price": model.gas_median,
    }
    for name, value in constant.items():
        if absent(name):
            columns[name] = np.full(eth.shape, value)
    if absent("usdy_apy"):
        columns["usdy_apy"] = model.usdy_apy_of(fed, 1.0)
    if absent("mi4_apy"):
        columns["mi4_apy"] = mi4_apy(
            columns["meth_apy"], columns["usdy_apy"], model.sol_staking_apy, model.mi4_dollar_spread
        )
    if absent("btc_dominance"):
        columns["btc_dominance"] = np.empty(eth.shape)
        btc_dominance(eth, btc, columns["sol_price"], np.array([model.dominance_start]), columns["btc_dominance"])
    if absent("eth_vol"):
        columns["eth_vol"] = trailing_volatility(eth, model.eth_volatility)
    if absent("aave_usdy_apy"):
        columns["aave_usdy_apy"] = utilised(fed, model.usdy_utilisation_mean, model.reserve_factor)
    if absent("aave_meth_apy"):
        columns["aave_meth_apy"] = utilised(columns["meth_apy"], model.meth_utilisation_mean, model.reserve_factor)


def trailing_volatility(prices: Floats, start: float, half_life: float = VOL_HALF_LIFE) -> Floats:
    """Volatility per year, (paths, hours), from past squared moves whose weight halves in `half_life` hours."""
    kept = kept_of_half_life(half_life)
    moves = np.diff(portable.log(prices), axis=1)
    begin = np.full((1, len(prices)), start * start / HOURS_PER_YEAR)
    variance = autoregress(np.array([kept]), begin, (1.0 - kept) * (moves * moves)[None])[0]
    volatility: Floats = np.sqrt(variance * HOURS_PER_YEAR)
    return volatility
