"""Continuous-time price processes, sampled exactly: the step length changes no distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from mayavi.errors import BadArgument
from mayavi.markets.process import SECONDS_PER_YEAR, Floats, PriceProcess
from mayavi.numerics import portable
from mayavi.numerics.parameters import above_zero, at_least_zero, finite

_VOLATILITY = "a volatility is per year and zero or more: 0.8 is 80 %"


@dataclass(frozen=True, slots=True)
class GeometricBrownianMotion(PriceProcess):
    """Independent log-normal returns: dS = drift·S·dt + volatility·S·dW, both per year.

    The expected price after t years is start·exp(drift·t), the variance of its logarithm volatility²·t.
    """

    volatility: float
    drift: float = 0.0

    def __post_init__(self) -> None:
        at_least_zero("volatility", self.volatility, _VOLATILITY)
        finite("drift", self.drift)

    @property
    def diffuses(self) -> bool:
        """Always true."""
        return True

    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the path driven by `shocks`."""
        del rng
        return self._paths(start, shocks, step_seconds)

    def driven_each(
        self, start: float, shocks: Floats, step_seconds: float, rngs: Sequence[np.random.Generator]
    ) -> Floats:
        """Return the path of each row of `shocks`."""
        del rngs
        return self._paths(start, shocks, step_seconds)

    def _paths(self, start: float, shocks: Floats, step_seconds: float) -> Floats:
        """Return the paths driven by `shocks`, whose last axis are the steps."""
        years = step_seconds / SECONDS_PER_YEAR
        returns = (self.drift - self.volatility * self.volatility / 2) * years + self.volatility * math.sqrt(
            years
        ) * shocks
        return _prices_from_returns(start, returns)


@dataclass(frozen=True, slots=True)
class OrnsteinUhlenbeck(PriceProcess):
    """Peg: the logarithm of price / `mean` reverts to zero, so the price stays positive.

    `mean_reversion` is per year: a deviation halves in ln 2 / mean_reversion years. `volatility` is that of the shocks,
    per year. The long-run variance of the deviation is volatility² / (2·mean_reversion). Without a `mean` the price
    reverts to its start.
    """

    mean_reversion: float
    volatility: float
    mean: float | None = 1.0

    def __post_init__(self) -> None:
        at_least_zero("mean_reversion", self.mean_reversion, "it is per year and zero or more; zero pulls nothing back")
        at_least_zero("volatility", self.volatility, _VOLATILITY)
        if self.mean is not None:
            above_zero("mean", self.mean, "the price a peg returns to is more than zero")

    @classmethod
    def of_half_life(cls, hours: float, deviation: float, mean: float | None = 1.0) -> Self:
        """Return the peg whose deviations halve in `hours` and have the long-run standard deviation `deviation`."""
        above_zero("half-life", hours, "the hours in which a deviation halves are more than zero")
        at_least_zero("deviation", deviation, "0.001 is a tenth of a percent around the peg")
        reversion = float(portable.log(2.0)) * SECONDS_PER_YEAR / (hours * 3600)
        return cls(reversion, deviation * math.sqrt(2 * reversion), mean)

    @property
    def diffuses(self) -> bool:
        """Always true."""
        return True

    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the path driven by `shocks`."""
        del rng
        steps = _peg_step(np.array([self.mean_reversion]), np.array([self.volatility]), step_seconds)
        kept, spread = (float(each[0]) for each in steps)
        mean = start if self.mean is None else float(self.mean)
        deviation = float(portable.log(start / mean))
        deviations = np.empty(len(shocks) + 1)
        deviations[0] = deviation
        for step, shock in enumerate(shocks.tolist(), start=1):
            deviation = deviation * kept + spread * shock
            deviations[step] = deviation
        prices = mean * portable.exp(deviations)
        prices[0] = start  # to the last bit
        return prices


def _peg_step(mean_reversions: Floats, volatilities: Floats, step_seconds: float) -> tuple[Floats, Floats]:
    """Return the share of each peg's deviation that a step keeps, and the scale of its shocks."""
    years = step_seconds / SECONDS_PER_YEAR
    kept = portable.exp(-mean_reversions * years)
    slow = mean_reversions * years < 1e-9  # 1 - kept² would cancel to nothing
    variance = np.where(slow, years, (1 - kept * kept) / np.where(slow, 1.0, 2 * mean_reversions))
    return kept, volatilities * np.sqrt(variance)


