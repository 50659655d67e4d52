"""A market from arrays in memory: a mapping of columns, or a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mayavi.errors import BadArgument, UnknownKey, did_you_mean
from mayavi.markets.process import Floats
from mayavi.markets.timestamps import say_time
from mayavi.portfolio.market.data import COLUMNS, HOUR_SECONDS, PLACE, RWAMarket
from mayavi.portfolio.market.history import REQUIRED, fill_absent
from mayavi.portfolio.market.model import RWAModel

SOURCE = "historical_data"
TIME = "time"


def market_of_arrays(data: Mapping[str, Any], *, model: RWAModel | None = None) -> RWAMarket:
    """Make a market of hourly arrays by column, `{"eth_price": […], …}`, or of a pandas data frame.

    `REQUIRED` columns must be there; `model` fills the others as it does for files. `time`, in seconds since 1970, is
    optional. Hours follow each other without gaps.
    """
    if not hasattr(data, "keys"):
        raise BadArgument(
            f"{SOURCE} is of the type {type(data).__name__}", "give a mapping of columns to arrays, or a data frame"
        )
    names = [str(name) for name in data]
    for name in names:
        if name not in COLUMNS and name != TIME:
            raise UnknownKey.of("column", name, COLUMNS, f"there are {', '.join(COLUMNS)} and {TIME}")
    for name in REQUIRED:
        if name not in names:
            near = did_you_mean(name, names)
            raise BadArgument(f"{SOURCE} has no column '{name}'", near or f"it needs {', '.join(REQUIRED)}")
    arrays = {name: _column(name, data[name]) for name in names}
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise BadArgument(f"the columns of {SOURCE} differ in length: {told}", "each needs one value for each hour")
    times = arrays.pop(TIME, None)
    if times is not None:
        _check_hourly(times)
    assumed = tuple(name for name in COLUMNS if name not in arrays)
    columns: dict[str, Floats] = {name: values[None, :] for name, values in arrays.items()}
    fill_absent(columns, model or RWAModel())
    values = np.empty((1, lengths[REQUIRED[0]], len(COLUMNS)))
    for name, place in PLACE.items():
        values[:, :, place] = columns[name]
    return RWAMarket(times, values, SOURCE, assumed)


def _column(name: str, values: Any) -> Floats:
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadArgument(
            f"column '{name}' of {SOURCE} is not made of numbers: {error}", "one number an hour"
        ) from None
    if column.ndim != 1:
        raise BadArgument(f"column '{name}' of {SOURCE} has the shape {column.shape}", "one number an hour")
    return column


def _check_hourly(times: Floats) -> None:
    gaps = np.flatnonzero(np.diff(times) != HOUR_SECONDS)
    if len(gaps):
        at = int(gaps[0])
        raise BadArgument(
            f"the hour after {say_time(float(times[at]))} in {SOURCE} is {say_time(float(times[at + 1]))}",
            "hours follow each other; `write_rwa` and `data=FILE` take markets with gaps",
        )
