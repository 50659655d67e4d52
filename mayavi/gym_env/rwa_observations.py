"""What `RWAYieldEnv` shows of a row: what is known at its hour, scaled, within finite bounds.

| | |
|---|---|
| 0 | the share of the hours that is left |
| 1–3 | weights now, drifted since the last trade |
| 4 | drawdown over the one that ends the episode |
| 5–7 | return of the portfolio over the last 1, 24 and 168 hours, or since the start, times 100, 20 and 10 |
| 8 | volatility of the portfolio, a year: the returns of earlier hours weigh half as much every 24 hours |
| 9 | value over that of the start, less one, times 10 |
| 10 | all costs so far over the capital of the start, times 100 |
| 11 | the last hour's cost over the value, times 1,000 |
| 12–14, 15–17, 18–20 | returns of USDY, mETH and MI4 over the last 1, 24 and 168 hours, times 100, 20 and 10 |
| 21–36 | the market's inputs in the order of `COLUMNS`, less a usual value, over a usual deviation (`SCALES`) |

Prices are told as their change since the episode's start, so that a policy meets none that it has never seen only
because years have passed. Nothing of a later hour enters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.markets.rwa_data import COLUMNS, HOURS_PER_YEAR, PLACE

if TYPE_CHECKING:
    from mayavi.gym_env.rows import Floats, Observations
    from mayavi.gym_env.rwa_yield import RWAYieldEnv

WINDOWS = (1, 24, 168)
"""Hours over which returns are told."""
WINDOW_SCALES = (100.0, 20.0, 10.0)
VOLATILITY_KEEPS = 0.5 ** (1 / 24)
"""What a squared return weighs an hour later."""

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
"""Of each input what is taken off, and what it is then divided by; prices are over that of the start first."""
PRICES = np.array([PLACE[name] for name in COLUMNS if name.endswith("_price") and name != "gas_price"])
"""The places of the inputs that are told over that of the start."""
_OFF = np.array([[SCALES[name][0]] for name in COLUMNS])
_TIMES = np.array([[1.0 / SCALES[name][1]] for name in COLUMNS])

OWN, ASSET_RETURNS = 12, 9
SIZE = OWN + ASSET_RETURNS + len(COLUMNS)
_WIDE = 10.0


def bounds() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The least and the most that an observation says."""
    low, high = np.full(SIZE, -_WIDE, dtype=np.float32), np.full(SIZE, _WIDE, dtype=np.float32)
    low[:5], high[:5] = 0.0, (1.0, 1.0, 1.0, 1.0, _WIDE)
    low[8] = low[10] = low[11] = 0.0
    return low, high


_LOW, _HIGH = (each[:, None] for each in bounds())


def observed(env: RWAYieldEnv) -> Observations:
    """(rows, SIZE) of all rows."""
    seen = np.empty((SIZE, env.rows))
    columns: dict[str, NDArray[Any]] = env.columns
    config, hours = env.config, env.hours
    value = columns["value"]
    seen[0] = (config.horizon - hours) / config.horizon
    seen[1:4] = env.weights
    np.divide(env.drawdown(), config.stop_drawdown, out=seen[4])
    seen[5] = columns["hourly_return"]
    seen[6] = value / env.value_at(hours - WINDOWS[1]) - 1.0
    seen[7] = value / env.value_at(hours - WINDOWS[2]) - 1.0
    np.sqrt(columns["variance"] * HOURS_PER_YEAR, out=seen[8])
    seen[9] = value * (10.0 / config.initial_capital) - 10.0
    seen[10] = columns["costs"] * (100.0 / config.initial_capital)
    seen[11] = (columns["cost"] + columns["gas"]) * 1_000.0 / value
    now = env.levels
    for at, (window, scale) in enumerate(zip(WINDOWS, WINDOW_SCALES, strict=True)):
        seen[5 + at] *= scale
        returns = seen[OWN + 3 * at : OWN + 3 * at + 3]
        np.divide(now, env.markets.levels_at(hours - window).T, out=returns)
        returns -= 1.0
        returns *= scale
    inputs = seen[OWN + ASSET_RETURNS :]
    inputs[:] = env.markets.inputs_at(hours).T
    inputs[PRICES] /= columns["first_prices"].T
    inputs -= _OFF
    inputs *= _TIMES
    np.clip(seen, _LOW, _HIGH, out=seen)
    told: Observations = seen.T.astype(np.float32, order="C")
    return told


def first_prices(inputs: Floats) -> Floats:
    """Of (rows, 16) inputs at the start, the prices that later ones are told over."""
    prices: Floats = inputs[:, PRICES]
    return prices
