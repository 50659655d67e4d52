"""Quantities as people write them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mayavi.scenarios.models.values import quantities as q


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (q.Ratio, "-25%", Decimal("-0.25")),
        (q.Ratio, "0.5 %", Decimal("0.005")),
        (q.Ratio, Decimal("0.3"), Decimal("0.3")),
        (q.Ratio, 0.1, Decimal("0.1")),
        (q.Positive, "1_700.5", Decimal("1700.5")),
        (q.TokenOrAmount, "WETH", q.Asset("WETH", None)),
        (q.TokenOrAmount, "USDC.e", q.Asset("USDC.e", None)),
        (q.TokenOrAmount, "1_700 USDC", q.Asset("USDC", Decimal(1700))),
        (q.TokenOrAmount, "1,700.25 USDC.e", q.Asset("USDC.e", Decimal("1700.25"))),
        (q.TokenOrAmount, "0.5 1INCH", q.Asset("1INCH", Decimal("0.5"))),
        (q.TokenOrAmount, "1INCH", q.Asset("1INCH", None)),
        (q.Seconds, "1h", 3600),
        (q.Seconds, "1.5 h", 5400),
        (q.Seconds, "4y", 4 * 365 * 86400),
        (q.Seconds, 90, 90),
        (q.Seconds, "5 minutes", 300),
        (q.Seconds, "1 minute", 60),
        (q.Seconds, "1 hour", 3600),
        (q.Seconds, "2.5 Hours", 9000),
        (q.Seconds, "30 seconds", 30),
        (q.Seconds, "10 mins", 600),
        (q.Seconds, "7 days", 7 * 86400),
        (q.Seconds, "2 weeks", 14 * 86400),
        (q.Seconds, "1 year", 365 * 86400),
        (q.Wei, "20 gwei", 20 * 10**9),
        (q.Wei, "0.1gwei", 10**8),
        (q.Wei, 0, 0),
    ],
)
def test_what_people_write_is_read_exactly(kind: Any, written: object, value: object) -> None:
    assert TypeAdapter(kind).validate_python(written) == value


@pytest.mark.parametrize(
    ("kind", "written", "message"),
    [
        (q.Ratio, "a lot", "is 'a lot', not a number or a percentage"),
        (q.Ratio, "x%", "not a percentage such as -25%"),
        (q.Ratio, True, "is 'true', not a number"),
        (q.Ratio, "nan", "not a number or a percentage such as -25% of a reasonable size"),
        (q.Ratio, "1e99", "of a reasonable size"),
        (q.Share, "120%", "from 0 to 1"),
        (q.Move, "-100%", "a price cannot fall by all of it"),
        (q.Positive, 0, "must be above zero"),
        (q.NotNegative, -5, "must not be below zero"),
        (q.TokenOrAmount, "-5 WETH", "an amount is not below zero"),
        (q.TokenOrAmount, 17, "not a token such as WETH"),
        (q.TokenOrAmount, "1 2 WETH", "not a token such as WETH"),
        (q.TokenAmount, "WETH", "without a number"),
        (q.Seconds, "3 moons", "'moons' is not a unit of time"),
        (q.Seconds, "-1h", "not below zero"),
        (q.Seconds, "0.5s", "not a whole number of seconds"),
        (q.Wei, 20, "without a unit"),
        (q.Wei, "20 zwei", "'zwei' is not a unit of it"),
        (q.Wei, "0.5 wei", "not a whole number of wei"),
    ],
)
def test_what_makes_no_sense_says_why(kind: Any, written: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(written)
    assert message in caught.value.errors()[0]["msg"]


@pytest.mark.parametrize("written", ["5 minutes", "30 seconds", "1 hour", "90s", "2.5 h", "7 days", "1 year"])
def test_editors_accept_the_durations_that_are_understood(written: str) -> None:
    import re

    schema = TypeAdapter(q.Seconds).json_schema()
    pattern = next(each["pattern"] for each in schema["anyOf"] if each["type"] == "string")
    assert re.search(pattern, written)
    assert not re.search(pattern, "5 moons")
