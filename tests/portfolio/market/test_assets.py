"""What an hour makes of each asset: worked out a second time by hand, and by nothing that comes later."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mayavi.errors import BadArgument
from mayavi.numerics.streams import stream
from mayavi.portfolio.market.assets import (
    DOMINANCE_MEAN,
    MI4_DOLLARS,
    MI4_REBALANCE_HOURS,
    MI4_WEIGHTS,
    growth,
    mi4_weights,
    trade_gas_usd,
)
from mayavi.portfolio.market.data import ASSETS, COLUMNS, INPUTS, PLACE
from mayavi.portfolio.market.model import RWAModel

USDY, METH, MI4 = range(3)
HOURS = 2 * MI4_REBALANCE_HOURS + 100


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return RWAModel().draw([stream(5, "market", str(path)) for path in range(3)], HOURS).values


def at(values: np.ndarray, path: int, hour: int, column: str) -> float:
    return float(values[path, hour, PLACE[column]])


def moved(values: np.ndarray, column: str, hour: int, factor: float = 1.01) -> np.ndarray:
    other = values.copy()
    other[:, hour, PLACE[column]] *= factor
    return other


def hour_of(apy: float) -> float:
    return (1 + apy / 100) ** (1 / 8760)


def test_mi4_has_the_shares_it_says() -> None:
    assert MI4_WEIGHTS == {"btc_price": 0.5, "eth_price": 0.265, "sol_price": 0.085}
    assert sum(MI4_WEIGHTS.values()) + MI4_DOLLARS == pytest.approx(1)


@pytest.mark.parametrize("first_hour", [0, 100, MI4_REBALANCE_HOURS - 1])
def test_mi4_grows_as_the_coins_it_holds(values: np.ndarray, first_hour: int) -> None:
    """By counting coins: bought at a rebalance, kept to the next, valued every hour."""
    found = growth(values, first_hour=first_hour)[:, :, MI4]
    for path in range(len(values)):
        cash, coins, worth = 0.0, {}, 1.0
        for hour in range(HOURS):
            if hour == 0 or (first_hour + hour) % MI4_REBALANCE_HOURS == 0:
                dominance = at(values, path, hour, "btc_dominance")
                lean = min(max(0.5 * (dominance / DOMINANCE_MEAN - 1), -0.2), 0.2)
                btc = 0.5 * (1 + lean)
                others = (1 - btc) / 0.5
                shares = {"btc_price": btc, "eth_price": 0.265 * others, "sol_price": 0.085 * others}
                cash = worth * 0.15 * others
                coins = {name: worth * share / at(values, path, hour, name) for name, share in shares.items()}
                assert cash + sum(n * at(values, path, hour, c) for c, n in coins.items()) == pytest.approx(worth)
            after = cash + sum(count * at(values, path, hour + 1, name) for name, count in coins.items())
            factor = after / worth * hour_of(at(values, path, hour, "mi4_apy"))
            assert found[path, hour] == pytest.approx(factor, rel=1e-12)
            worth = after


def test_usdy_earns_its_yields_and_moves_with_its_peg(values: np.ndarray) -> None:
    found = growth(values, lent_share=0.3)[:, :, USDY]
    for hour in (0, 17, HOURS - 1):
        peg = at(values, 1, hour + 1, "usdy_peg") / at(values, 1, hour, "usdy_peg")
        lent = hour_of(at(values, 1, hour, "aave_usdy_apy")) ** 0.3
        assert found[1, hour] == pytest.approx(peg * lent * hour_of(at(values, 1, hour, "usdy_apy")), rel=1e-13)


def test_meth_earns_its_yields_and_moves_with_eth_and_its_peg(values: np.ndarray) -> None:
    found = growth(values, lent_share=0.3)[:, :, METH]
    for hour in (0, 17, HOURS - 1):
        peg = at(values, 1, hour + 1, "meth_peg") / at(values, 1, hour, "meth_peg")
        eth = at(values, 1, hour + 1, "eth_price") / at(values, 1, hour, "eth_price")
        lent = hour_of(at(values, 1, hour, "aave_meth_apy")) ** 0.3
        assert found[1, hour] == pytest.approx(eth * peg * lent * hour_of(at(values, 1, hour, "meth_apy")), rel=1e-13)


def test_a_depeg_hits_what_is_held(values: np.ndarray) -> None:
    fallen = moved(values, "usdy_peg", 50, 0.9)
    was, now = growth(values), growth(fallen)
    assert now[:, 49, USDY] == pytest.approx(0.9 * was[:, 49, USDY])
    assert now[:, 50, USDY] == pytest.approx(was[:, 50, USDY] / 0.9)


MOVES = {
    "usdy_apy": {USDY},
    "meth_apy": {METH},
    "mi4_apy": {MI4},
    "eth_price": {METH, MI4},
    "btc_price": {MI4},
    "sol_price": {MI4},
    "btc_dominance": {MI4},
    "usdy_peg": {USDY},
    "meth_peg": {METH},
    "aave_usdy_apy": {USDY},
    "aave_meth_apy": {METH},
    "gas_price": set(),
    "mnt_price": set(),
    "fed_rate": set(),  # it moves what other hours' yields are: tests/portfolio/market/test_model.py
    "eth_vol": set(),  # the size of the next moves
    "usdy_vol": set(),  # the size of the next moves of the peg
}


@pytest.mark.parametrize("column", COLUMNS)
def test_an_input_moves_what_it_should_and_nothing_else(values: np.ndarray, column: str) -> None:
    """One input of one hour, at a rebalance of MI4, one percent higher."""
    assert set(MOVES) == set(COLUMNS) >= set(INPUTS)
    hour = MI4_REBALANCE_HOURS
    was, now = growth(values), growth(moved(values, column, hour))
    changed = {asset for asset in range(len(ASSETS)) if (was[:, :, asset] != now[:, :, asset]).any()}
    assert changed == MOVES[column]
    costs = (trade_gas_usd(values) != trade_gas_usd(moved(values, column, hour))).any(axis=0)
    assert set(np.flatnonzero(costs)) == ({hour} if column in ("gas_price", "mnt_price") else set())


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("hour", [1, 300, MI4_REBALANCE_HOURS, HOURS])
def test_growth_up_to_an_hour_knows_nothing_of_later_ones(values: np.ndarray, column: str, hour: int) -> None:
    """What is held from t to t + 1 earns by the hours up to t + 1: a move at `hour` is earned from `hour` - 1 on."""
    was, now = growth(values), growth(moved(values, column, hour))
    assert was[:, : hour - 1].tobytes() == now[:, : hour - 1].tobytes()
    if column.endswith("_apy") or column == "btc_dominance":  # known at t, earned from t on
        assert was[:, :hour].tobytes() == now[:, :hour].tobytes()


def test_later_hours_can_be_shuffled(values: np.ndarray) -> None:
    order = np.concatenate((np.arange(401), 401 + np.random.default_rng(1).permutation(HOURS - 400)))
    shuffled = values[:, order]
    assert growth(shuffled)[:, :400].tobytes() == growth(values)[:, :400].tobytes()
    assert trade_gas_usd(shuffled)[:, :401].tobytes() == trade_gas_usd(values)[:, :401].tobytes()


def test_a_path_grows_as_it_does_alone(values: np.ndarray) -> None:
    many = np.concatenate([values] * 9)
    assert growth(many)[13].tobytes() == growth(values[1:2])[0].tobytes()


def test_dominance_leans_mi4_within_a_band() -> None:
    share, others = mi4_weights(np.array([DOMINANCE_MEAN, 1.1 * DOMINANCE_MEAN, 1.0, 99.0]))
    assert share == pytest.approx([0.5, 0.525, 0.4, 0.6])
    assert share + others * (0.265 + 0.085 + 0.15) == pytest.approx(1)


def test_gas_is_what_the_units_cost(values: np.ndarray) -> None:
    expected = 4e9 * at(values, 2, 9, "gas_price") * 1e-9 * at(values, 2, 9, "mnt_price")
    assert trade_gas_usd(values)[2, 9] == pytest.approx(expected)
    assert 0.001 < expected < 1


@pytest.mark.parametrize("lent_share", [-0.1, 1.1, math.nan])
def test_a_share_is_a_share(values: np.ndarray, lent_share: float) -> None:
    with pytest.raises(BadArgument, match="lent_share"):
        growth(values, lent_share)


def test_what_is_no_market_is_refused() -> None:
    with pytest.raises(BadArgument, match="shape"):
        growth(np.ones((2, 5, 3)))
