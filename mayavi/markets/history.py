"""Price path from a historical series, sampled at the steps of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mayavi.errors import BadArgument, BadSeries
from mayavi.markets.process import Floats, PriceProcess
from mayavi.markets.series import Series
from mayavi.markets.timestamps import say_duration, say_time, to_seconds
from mayavi.numerics.parameters import finite

Fill = Literal["error", "hold", "linear"]


@dataclass(frozen=True, slots=True)
class HistoricalPath(PriceProcess):
    """Prices of `series` from the time `begin` on, by default its first.

    The price at a step is the last one known by then: no averages, no look-ahead. `anchored` scales the path to the
    given start; otherwise it keeps the file's prices, whatever the start.

    A gap longer than `max_gap` times the usual spacing is an error, unless `fill` is "hold" (the last price) or
    "linear".
    """

    series: Series
    begin: str | float | None = None
    anchored: bool = False
    fill: Fill = "error"
    max_gap: float = 3.0

    def __post_init__(self) -> None:
        if not isinstance(self.series, Series):
            raise BadArgument(f"'{self.series}' is not a series", "Series.read(path) makes one of a file")
        if self.fill not in ("error", "hold", "linear"):
            raise BadArgument(f"unknown fill '{self.fill}'", "choose 'error', 'hold' or 'linear'")
        if finite("max_gap", self.max_gap) < 1:
            raise BadArgument(
                f"max_gap '{self.max_gap}' is less than 1", "it is a multiple of the usual spacing: 3, say"
            )
        self._begin()

    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the series at the steps; the shocks are ignored."""
        del rng
        times, prices = self.series.times, self.series.prices
        begin = self._begin()
        asked = begin + np.arange(len(shocks) + 1) * step_seconds
        if asked[-1] > times[-1]:
            fitting = int((times[-1] - begin) // step_seconds)
            raise BadSeries(
                f"'{self.series.file}' ends at {say_time(times[-1])}, and {len(shocks)} steps of "
                f"{say_duration(step_seconds)} from {say_time(begin)} need {say_time(asked[-1])}",
                f"{fitting} steps fit: take fewer, or begin earlier"
                if fitting
                else "begin earlier, or take shorter steps",
            )
        known = np.searchsorted(times, asked, side="right") - 1
        gaps = self._gaps(int(known[0]), float(asked[-1]))
        values = prices[known]
        if len(gaps) and self.fill == "linear":
            following = np.minimum(known + 1, len(times) - 1)
            inside = np.isin(known, gaps)
            share = np.where(
                inside, (asked - times[known]) / np.where(inside, times[following] - times[known], 1.0), 0.0
            )
            values = values + (prices[following] - values) * share
        path: Floats = start * (values / values[0]) if self.anchored else values
        return path

    def _begin(self) -> float:
        times, file = self.series.times, self.series.file
        if self.begin is None:
            return float(times[0])
        try:
            begin = to_seconds(self.begin)
        except (ValueError, OverflowError):
            raise BadArgument(f"begin '{self.begin}' is not a valid time", "write it as 2023-03-11T07:00:00Z") from None
        if not times[0] <= begin < times[-1]:
            raise BadSeries(
                f"'{file}' has no price at {say_time(begin)}",
                f"begin between {say_time(times[0])} and {say_time(times[-1])}",
            )
        return begin

    def _gaps(self, first: int, end: float) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Return where, from the price `first` up to `end`, the next price is too far away."""
        series = self.series
        waits = np.diff(series.times)
        usual = series.usual_spacing
        late = np.flatnonzero(waits > self.max_gap * usual)
        gaps = late[(late >= first) & (series.times[late] < end)]
        if len(gaps) and self.fill == "error":
            at = int(gaps[0])
            one, other = sorted((int(series.places[at]), int(series.places[at + 1])))
            more = f", the first of {len(gaps)} gaps" if len(gaps) > 1 else ""
            raise BadSeries(
                f"'{series.file}', {series.place} {other}: {say_duration(waits[at])} without a price between "
                f"{series.place} {one} and this{more}; usual is {say_duration(usual)}",
                f"fill it in, or say fill='hold' or fill='linear', or max_gap={np.ceil(waits[gaps].max() / usual):g}",
            )
        return gaps