def peg_paths(
    starts: Floats, mean_reversions: Floats, volatilities: Floats, shocks: Floats, step_seconds: float
) -> Floats:
    """Return (paths, steps + 1) prices of `OrnsteinUhlenbeck` without a mean, one per row of `shocks`."""
    kept, spread = _peg_step(mean_reversions, volatilities, float(step_seconds))
    deviations = np.zeros((shocks.shape[1] + 1, len(starts)))
    for step, shock in enumerate(shocks.T):
        deviations[step + 1] = deviations[step] * kept + spread * shock
    prices: Floats = starts[:, None] * portable.exp(deviations.T)
    prices[:, 0] = starts
    return prices


def walk_paths(starts: Floats, volatilities: Floats, shocks: Floats, step_seconds: float) -> Floats:
    """Return (paths, steps + 1) prices of `GeometricBrownianMotion`, one per row of `shocks`."""
    years, own = step_seconds / SECONDS_PER_YEAR, volatilities[:, None]
    returns = np.zeros((len(shocks), shocks.shape[1] + 1))
    returns[:, 1:] = -own * own / 2 * years + own * math.sqrt(years) * shocks
    prices: Floats = starts[:, None] * portable.exp(np.cumsum(returns, axis=1))
    return prices


@dataclass(frozen=True, slots=True)
class JumpDiffusion(PriceProcess):
    """Merton's jump diffusion: geometric Brownian motion with `jumps_per_year` Poisson jumps.

    A jump multiplies the price by exp(x), x normal with mean `jump_mean` and standard deviation `jump_deviation`.
    `drift` includes the jumps: the expected price after t years is start·exp(drift·t).
    """

    volatility: float
    jumps_per_year: float
    jump_mean: float
    jump_deviation: float = 0.0
    drift: float = 0.0

    def __post_init__(self) -> None:
        at_least_zero("volatility", self.volatility, _VOLATILITY)
        at_least_zero("jumps_per_year", self.jumps_per_year, "how many jumps a year has on average")
        finite("jump_mean", self.jump_mean, "the mean of the logarithm of a jump: -0.1 is minus 9.5 %")
        at_least_zero("jump_deviation", self.jump_deviation, "the standard deviation of the logarithm of a jump")
        finite("drift", self.drift)

    @classmethod
    def of_mean_size(
        cls, volatility: float, jumps_per_year: float, mean_size: float, jump_deviation: float = 0.0, drift: float = 0.0
    ) -> Self:
        """Return the process whose jumps move the price by `mean_size` on average: -0.1 is minus 10 %."""
        if finite("mean_size", mean_size, "-0.1 is minus 10 %") <= -1:
            raise BadArgument(
                f"mean_size '{mean_size}' leaves no price", "a price falls by less than 100 %: -0.1 is minus 10 %"
            )
        at_least_zero("jump_deviation", jump_deviation)
        mean = float(portable.log(1 + mean_size)) - jump_deviation * jump_deviation / 2
        return cls(volatility, jumps_per_year, mean, jump_deviation, drift)

    @property
    def diffuses(self) -> bool:
        """Always true."""
        return True

    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the path driven by `shocks`, with jumps from `rng`."""
        years = step_seconds / SECONDS_PER_YEAR
        of_counts, of_sizes = rng.spawn(2)  # separate streams, so that a longer path begins with the shorter one
        expected = self.jumps_per_year * years
        if expected > 1e9:
            raise BadArgument(
                f"{expected:.3g} jumps are expected in a step", "lower jumps_per_year or shorten the step"
            )
        counts = of_counts.poisson(expected, len(shocks)).astype(np.float64)
        jumps = counts * self.jump_mean + np.sqrt(counts) * self.jump_deviation * of_sizes.standard_normal(len(shocks))
        growth = float(portable.exp(self.jump_mean + self.jump_deviation * self.jump_deviation / 2)) - 1
        drift = self.drift - self.jumps_per_year * growth - self.volatility * self.volatility / 2
        return _prices_from_returns(start, drift * years + self.volatility * math.sqrt(years) * shocks + jumps)


def _prices_from_returns(start: float, log_returns: Floats) -> Floats:
    """Return the start and the prices after each of `log_returns`, whose last axis are the steps."""
    sums = np.zeros((*log_returns.shape[:-1], log_returns.shape[-1] + 1))
    np.cumsum(log_returns, axis=-1, out=sums[..., 1:])
    with np.errstate(over="ignore"):  # PricePaths refuses overflows by symbol
        prices: Floats = start * portable.exp(sums)
    return prices
