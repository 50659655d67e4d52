"""Initial states of liquidator episodes: drawn from intervals, or fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from mayavi.agents.quantities import MILLION
from mayavi.gym_env.liquidator.config import LiquidatorConfig
from mayavi.markets.diffusions import walk_paths
from mayavi.markets.price_paths import all_to_usd_e8
from mayavi.markets.process import Floats
from mayavi.numerics.portable import exp, log

_GWEI = 10**9
F = TypeVar("F", float, Floats)


class Start(NamedTuple):
    """Initial state of one episode; on-chain values are integers."""

    blocks: int
    collateral: list[int]
    health_factor_ppm: list[int]
    price_e8: list[int]
    recovery_ppm: int
    gas_price_wei: int
    volatility: float


def start_of(config: LiquidatorConfig, price_e8: int, unit: int, step_seconds: int, rng: np.random.Generator) -> Start:
    """Draw a start from `rng`; a fixed start draws nothing."""
    return starts_of(config, price_e8, unit, step_seconds, [rng])[0]


def starts_of(
    config: LiquidatorConfig, price_e8: int, unit: int, step_seconds: int, rngs: Sequence[np.random.Generator]
) -> list[Start]:
    """Draw a start from each of `rngs`.

    Prices equal those of `markets.GeometricBrownianMotion`, bit for bit, times the shock. All paths are computed at
    once, because one path at a time would take longer than a step of its episode.
    """
    if config.start == "fixed":
        return [_fixed(config, price_e8, unit)] * len(rngs)
    count, horizon = config.borrowers, config.horizon
    draws, noise, falls = np.empty((len(rngs), 2 * count + 8)), np.empty((len(rngs), horizon)), []
    for own, shocks, rng in zip(draws, noise, rngs, strict=True):
        rng.random(out=own)
        shock, rebound, *_, length = own[2 * count :].tolist()
        steps, begin = max(1, round(_between(config.shock_steps, length))), int(rng.integers(max(1, horizon // 2)))
        falls.append(_fall(horizon, begin, steps, _between(config.shock, shock), _between(config.rebound, rebound)))
        rng.standard_normal(out=shocks)
    _, _, volatility, level, recovery, gas, late, _ = draws[:, 2 * count :].T
    yearly = _between(config.volatility, volatility)
    paths = walk_paths(price_e8 / 10**8 * (1 + config.start_level * (2 * level - 1)), yearly, noise, step_seconds)
    low, high = log(config.collateral).tolist()
    drawn = (
        late * (config.start_blocks + 1),
        exp(low + (high - low) * draws[:, :count]),
        _between(config.health_factor, draws[:, count : 2 * count]),
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
    """Loans of one size, evenly spaced health factors, and one fall after a sixth of the time."""
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
    """Price factor of a shock: falls for `length` steps from step `begin` on, then recovers a part."""
    bottom = begin + length
    path: Floats = np.interp(
        np.arange(horizon + 1), [begin, bottom, bottom + length], [1.0, 1 - shock, 1 - shock * (1 - rebound)]
    )
    return path


def _between(interval: tuple[float, float], draw: F) -> F:
    return interval[0] + (interval[1] - interval[0]) * draw


def _ppm(value: float) -> int:
    return round(value * MILLION)
