"""Observations of `RWAYieldRows`: what is known at the current hour, scaled, within finite bounds.

| | |
|---|---|
| 0 | share of the hours that remain |
| 1–3 | current weights, drifted since the last trade |
| 4 | drawdown, relative to the one that ends the episode |
| 5–7 | return of the portfolio over the last 1, 24 and 168 hours, or since the start, times 100, 20 and 10 |
| 8 | volatility of the portfolio per year, exponentially weighted with a half-life of 24 hours |
| 9 | value over the initial value, less one, times 10 |
| 10 | all costs so far over the initial capital, times 100 |
| 11 | the last hour's cost over the value, times 1,000 |
| 12–14, 15–17, 18–20 | returns of USDY, mETH and MI4 over the last 1, 24 and 168 hours, times 100, 20 and 10 |
| 21–36 | the market's inputs in the order of `COLUMNS`, less a usual value, over a usual deviation (`SCALES`) |

Prices are relative to those 168 hours before, so that a policy does not meet unseen levels merely because years have
passed. No later hour enters, and the market part depends on the market and the hour alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mayavi.markets.autoregression import kept_of_half_life
from mayavi.portfolio.env.config import LOOKBACK
from mayavi.portfolio.market.data import ASSETS, COLUMNS, HOURS_PER_YEAR, PLACE

if TYPE_CHECKING:
    from mayavi.gym_env.rows import Floats, Observations
    from mayavi.portfolio.env.env import RWAYieldRows

WINDOWS = (1, 24, LOOKBACK)
"""Windows of returns, in hours."""
WINDOW_SCALES = (100.0, 20.0, 10.0)
VOLATILITY_KEEPS = kept_of_half_life(24.0)
"""Weight that a squared return keeps after an hour."""

SCALES: dict[str, tuple[float, float]] = {
    "usdy_apy": (4.0, 2.0),
    "meth_apy": (4.0, 2.0),
    "mi4_apy": (2.5, 2.0),
    "eth_price": (1.0, 0.1),
    "btc_price": (1.0, 0.1),
    "btc_dominance": (55.0, 10.0),
    "fed_rate": (4.0, 2.0),
    "usdy_peg": (1.0, 0.005),
    "meth_peg": (1.0, 0.01),
    "eth_vol": (0.5, 0.5),
    "usdy_vol": (0.001, 0.001),
    "aave_usdy_apy": (2.0, 2.0),
    "aave_meth_apy": (1.5, 2.0),
    "gas_price": (0.02, 0.02),
    "mnt_price": (1.0, 0.2),
    "sol_price": (1.0, 0.2),
}
"""Offset and divisor of each input; prices are first divided by those of a week before."""
PRICES = tuple(PLACE[f"{name}_price"] for name in ("eth", "btc", "mnt", "sol"))
"""Indexes of the inputs that are divided by their value a week before."""

OWN, ASSET_RETURNS = 12, len(ASSETS) * len(WINDOWS)
FEATURES = ASSET_RETURNS + len(COLUMNS)
"""Number of market features."""
SIZE = OWN + FEATURES
_WIDE = 10.0
_OFF = np.array([SCALES[name][0] for name in COLUMNS])
_TIMES = np.array([1.0 / SCALES[name][1] for name in COLUMNS])


def bounds() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Lower and upper bounds of an observation."""
    low, high = np.full(SIZE, -_WIDE, dtype=np.float32), np.full(SIZE, _WIDE, dtype=np.float32)
    low[:5], high[:5] = 0.0, (1.0, 1.0, 1.0, 1.0, _WIDE)
    low[8] = low[10] = low[11] = 0.0
    return low, high


_LOW, _HIGH = (each[:OWN, None].astype(np.float64) for each in bounds())


def features(values: Floats, levels: Floats) -> NDArray[np.float32]:
    """Market features of every hour with a week before it, (paths, hours - LOOKBACK, FEATURES).

    `values` are inputs of shape (paths, hours, 16), `levels` values of a dollar in each asset, (paths, hours, 3).
    """
    paths, hours = len(values), values.shape[1] - LOOKBACK
    found = np.empty((paths, hours, FEATURES), dtype=np.float32)
    now = levels[:, LOOKBACK:]
    for at, (window, scale) in enumerate(zip(WINDOWS, WINDOW_SCALES, strict=True)):
        returns = now / levels[:, LOOKBACK - window : levels.shape[1] - window]
        returns -= 1.0
        returns *= scale
        found[:, :, len(ASSETS) * at : len(ASSETS) * (at + 1)] = np.clip(returns, -_WIDE, _WIDE, out=returns)
    seen = values[:, LOOKBACK:].copy()
    for place in PRICES:
        seen[:, :, place] /= values[:, :hours, place]
    seen -= np.broadcast_to(_OFF, (hours, len(COLUMNS))).copy()  # contiguous, for one pass along memory
    seen *= np.broadcast_to(_TIMES, (hours, len(COLUMNS))).copy()
    found[:, :, ASSET_RETURNS:] = np.clip(seen, -_WIDE, _WIDE, out=seen)
    return found


def observed(env: RWAYieldRows) -> Observations:
    """Observations of all rows, (rows, SIZE)."""
    columns, config, hours = env.columns, env.config, env.hours
    value = columns["value"]
    own = np.empty((OWN, env.rows))
    own[0] = (config.horizon - hours) / config.horizon
    own[1:4] = env.weights
    np.divide(env.drawdown(), config.stop_drawdown, out=own[4])
    own[5] = columns["hourly_return"]
    own[6] = value / env.value_at(hours - WINDOWS[1]) - 1.0
    own[7] = value / env.value_at(hours - WINDOWS[2]) - 1.0
    own[5:8] *= np.array(WINDOW_SCALES)[:, None]
    np.sqrt(columns["variance"] * HOURS_PER_YEAR, out=own[8])
    own[9] = value * (10.0 / config.initial_capital) - 10.0
    own[10] = columns["costs"] * (100.0 / config.initial_capital)
    own[11] = (columns["cost"] + columns["gas"]) * 1_000.0 / np.maximum(value, 1e-9)
    np.clip(own, _LOW, _HIGH, out=own)
    found: Observations = np.empty((env.rows, SIZE), dtype=np.float32)
    found[:, :OWN] = own.T
    found[:, OWN:] = env.markets.features_at(hours)
    return found
