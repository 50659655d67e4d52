"""Records of liquidations and balances: what is read, and what is refused with line and reason."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.errors import BadScenario, BadSeries
from mayavi.scenarios.loading import load_text
from mayavi.scenarios.models.agents.recorded import read_balances, read_calls

HEADER = "time,liquidator,borrower,collateral,debt,repaid,seized"
SCENARIO = """
name: x
chain: ethereum
steps: 2
step_time: 1h
agents:
  bots: {{kind: recorded_liquidations, {source}}}
"""


def test_a_record_of_liquidations_is_read_exactly() -> None:
    first, second = read_calls(f"# comment\n{HEADER}\n0,a,b,USDC,CRV,1.5,2\n12,a,b,USDC,CRV,3,\n", "r")
    assert (first.seconds, first.liquidator, first.repaid, first.seized) == (0, "a", Decimal("1.5"), Decimal(2))
    assert (second.seconds, second.seized) == (12, None)


def test_a_record_of_balances_has_a_column_for_each_coin() -> None:
    (row,) = read_balances("time,WETH,stETH\n60,10,20.5\n", "r")
    assert (row.seconds, row.balances) == (60, {"WETH": Decimal(10), "stETH": Decimal("20.5")})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows"),
        (HEADER, "has no rows"),
        ("time,who\n1,a", "has the columns time, who"),
        (f"{HEADER}\n0,a,b,USDC,CRV,1", "line 2: 6 cells where the header has 7"),
        (f"{HEADER}\nnoon,a,b,USDC,CRV,1,1", "line 2: the time is 'noon'"),
        (f"{HEADER}\n0,a,,USDC,CRV,1,1", "line 2: a cell is empty"),
        (f"{HEADER}\n0,a,b,USDC,CRV,much,1", "line 2: repaid is 'much'"),
        (f"{HEADER}\n0,a,b,USDC,CRV,-1,1", "line 2: repaid is '-1'"),
        (f"{HEADER}\n12,a,b,USDC,CRV,1,1\n0,a,b,USDC,CRV,1,1", "line 3: its time is before"),
    ],
)
def test_a_bad_record_of_liquidations_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadSeries) as found:
        read_calls(text, "the record")
    assert message in found.value.message


def test_a_bad_record_of_balances_is_refused() -> None:
    with pytest.raises(BadSeries, match="has the columns"):
        read_balances("WETH,stETH\n1,2", "the record")


def test_a_record_comes_from_one_place() -> None:
    for source in ("protocol: aave_v2", "file: a.csv, data: x"):
        with pytest.raises(BadScenario, match="one of the two"):
            load_text(SCENARIO.format(source=source))


def test_an_error_of_the_record_is_an_error_of_the_scenario() -> None:
    with pytest.raises(BadScenario, match="has no rows"):
        load_text(SCENARIO.format(source='data: "time"'))
