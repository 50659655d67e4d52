"""What an hour makes of USDY, mETH and MI4, and what it costs to trade them: pure functions of the market.

The value held from t to t + 1 depends on the inputs at t and t + 1, and, for MI4, on the prices at its last rebalance:
nothing of later hours is read.
"""

from __future__ import annotations

import numpy as np

from mayavi.errors import BadArgument
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.numerics.parameters import finite, whole
from mayavi.portfolio.market.data import ASSETS, COLUMNS, HOURS_PER_YEAR, PLACE

MI4_WEIGHTS = {"btc_price": 0.5, "eth_price": 0.265, "sol_price": 0.085}
"""The shares of MI4's value at a rebalance, where BTC's dominance is at its mean; the rest, 15 %, is dollars."""

MI4_DOLLARS = 0.15

MI4_REBALANCE_HOURS = 720
"""MI4 goes back to its shares at hours that this divides, counted from `first_hour`, and at the first hour there is."""

DOMINANCE_MEAN = 55.0
"""Percent of the whole market's worth that BTC is when it has its 50 % of MI4."""

DOMINANCE_TILT = 0.5
"""How much BTC's share follows: a dominance 10 % above its mean makes the share 5 % greater."""

DOMINANCE_BAND = 0.2
"""BTC's share moves by at most a fifth of itself."""

LENT_SHARE = 0.5

TRADE_GAS = 4_000_000_000
"""Gas units of a rebalance on Mantle, whose units are small: three swaps, and Aave deposits and withdrawals."""

_GWEI = 1e-9


def growth(values: Floats, lent_share: float = LENT_SHARE, first_hour: int = 0) -> Floats:
    """(paths, hours, 3) gross factors: what a dollar in each of `ASSETS` at t is at t + 1.

    USDY earns `usdy_apy` and moves with its peg; mETH earns `meth_apy` and moves with ETH and its peg; MI4 is its
    basket, and earns `mi4_apy`. The part `lent_share` of USDY and of mETH is supplied to Aave, where it earns
    `aave_usdy_apy` and `aave_meth_apy` besides. `first_hour` is the number of the first hour, since 1970 in a
    historical market: MI4's schedule counts from it.
    """
    check_values(values)
    if not 0 <= finite("lent_share", lent_share, "0.5 lends half of it") <= 1:
        raise BadArgument(f"lent_share '{lent_share}' is no share", "it is from 0 to 1: 0.5 lends half of it")
    paths, hours = values.shape[0], values.shape[1] - 1
    factors = np.empty((paths, hours, len(ASSETS)))
    for begin in range(0, paths, _CHUNK):  # what fits into a cache is worked on there
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
    """BTC's share of MI4 at a rebalance, and the factor by which all other shares differ from those at the mean."""
    usual = MI4_WEIGHTS["btc_price"]
    lean = DOMINANCE_TILT * (btc_dominance / DOMINANCE_MEAN - 1.0)
    share: Floats = usual * (1.0 + np.clip(lean, -DOMINANCE_BAND, DOMINANCE_BAND))
    return share, (1.0 - share) / (1.0 - usual)


def trade_gas_usd(values: Floats) -> Floats:
    """(paths, hours + 1) dollars of gas that a rebalance of the portfolio costs at each hour."""
    check_values(values)
    cost: Floats = TRADE_GAS * _GWEI * values[:, :, PLACE["gas_price"]] * values[:, :, PLACE["mnt_price"]]
    return cost


def check_values(values: Floats) -> None:
    """Refuses what is no array of a market's values."""
    if values.ndim != 3 or values.shape[2] != len(COLUMNS) or values.shape[1] < 2:
        raise BadArgument(
            f"the values of a market have the shape {values.shape}",
            f"paths × hours × {len(COLUMNS)}, at least two hours",
        )


_CHUNK = 16


def _ratio(level: Floats) -> Floats:
    moved: Floats = level[:, 1:] / level[:, :-1]
    return moved


def _accrual(apy: Floats, lending_apy: Floats | None = None, lent: float = 0.0) -> Floats:
    """What the yields known at t add by t + 1: (1 + apy) to the power of an hour of a year, of each."""
    rate = portable.log(1.0 + apy[:, :-1] * 0.01)
    if lending_apy is not None and lent:
        rate = rate + lent * portable.log(1.0 + lending_apy[:, :-1] * 0.01)
    rate = rate * (1.0 / HOURS_PER_YEAR)
    factor: Floats = 1.0 + rate * (1.0 + rate * (0.5 + rate * (1.0 / 6.0)))  # exp, of what is near 1e-5
    return factor


def _basket(column: dict[str, Floats], first_hour: int) -> Floats:
    """MI4 without its yield: shares of value set at a rebalance, amounts kept until the next."""
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
