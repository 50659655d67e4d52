"""Several assets in one place: shares or amounts, never both."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mayavi.scenarios.models.values.mixes import Mix, TokenOrMix
from mayavi.scenarios.models.values.quantities import Asset

ADAPTER: TypeAdapter[Any] = TypeAdapter(TokenOrMix)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("WETH", Asset("WETH", None)),
        ("1_700 USDC", Asset("USDC", Decimal(1700))),
        ({"WETH": "60%", "WBTC": "40 %"}, Mix({"WETH": Decimal("0.6"), "WBTC": Decimal("0.4")}, True)),
        ({"WETH": 2, "USDC.e": Decimal("1000.5")}, Mix({"WETH": Decimal(2), "USDC.e": Decimal("1000.5")}, False)),
        ({"1INCH": "1_000"}, Mix({"1INCH": Decimal(1000)}, False)),
    ],
)
def test_what_people_write_is_read_exactly_and_written_back(written: object, value: object) -> None:
    read = ADAPTER.validate_python(written)
    assert read == value
    assert ADAPTER.validate_python(ADAPTER.dump_python(read)) == value


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({}, "names no asset"),
        ({"WETH": "60%", "WBTC": "30%"}, "shares that add up to 90%, not to 100%"),
        ({"WETH": "60%", "WBTC": 2}, "mixes shares and amounts"),
        ({"WETH": 1, "WBTC": 0}, "gives WBTC 0, and an amount or share is above zero"),
        ({"WETH": "110%", "WBTC": "-10%"}, "gives WBTC -10%"),
        ({"WETH": "much"}, "gives WETH what is 'much', not an amount"),
        ({"1 WETH": 5}, "names '1 WETH', which is not a token"),
        (7, "not a token such as WETH"),
    ],
)
def test_what_makes_no_sense_is_refused(written: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ADAPTER.validate_python(written)
