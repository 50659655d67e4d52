"""A market is checked when it is made, and what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import BadArgument, BadSeries, UnknownKey
from mayavi.numerics.streams import stream
from mayavi.portfolio.market.data import ASSETS, COLUMNS, INPUTS, PLACE, RWAMarket
from mayavi.portfolio.market.model import RWAModel


def some_values(hours: int = 30) -> np.ndarray:
    return RWAModel().draw([stream(1, "a"), stream(1, "b")], hours).values.copy()


def test_the_names_are_these() -> None:
    assert ASSETS == ("usdy", "meth", "mi4")
    assert len(INPUTS) == 15
    assert (*INPUTS, "sol_price") == COLUMNS


def test_a_column_is_found_by_name() -> None:
    market = RWAMarket(None, some_values())
    assert market.paths == 2
    assert market.hours == 30
    assert market.column("eth_price").shape == (2, 31)
    assert market.column("eth_price")[0, 0] == 3000
    with pytest.raises(UnknownKey, match="unknown column 'eth_prize'") as error:
        market.column("eth_prize")
    assert "did you mean 'eth_price'" in str(error.value.hint)


def test_values_cannot_be_written_to() -> None:
    market = RWAMarket(None, some_values())
    with pytest.raises(ValueError, match="read-only"):
        market.values[0, 0, 0] = 1.0


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("eth_price", np.nan, "eth_price at hour 7 of 'simulated', 'nan', is not a number"),
        ("gas_price", np.inf, "gas_price at hour 7 of 'simulated', 'inf', is not a number"),
        ("btc_price", -1.0, "btc_price at hour 7 of 'simulated', '-1.0', is not above zero"),
        ("usdy_peg", 0.0, "usdy_peg at hour 7 of 'simulated', '0.0', is not above zero"),
        ("eth_vol", -0.1, "eth_vol at hour 7 of 'simulated', '-0.1', is negative"),
        ("btc_dominance", 101.0, "btc_dominance at hour 7 of 'simulated', '101.0', is not a valid share"),
        ("meth_apy", -100.0, "meth_apy at hour 7 of 'simulated', '-100.0', is not a valid rate"),
    ],
)
def test_a_value_that_cannot_be_is_named(column: str, value: float, told: str) -> None:
    values = some_values()
    values[1, 7, PLACE[column]] = value
    with pytest.raises(BadArgument) as error:
        RWAMarket(None, values)
    assert str(error.value) == told
    assert error.value.hint


@pytest.mark.parametrize("shape", [(2, 31), (2, 31, 15), (0, 31, 16), (2, 1, 16)])
def test_a_shape_that_cannot_be_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadArgument):
        RWAMarket(None, np.ones(shape))


def test_each_hour_has_one_time() -> None:
    with pytest.raises(BadArgument, match="there are 5 times for 31 hours"):
        RWAMarket(np.arange(5.0), some_values())


def test_the_digest_is_of_every_bit() -> None:
    values = some_values()
    one = RWAMarket(None, values.copy()).digest
    assert one == RWAMarket(None, values.copy()).digest
    values[1, 30, 15] = np.nextafter(values[1, 30, 15], np.inf)
    assert one != RWAMarket(None, values).digest
    assert one != RWAMarket(np.arange(31.0), some_values()).digest


def test_a_historical_market_is_split_by_time() -> None:
    market = RWAMarket(3600.0 * np.arange(31), some_values()[:1], "a.csv")
    train, test = market.between(end=36_000), market.between("1970-01-01T10:00:00Z")
    assert (train.hours, test.hours) == (10, 20)
    assert train.values[0, -1].tolist() == test.values[0, 0].tolist() == market.values[0, 10].tolist()
    assert (train.first_hour, test.first_hour) == (0, 10)
    with pytest.raises(BadSeries, match=r"'a\.csv' has no two hours"):
        market.between("1980-01-01")
    with pytest.raises(BadArgument, match="begin 'soon' is not a valid time"):
        market.between("soon")
    with pytest.raises(BadArgument, match="a drawn market has no times"):
        RWAMarket(None, some_values()).between(0)
