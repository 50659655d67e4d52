"""Settings of the vesting environment, and initial states of its episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from mayavi.agents.quantities import MILLION
from mayavi.gym_env.configuration import ChainConfig
from mayavi.markets.diffusions import peg_paths
from mayavi.markets.price_paths import all_to_usd_e8
from mayavi.markets.process import SECONDS_PER_YEAR, Floats
from mayavi.numerics.portable import exp, log

SCHEDULES = ("cliff", "late_cliff", "half", "whole")
_E8, _HOUR_S = 10**8, 3_600
_LOG_2 = float(log(2.0))
_RECOVERY, _VOLATILITY, _HALF_LIFE_HOURS = (0.2, 1.0), (0.4, 1.2), (2.0, 48.0)
"""Intervals to draw from for settings without a value."""


class VestingConfig(ChainConfig):
    """Settings of `VestingRows`."""

    step_blocks: int = Field(300, ge=1, le=10_000_000, description="blocks per step; 300 are an hour")
    inventory: float = Field(0.1, gt=0, le=1e6, description="WETH that vests, before `scale`")
    scale: float = Field(1.0, gt=0, le=1e6, description="factor of the inventory; strategies differ from 100 on")
    spread: float = Field(10_000.0, ge=1, le=1e9, description="drawn: largest factor of the inventory, log-uniform")
    schedule: Literal["drawn", "cliff", "late_cliff", "half", "whole"] = Field(
        "drawn",
        description="`cliff`: all there at the start (and of `fixed`); `late_cliff`: all after a third of the time; "
        "`half`, `whole`: in a straight line over half the time, or until the last step",
    )
    recovery: float | None = Field(
        None, ge=0, le=1,
        description="the share of the way to the reference price that arbitrage makes between two steps: 0 never, "
        "1 all of it (and of `fixed`); without it drawn from 0.2 to 1",
    )  # fmt: skip
    volatility: float | None = Field(
        None, ge=0, le=5,
        description="of the reference price, a year: 0 stands still (and of `fixed`); without it drawn from 0.4 to 1.2",
    )  # fmt: skip
    half_life_hours: float | None = Field(
        None, gt=0, le=1e6,
        description="in which the reference price makes half its way back to where it began: 12 of `fixed`, without it "
        "drawn from 2 to 48. A million hours are a random walk",
    )  # fmt: skip
    start_level: float = Field(
        0.05, ge=0, le=0.5, description="drawn: largest relative deviation of the first reference price from the pool's"
    )
    start_blocks: int = Field(300, ge=0, le=10_000_000, description="drawn: most blocks before the start of an episode")
    gas_price_gwei: float = Field(0.0, ge=0, le=1e6, description="gas price of the holder; zero: gas is free")
    reward: Literal["shortfall", "at_end"] = Field(
        "shortfall",
        description="`shortfall`: what each sale brought less what it was worth at the start, over the inventory's "
        "worth at the start; `at_end`: the sum of it, at the end",
    )


class Start(NamedTuple):
    """Initial state of one episode; on-chain values are integers."""

    schedule: str
    amount: int
    reference_e8: list[int]
    recovery_ppm: int
    step_volatility: float
    pull: float
    start_blocks: int


def start_of(
    config: VestingConfig, pool_price_e8: int, unit: int, step_seconds: int, rng: np.random.Generator
) -> Start:
    """Draw a start with its reference prices from `rng`."""
    return starts_of(config, pool_price_e8, unit, step_seconds, [rng])[0]


def starts_of(
    config: VestingConfig, pool_price_e8: int, unit: int, step_seconds: int, rngs: Sequence[np.random.Generator]
) -> list[Start]:
    """Draw a start from each of `rngs`.

    Reference prices equal those of `markets.OrnsteinUhlenbeck`, bit for bit. All paths are computed at once, because
    one path at a time would take longer than a step of its episode.
    """
    noise = np.empty((len(rngs), config.horizon))
    drawn = [_draw(config, pool_price_e8, rng, shocks) for rng, shocks in zip(rngs, noise, strict=True)]
    sizes, prices, reversions, volatilities = np.array([each[-4:] for each in drawn]).T
    paths = peg_paths(prices, reversions * SECONDS_PER_YEAR / _HOUR_S, volatilities, noise, step_seconds)
    references, pulls = all_to_usd_e8(paths).tolist(), (1 - exp(-reversions * step_seconds / _HOUR_S)).tolist()
    amounts = config.inventory * config.scale * exp(sizes * log(config.spread))
    years = float(step_seconds / SECONDS_PER_YEAR)
    return [
        Start(
            schedule=schedule,
            amount=max(1, round(amount * MILLION) * unit // MILLION),
            reference_e8=reference,
            recovery_ppm=round(recovery * MILLION),
            step_volatility=volatility * years**0.5,
            pull=pull,
            start_blocks=late,
        )
        for (schedule, recovery, late, *_, volatility), amount, reference, pull in zip(
            drawn, amounts.tolist(), references, pulls, strict=True
        )
    ]


def _draw(
    config: VestingConfig, pool_price_e8: int, rng: np.random.Generator, shocks: Floats
) -> tuple[str, float, int, float, float, float, float]:
    """Draw schedule, recovery, blocks before the start, size, and price, hourly reversion and volatility of the path.

    Every quantity is drawn, even if a setting overrides it, so that a setting changes nothing else. The normal draws
    of the path are written to `shocks`.
    """
    schedule, size, recovery, volatility, half_life, level, late = rng.random(7).tolist()
    fixed = config.start == "fixed"
    recovery = _chosen(config.recovery, 1.0 if fixed else _between(_RECOVERY, recovery))
    volatility = _chosen(config.volatility, 0.0 if fixed else _between(_VOLATILITY, volatility))
    half_life = _chosen(config.half_life_hours, 12.0 if fixed else _between(_HALF_LIFE_HOURS, half_life))
    named = "cliff" if fixed else SCHEDULES[int(schedule * len(SCHEDULES))]
    price = pool_price_e8 / _E8 * (1.0 if fixed else 1 + config.start_level * (2 * level - 1))
    rng.standard_normal(out=shocks)
    if config.schedule != "drawn":
        named = config.schedule
    blocks = 0 if fixed else int(late * (config.start_blocks + 1))
    return named, recovery, blocks, 0.0 if fixed else size, price, _LOG_2 / half_life, volatility


def _chosen(setting: float | None, otherwise: float) -> float:
    return otherwise if setting is None else setting


def _between(interval: tuple[float, float], draw: float) -> float:
    return interval[0] + (interval[1] - interval[0]) * draw
