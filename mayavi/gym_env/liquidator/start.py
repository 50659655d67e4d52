"""What the liquidator's environment can be told, and where its episodes start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import Field

from mayavi.agents.quantities import MILLION
from mayavi.gym_env.configuration import ChainConfig
from mayavi.gym_env.lending.config import Interval
from mayavi.markets.diffusions import walk_paths
from mayavi.markets.price_paths import all_to_usd_e8
from mayavi.markets.process import Floats
from mayavi.numerics.portable import exp, log

_GWEI = 10**9
F = TypeVar("F", float, Floats)


class LiquidatorConfig(ChainConfig):
    """The intervals are what a `drawn` start is drawn from; a `fixed` one takes their middles."""

    horizon: int = Field(24, ge=1, le=100_000, description="steps until an episode is cut off")
    step_blocks: int = Field(50, ge=1, le=10_000_000, description="blocks that pass in a step: 50 are ten minutes")
    borrowers: int = Field(6, ge=1, le=32, description="accounts in the book")
    collateral: Interval = Field((50.0, 1000.0), description="WETH of a borrower, evenly on a logarithmic scale")
    health_factor: Interval = Field((1.04, 1.3), description="where loans are opened; Aave lends from 1.0311 on")
    shock: Interval = Field((0.05, 0.25), description="by what share the price of WETH falls")
    shock_steps: Interval = Field((1.0, 8.0), description="steps in which it falls")
    rebound: Interval = Field((0.0, 0.6), description="the share of the fall that is made good in as many steps after")
    volatility: Interval = Field((0.4, 1.2), description="of the price besides, a year; `fixed`: none")
    start_level: float = Field(0.05, ge=0, le=0.5, description="drawn: the price starts up to so much off the world's")
    start_blocks: int = Field(7_200, ge=0, le=10_000_000, description="drawn: episodes start up to so much later")
    pool_depth: float = Field(
        1.0, gt=0, le=1, description="the share of the pool's liquidity that is there: 0.02 makes sales expensive"
    )
    recovery: Interval = Field(
        (0.9, 1.0), description="the share of its way to the reference price that arbitrage takes the pool in a step"
    )
    capital: float | None = Field(None, gt=0, le=1e12, description="USDC the liquidator has; without it enough")
    gas_price_gwei: Interval = Field((10.0, 60.0), description="what it pays for gas")
    reward: Literal["profit", "at_end"] = Field(
        "profit", description="`profit` of each step, or the sum of it `at_end`; both over the scale of the episode"
    )


class Start(NamedTuple):
    """The start of one episode, in integers where the chain has them."""

    blocks: int
    collateral: list[int]
    health_factor_ppm: list[int]
    price_e8: list[int]
    recovery_ppm: int
    gas_price_wei: int
    volatility: float


def start_of(
    config: LiquidatorConfig, price_e8: int, unit: int, step_seconds: int, chance: np.random.Generator
) -> Start:
    """Where an episode starts whose chance is `chance`; that of the fixed start is not asked."""
    return starts_of(config, price_e8, unit, step_seconds, [chance])[0]


def starts_of(
    config: LiquidatorConfig, price_e8: int, unit: int, step_seconds: int, chances: Sequence[np.random.Generator]
) -> list[Start]:
    """The same for each of `chances`.

    The price is that of `markets.GeometricBrownianMotion`, to the last bit, times the shock. All paths are worked out
    at once, for a path at a time would take longer than a step of its episode.
    """
    if config.start == "fixed":
        return [_fixed(config, price_e8, unit)] * len(chances)
    count, horizon = config.borrowers, config.horizon
    lots, noise, falls = np.empty((len(chances), 2 * count + 8)), np.empty((len(chances), horizon)), []
    for own, shocks, chance in zip(lots, noise, chances, strict=True):
        chance.random(out=own)
        shock, rebound, *_, length = own[2 * count :].tolist()
        steps, begin = max(1, round(_between(config.shock_steps, length))), int(chance.integers(max(1, horizon // 2)))
        falls.append(_fall(horizon, begin, steps, _between(config.shock, shock), _between(config.rebound, rebound)))
        chance.standard_normal(out=shocks)
    _, _, volatility, level, recovery, gas, late, _ = lots[:, 2 * count :].T
    yearly = _between(config.volatility, volatility)
    paths = walk_paths(price_e8 / 10**8 * (1 + config.start_level * (2 * level - 1)), yearly, noise, step_seconds)
    low, high = log(config.collateral).tolist()
    drawn = (
        late * (config.start_blocks + 1),
        exp(low + (high - low) * lots[:, :count]),
        _between(config.health_factor, lots[:, count : 2 * count]),
        all_to_usd_e8(paths * np.array(falls)),
        _between(config.recovery, recovery),
        _between(config.gas_price_gwei, gas) * _GWEI,
        yearly,
    )
    return [
        Start(
            blocks=int(blocks),
            collateral=[_ppm(each) * unit // MILLION for each in collateral],
            health_factor_ppm=[_ppm(each) for each in healths],
            price_e8=prices_e8,
            recovery_ppm=_ppm(share),
            gas_price_wei=int(gas_price_wei),
            volatility=its_volatility,
        )
        for blocks, collateral, healths, prices_e8, share, gas_price_wei, its_volatility in zip(
            *(each.tolist() for each in drawn), strict=True
        )
    ]


def _fixed(config: LiquidatorConfig, price_e8: int, unit: int) -> Start:
    """Loans of one size from the lowest health factor to the highest, and one fall after a sixth of the time."""
    count, horizon = config.borrowers, config.horizon
    size = float(exp(sum(float(log(each)) for each in config.collateral) / 2))
    low, high = config.health_factor
    healths = [low + (high - low) * at / max(count - 1, 1) for at in range(count)]
    length = max(1, round(_between(config.shock_steps, 0.5)))
    fall = _fall(horizon, horizon // 6, length, _between(config.shock, 0.5), _between(config.rebound, 0.5))
    return Start(
        blocks=0,
        collateral=[_ppm(size) * unit // MILLION] * count,
        health_factor_ppm=[_ppm(each) for each in healths],
        price_e8=all_to_usd_e8(price_e8 / 10**8 * fall).tolist(),
        recovery_ppm=_ppm(_between(config.recovery, 0.5)),
        gas_price_wei=int(_between(config.gas_price_gwei, 0.5) * _GWEI),
        volatility=0.0,
    )


def _fall(horizon: int, begin: int, length: int, shock: float, rebound: float) -> Floats:
    """The price over the one without a shock: it falls from step `begin` on for `length` steps, and recovers a part."""
    bottom = begin + length
    path: Floats = np.interp(
        np.arange(horizon + 1), [begin, bottom, bottom + length], [1.0, 1 - shock, 1 - shock * (1 - rebound)]
    )
    return path


def _between(interval: tuple[float, float], lot: F) -> F:
    return interval[0] + (interval[1] - interval[0]) * lot


def _ppm(value: float) -> int:
    return round(value * MILLION)
