"""Hourly growth of USDY, mETH and MI4, and the gas cost of trading them: pure functions of the market.

Growth from t to t + 1 depends on the inputs at t and t + 1 and, for MI4, on the prices at its last rebalance. Later
hours are never read.
"""

from __future__ import annotations

import numpy as np

from mayavi.errors import BadArgument
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.numerics.parameters import finite, whole
from mayavi.portfolio.market.data import ASSETS, COLUMNS, HOURS_PER_YEAR, PLACE

MI4_WEIGHTS = {"btc_price": 0.5, "eth_price": 0.265, "sol_price": 0.085}
"""Weights of MI4 at a rebalance while BTC's dominance is at its mean; the remaining 15 % are dollars."""

MI4_DOLLARS = 0.15

MI4_REBALANCE_HOURS = 720
"""Hours between rebalancings of MI4, counted from `first_hour`; it also rebalances at the first hour of the data."""

DOMINANCE_MEAN = 55.0
"""BTC dominance, in percent, at which BTC's weight in MI4 is 50 %."""

DOMINANCE_TILT = 0.5
"""Response of BTC's weight to its dominance: a dominance 10 % above the mean raises the weight by 5 %."""

DOMINANCE_BAND = 0.2
"""Largest relative change of BTC's weight."""

LENT_SHARE = 0.5

TRADE_GAS = 4_000_000_000
"""Gas units of a rebalance on Mantle: three swaps, Aave deposits and withdrawals."""

_GWEI = 1e-9


def growth(values: Floats, lent_share: float = LENT_SHARE, first_hour: int = 0) -> Floats:
    """Gross growth factors of each of `ASSETS` from t to t + 1, of shape (paths, hours, 3).

    USDY earns `usdy_apy` and moves with its peg; mETH earns `meth_apy` and moves with ETH and its peg; MI4 moves with
    its basket and earns `mi4_apy`. The share `lent_share` of USDY and mETH is supplied to Aave and earns
    `aave_usdy_apy` and `aave_meth_apy` in addition. `first_hour` is the number of the first hour, counted from 1970
    in a historical market; MI4's rebalancing schedule depends on it.
    """
    check_values(values)
    if not 0 <= finite("lent_share", lent_share, "0.5 lends half of it") <= 1:
        raise BadArgument(f"lent_share '{lent_share}' is not a valid share", "it is from 0 to 1: 0.5 lends half of it")
    paths, hours = values.shape[0], values.shape[1] - 1
    factors = np.empty((paths, hours, len(ASSETS)))
    for begin in range(0, paths, _CHUNK):  # chunks that fit into the cache
        some = np.ascontiguousarray(values[begin : begin + _CHUNK].transpose(2, 0, 1))
        out = factors[begin : begin + _CHUNK]
        column = dict(zip(COLUMNS, some, strict=True))
        lent = lent_share
        out[:, :, 0] = _ratio(column["usdy_peg"]) * _accrual(column["usdy_apy"], column["aave_usdy_apy"], lent)
        out[:, :, 1] = _ratio(column["eth_price"] * column["meth_peg"]) * _accrual(
            column["meth_apy"], column["aave_meth_apy"], lent
        )
        out[:, :, 2] = _basket(column, first_hour) * _accrual(column["mi4_apy"])
    return factors


def mi4_weights(btc_dominance: Floats) -> tuple[Floats, Floats]:
    """BTC's weight in MI4 at a rebalance, and the factor that scales all other weights."""
    usual = MI4_WEIGHTS["btc_price"]
    lean = DOMINANCE_TILT * (btc_dominance / DOMINANCE_MEAN - 1.0)
    share: Floats = usual * (1.0 + np.clip(lean, -DOMINANCE_BAND, DOMINANCE_BAND))
    return share, (1.0 - share) / (1.0 - usual)


def trade_gas_usd(values: Floats) -> Floats:
    """Gas cost of a portfolio rebalance at each hour, in dollars, of shape (paths, hours + 1)."""
    check_values(values)
    cost: Floats = TRADE_GAS * _GWEI * values[:, :, PLACE["gas_price"]] * values[:, :, PLACE["mnt_price"]]
    return cost


def check_values(values: Floats) -> None:
    """Raise `BadArgument` unless `values` has the shape of a market."""
    if values.ndim != 3 or values.shape[2] != len(COLUMNS) or values.shape[1] < 2:
        raise BadArgument(
            f"the values of a market have the shape {values.shape}",
            f"paths × hours × {len(COLUMNS)}, at least two hours",
        )


_CHUNK = 16


def _ratio(level: Floats) -> Floats:
    factors: Floats = level[:, 1:] / level[:, :-1]
    return factors


def _accrual(apy: Floats, lending_apy: Floats | None = None, lent: float = 0.0) -> Floats:
    """Growth factor by yields known at t: (1 + apy) to the power of one hour in years."""
    rate = portable.log(1.0 + apy[:, :-1] * 0.01)
    if lending_apy is not None and lent:
        rate = rate + lent * portable.log(1.0 + lending_apy[:, :-1] * 0.01)
    rate = rate * (1.0 / HOURS_PER_YEAR)
    factor: Floats = 1.0 + rate * (1.0 + rate * (0.5 + rate * (1.0 / 6.0)))  # exp by its series: rates are about 1e-5
    return factor


def _basket(column: dict[str, Floats], first_hour: int) -> Floats:
    """Growth of MI4 without its yield: weights are set at a rebalance, amounts kept until the next."""
    first = whole("first_hour", first_hour, 0, "hours count from 0")
    dominance = column["btc_dominance"]
    hours = dominance.shape[1] - 1
    factors = np.empty((len(dominance), hours))
    begin = 0
    while begin < hours:
        end = min(hours, begin + MI4_REBALANCE_HOURS - (first + begin) % MI4_REBALANCE_HOURS)
        btc_share, others = mi4_weights(dominance[:, begin])
        worth = np.repeat((MI4_DOLLARS * others)[:, None], end - begin + 1, axis=1)
        for name, usual in MI4_WEIGHTS.items():
            share = btc_share if name == "btc_price" else usual * others
            amount = share / column[name][:, begin]  # for a dollar at the rebalance
            worth += amount[:, None] * column[name][:, begin : end + 1]
        factors[:, begin:end] = _ratio(worth)
        begin = end
    return factors
