"""Intervals from one stretch of history: hours are drawn again in blocks, so that what hangs together stays together.

The stationary bootstrap of Politis and Romano (1994): a block starts at any hour, goes on with the chance 1 - 1/length
from each hour to the next, and the last hour is followed by the first. Volatility that comes in days or weeks is then
in the samples as it is in the data, which hours drawn one by one would not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.numerics.streams import stream
from mayavi.portfolio.backtest.metrics import METRICS, Floats, portfolio_metrics

BLOCK_HOURS = 168
"""The mean length of a block: a week."""

_HOURS_AT_ONCE = 1_000_000


def drawn_again(hours: int, resamples: int, *, block: int = BLOCK_HOURS, seed: int = 0) -> Iterator[NDArray[np.int64]]:
    """(some, hours) numbers of hours, a part of all `resamples` at a time."""
    if block < 1:
        raise UsageError(f"blocks of {block} hours hold nothing", "an hour at least; the default is a week, 168")
    rng = stream(seed, "block bootstrap")
    at_once = max(1, _HOURS_AT_ONCE // hours)
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        fresh = rng.random((rows, hours)) < 1 / block
        fresh[:, 0] = True
        begins = rng.integers(hours, size=(rows, hours))
        places = np.arange(hours)
        since = np.maximum.accumulate(np.where(fresh, places, 0), axis=1)  # where the block of each hour began
        yield (np.take_along_axis(begins, since, axis=1) + places - since) % hours


def resampled_metrics(
    series: Mapping[str, tuple[Floats, Floats, Floats]],
    *,
    resamples: int,
    risk_free_rate: float,
    block: int = BLOCK_HOURS,
    seed: int = 0,
) -> dict[str, dict[str, Floats]]:
    """For each portfolio and metric its figures in the samples drawn again, the same hours for every portfolio.

    `series` has for each the (hours,) growth factors, turnover and costs.
    """
    names = list(series)
    parts: dict[str, dict[str, list[Floats]]] = {name: {metric: [] for metric in METRICS} for name in names}
    (hours,) = {len(growth) for growth, _, _ in series.values()}
    for drawn in drawn_again(hours, resamples, block=block, seed=seed):
        for name in names:
            growth, turnover, cost = series[name]
            values = np.ones((len(drawn), hours + 1))
            np.cumprod(growth[drawn], axis=1, out=values[:, 1:])
            found = portfolio_metrics(
                values,
                risk_free_rate=risk_free_rate,
                turnover=turnover[drawn].sum(axis=1),
                cost=cost[drawn].sum(axis=1),
            )
            for metric, figures in found.items():
                parts[name][metric].append(figures)
    return {name: {metric: np.concatenate(each) for metric, each in own.items()} for name, own in parts.items()}
