"""Hourly returns of known processes, many experiments side by side, for the coverage of backtests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Floats]

BLOCK = 24
"""Hours of the blocks whose number a half-life is given in."""


@dataclass(frozen=True)
class Process:
    """Hourly returns with a mean of zero and a deviation of one."""

    name: str
    noise: Noise
    """Function of a generator, the number of rows and of hours."""


def _filtered(noise: Floats, memory: float) -> Floats:
    """First-order autoregression along the last axis, with a deviation of one from the first hour on."""
    scale = math.sqrt(1 - memory**2)
    turned = np.ascontiguousarray(noise.T)  # an hour of all rows lies together
    for hour in range(1, len(turned)):
        turned[hour] = memory * turned[hour - 1] + scale * turned[hour]
    return np.ascontiguousarray(turned.T)


def memory_of(half_life: float) -> float:
    """Correlation of neighbouring hours that halves after `half_life` hours."""
    return float(0.5 ** (1 / half_life))


def _autocorrelated(memory: float) -> Noise:
    return lambda rng, rows, hours: _filtered(rng.standard_normal((rows, hours)), memory)


def _clustered(memory: float, spread: float = 0.6) -> Noise:
    """Stochastic volatility: its logarithm is a first-order autoregression."""

    def noise(rng: np.random.Generator, rows: int, hours: int) -> Floats:
        logarithm = spread * _filtered(rng.standard_normal((rows, hours)), memory)
        return rng.standard_normal((rows, hours)) * np.exp(logarithm - spread**2)

    return noise


def _drifting(memory: float, share: float) -> Noise:
    """Independent hours with a slow drift, whose deviation is a `share` of that of an hour."""

    def noise(rng: np.random.Generator, rows: int, hours: int) -> Floats:
        drift = _filtered(rng.standard_normal((rows, hours)), memory)
        return share * drift + math.sqrt(1 - share**2) * rng.standard_normal((rows, hours))

    return noise


def _blocks(number: int) -> str:
    return f"half-life {number} block{'s' if number > 1 else ''}"


INDEPENDENT = Process("independent, normal", lambda rng, rows, hours: rng.standard_normal((rows, hours)))
HEAVY_TAILED = Process(
    "independent, Student's t with 5 degrees",
    lambda rng, rows, hours: rng.standard_t(5, (rows, hours)) / math.sqrt(5 / 3),
)
CORRELATED = Process("autocorrelation 0.5", _autocorrelated(0.5))
CLUSTERED = Process("clustered volatility, half-life 7 hours", _clustered(0.9))
PROCESSES = (INDEPENDENT, HEAVY_TAILED, CORRELATED, CLUSTERED)
"""Processes whose memory is shorter than a block."""

TRENDS = tuple(
    Process(f"autocorrelation, {_blocks(each)}", _autocorrelated(memory_of(each * BLOCK))) for each in (1, 5, 20)
)
CLUSTERS = tuple(
    Process(f"clustered volatility, {_blocks(each)}", _clustered(memory_of(each * BLOCK))) for each in (1, 5, 20)
)
DRIFTS = tuple(
    Process(f"drift of 5 % of an hour's deviation, {_blocks(each)}", _drifting(memory_of(each * BLOCK), 0.05))
    for each in (5, 20)
)
BEYOND = (*TRENDS, *CLUSTERS, *DRIFTS)
"""Processes whose memory is longer than a block of a day."""
