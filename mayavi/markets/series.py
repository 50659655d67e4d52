"""Historical price series, read from a file and checked row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument, BadSeries
from mayavi.markets.process import SECONDS_PER_YEAR, Floats
from mayavi.markets.table_file import Table, parse_table, read_table
from mayavi.markets.timestamps import say_time, to_seconds
from mayavi.numerics import portable
from mayavi.numerics.parameters import whole

Order = Literal["ascending", "descending", "either"]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Prices at strictly increasing Unix times.

    `places` holds the row of each price in `file`, for error messages.
    """

    file: str
    place: str
    times: Floats
    prices: Floats
    places: NDArray[np.int64]

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        time_column: str | None = None,
        price_column: str | None = None,
        order: Order = "ascending",
        decimals: int | None = None,
        skip_blank: bool = False,
        keep_last: bool = False,
    ) -> Self:
        """Read a CSV, Parquet or JSON file; columns are found by name unless given.

        `order="descending"` is for files from new to old, "either" accepts both. `decimals` is for fixed-point integers
        such as feed answers. `skip_blank` drops rows without a price, `keep_last` all but the last of those at one
        time. Raises `BadSeries`, with the line, for anything else that is wrong.
        """
        table = read_table(Path(path), time_column, price_column)
        return cls.of_table(table, order, decimals, skip_blank, keep_last)

    @classmethod
    def parse(
        cls,
        text: str,
        name: str,
        *,
        time_column: str | None = None,
        price_column: str | None = None,
        order: Order = "ascending",
        decimals: int | None = None,
        skip_blank: bool = False,
        keep_last: bool = False,
    ) -> Self:
        """Parse CSV or JSON text as `read` does; errors call it `name`."""
        table = parse_table(text, name, time_column, price_column)
        return cls.of_table(table, order, decimals, skip_blank, keep_last)

    @classmethod
    def of_table(
        cls,
        table: Table,
        order: Order = "ascending",
        decimals: int | None = None,
        skip_blank: bool = False,
        keep_last: bool = False,
        any_sign: bool = False,
        times: Floats | None = None,
    ) -> Self:
        """Build from rows already read; `any_sign` is for rates, which may be zero or negative.

        `times` are those of the rows, where a series of another column of the same table has parsed them.
        """
        if order not in ("ascending", "descending", "either"):
            raise BadArgument(f"unknown order '{order}'", "choose 'ascending', 'descending' or 'either'")
        if decimals is not None:
            whole("decimals", decimals, 0, "Chainlink's answers in dollars have 8")
        if decimals is None and table.price_column.strip().casefold() == "answer":
            raise BadSeries(
                f"'{table.file}': an answer of a feed is an integer with decimals", "say how many: decimals=8, for one"
            )
        rows = [row for row in table.rows if not (skip_blank and _is_blank(row[2]))]
        return cls._checked(table, rows, order, decimals, keep_last, any_sign, times)

    @classmethod
    def chainlink(cls, path: str | PathLike[str], *, decimals: int = 8) -> Self:
        """Read a file of a Chainlink feed's rounds, from new to old, as `getRoundData` returns them.

        Rounds without an answer (time and answer zero) are dropped; of two rounds at one time the later one is kept.
        """
        table = read_table(Path(path), None, "answer")
        rows = [row for row in table.rows if not (str(row[1]).strip() == "0" and str(row[2]).strip() == "0")]
        return cls._checked(table, rows, "descending", decimals, keep_last=True)

    @classmethod
    def _checked(
        cls,
        table: Table,
        rows: Sequence[tuple[int, object, object]],
        order: Order,
        decimals: int | None,
        keep_last: bool,
        any_sign: bool = False,
        times: Floats | None = None,
    ) -> Self:
        if times is None:
            times = np.array([_time(table, place, time) for place, time, _ in rows])
        backwards = order == "descending" or (order == "either" and len(rows) > 1 and times[-1] < times[0])
        way = -1 if backwards else 1
        series = cls(
            table.file,
            table.place,
            times[::way],
            _prices(table, rows, decimals, any_sign)[::way],
            np.array([place for place, _, _ in rows], dtype=np.int64)[::way],
        )
        if keep_last and len(rows) > 1:
            last = np.append(series.times[1:] != series.times[:-1], True)
            series = replace(series, times=series.times[last], prices=series.prices[last], places=series.places[last])
        series._check_order(backwards)
        for array in (series.times, series.prices, series.places):
            array.flags.writeable = False
        return series

    def _check_order(self, backwards: bool) -> None:
        if len(self.times) < 2:
            count = "one price" if len(self.times) else "no price"
            raise BadSeries(f"'{self.file}' has {count}", "a series has at least two")
        steps = np.diff(self.times)
        if (steps > 0).all():
            return
        if (steps <= 0).all() and (steps < 0).any():
            runs, hint = ("old to new", "ascending") if backwards else ("new to old", "descending")
            raise BadSeries(f"'{self.file}' runs from {runs}", f"say order='{hint}'")
        # report the row that comes later in the file
        at = int(np.flatnonzero(steps <= 0)[-1 if backwards else 0])
        this, before = (at, at + 1) if backwards else (at + 1, at)
        where = f"'{self.file}', {self.place} {self.places[this]}"
        time = say_time(self.times[this])
        if steps[at] == 0:
            raise BadSeries(
                f"{where}: {time} is the time of {self.place} {self.places[before]} too",
                "remove one of them, or say keep_last=True",
            )
        raise BadSeries(
            f"{where}: {time} comes after {say_time(self.times[before])} in {self.place} {self.places[before]}",
            f"sort the {self.place}s by time",
        )

    def __len__(self) -> int:
        return len(self.times)

    @property
    def usual_spacing(self) -> float:
        """Median seconds between prices."""
        return float(np.median(np.diff(self.times)))

    @property
    def volatility(self) -> float:
        """Yearly volatility of the geometric Brownian motion that fits the series."""
        returns = np.diff(portable.log(self.prices))
        if len(returns) < 2:
            raise BadArgument(f"'{self.file}' has two prices, too few for a volatility", "three are the least")
        years = float(np.mean(np.diff(self.times))) / SECONDS_PER_YEAR
        return float(np.std(returns, ddof=1)) / math.sqrt(years)

    def __repr__(self) -> str:
        first, last = say_time(self.times[0]), say_time(self.times[-1])
        return f"<Series of {len(self)} prices in '{self.file}', {first} to {last}>"


