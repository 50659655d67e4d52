"""Units: exact both ways, and never through a float."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import BadInteger
from mayavi.evm.units import RAY, ether, format_units, from_units, gwei, ray, to_units, wad

DECIMALS = st.integers(0, 30)
AMOUNTS = st.integers(-(2**256), 2**256)


@pytest.mark.parametrize(
    ("made", "integer"),
    [
        (ether(1), 10**18),
        (ether("1.5"), 15 * 10**17),
        (ether(Decimal("0.000000000000000001")), 1),
        (ether("-2"), -2 * 10**18),
        (gwei("30.5"), 30_500_000_000),
        (wad("0.05"), 5 * 10**16),
        (ray("1.02"), 102 * RAY // 100),
        (to_units("1_700.25", 6), 1_700_250_000),
        (to_units("1e3", 6), 10**9),
        (to_units("0", 0), 0),
        (to_units(numpy.int64(3), 2), 300),
        (to_units("1.5000", 1), 15),
        (to_units(2**256 - 1, 0), 2**256 - 1),
        (to_units(str(2**256 - 1), 0), 2**256 - 1),
    ],
)
def test_amounts_become_exact_integers(made, integer):
    assert made == integer
    assert type(made) is int


@pytest.mark.parametrize(
    ("amount", "decimals", "why"),
    [
        (0.1, 18, "is a float"),
        (1.0, 18, "is a float"),
        ("1.2345678", 6, "more than the 6 decimal places"),
        ("0.5", 0, "more than the 0 decimal places"),
        ("1,700", 6, "is not a number"),
        ("", 6, "is not a number"),
        ("nan", 6, "not a number of a reasonable size"),
        ("Infinity", 6, "not a number of a reasonable size"),
        ("1e999999999", 18, "not a number of a reasonable size"),
        (True, 18, "of type bool"),
        (None, 18, "of type NoneType"),
    ],
)
def test_what_would_lose_something_is_refused(amount, decimals, why):
    with pytest.raises(BadInteger) as caught:
        to_units(amount, decimals)
    assert why in str(caught.value)


@given(AMOUNTS, DECIMALS)
def test_there_and_back_is_the_identity_whatever_the_decimal_context(amount, decimals):
    with localcontext() as context:
        context.prec = 3
        there = from_units(amount, decimals)
        assert to_units(there, decimals) == amount
        assert to_units(str(there), decimals) == amount


@given(AMOUNTS, DECIMALS)
def test_formatting_without_places_loses_nothing(amount, decimals):
    assert to_units(format_units(amount, decimals).replace(",", ""), decimals) == amount


@given(AMOUNTS, DECIMALS, st.integers(0, 12))
def test_formatting_with_places_rounds_half_to_even(amount, decimals, places):
    with localcontext() as context:
        context.prec = 200
        expected = round(from_units(amount, decimals), places)
    text = format_units(amount, decimals, places)
    assert Decimal(text.replace(",", "")) == expected
    assert len(text.partition(".")[2]) == places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format_units(1_700_250_000, 6), "1,700.25"),
        (format_units(1_700_000_000, 6), "1,700"),
        (format_units(1_700_250_000, 6, 1), "1,700.2"),
        (format_units(1, 18, 2), "0.00"),
        (format_units(-1, 18, 2), "0.00"),
        (format_units(-1_500_000, 6, 2), "-1.50"),
        (format_units(5, 0, 2), "5.00"),
        (format_units(0, 18), "0"),
    ],
)
def test_formatted_amounts_read_well(text, expected):
    assert text == expected


@pytest.mark.parametrize("decimals", [-1, 6.0, "6", None, True])
def test_a_number_of_decimals_is_whole_and_not_negative(decimals: object) -> None:
    with pytest.raises(BadInteger, match="decimals"):
        to_units("1700", decimals)