def _is_blank(price: object) -> bool:
    return price is None or (isinstance(price, str) and not price.strip())


def _time(table: Table, place: int, time: object) -> float:
    try:
        return to_seconds(time)
    except (ValueError, OverflowError):
        problem = "there is no time" if time is None or not str(time).strip() else f"'{time}' is not a valid time"
        raise BadSeries(
            f"'{table.file}', {table.place} {place}: {problem} in column '{table.time_column}'",
            "write it as 2023-03-11T07:00:00Z, or in seconds since 1970",
        ) from None


def _prices(table: Table, rows: Sequence[tuple[int, object, object]], decimals: int | None, any_sign: bool) -> Floats:
    given = [price for _, _, price in rows]
    if decimals is None and (usual := _usual_prices(given, any_sign)) is not None:
        return usual
    return np.array([_price(table, place, price, decimals, any_sign) for place, _, price in rows])


def _usual_prices(given: Sequence[object], any_sign: bool) -> Floats | None:
    """Convert prices that need no closer look; None if one does."""
    numbers = [price for price in given if type(price) is str or type(price) is float]
    if len(numbers) < len(given) or any("_" in price for price in numbers if isinstance(price, str)):
        return None
    try:
        found = np.array([float(price) for price in numbers])
    except ValueError:
        return None
    return found if np.isfinite(found).all() and (any_sign or (found > 0).all()) else None


def _price(table: Table, place: int, price: object, decimals: int | None, any_sign: bool = False) -> float:
    def refuse(problem: str, hint: str) -> NoReturn:
        raise BadSeries(f"'{table.file}', {table.place} {place}: {problem} in column '{table.price_column}'", hint)

    if _is_blank(price):
        refuse("there is no price", "fill it in, remove the line, or say skip_blank=True")
    if decimals is not None and isinstance(price, float) and price.is_integer():
        price = int(price)  # large integers in Parquet
    text = str(price).strip()
    try:
        if isinstance(price, bool) or "_" in text:
            raise ValueError
        if decimals is None:
            number = float(text)
        elif "." in text or "e" in text.lower():
            refuse(f"'{text}' is not an integer", "leave decimals out where prices are written with a point")
        else:
            number = int(text) / 10**decimals  # rounded once
    except (ValueError, OverflowError):
        refuse(f"'{text}' is not a number", "write it as 1234.5, without separators or signs of currency")
    if not math.isfinite(number):
        refuse(f"the price is '{text}'", "remove the line, or put a price there")
    if number <= 0 and not any_sign:
        refuse(f"the price '{text}' is not above zero", "remove the line, or put a price there")
    return number
