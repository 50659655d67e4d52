"""The record of a launch: its form, what is refused, and that a replay gives what was recorded."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from mayavi.errors import BadSeries
from mayavi.scenarios.models.agents.launch_record import read_launch
from mayavi.scenarios.registry import LIBRARY
from tests.scenarios.play import play

HEAD = "time,event,account,token,quote,low,high\n"
GOOD = HEAD + (
    "# a comment\n0,create,dev,,0.5,,\n0,add,dev,1000,500,,\n0,hold,team,50,,,\n5,buy,ann,19.7,10,,\n9,sell,ann,3,,,\n"
)


def test_a_record_is_read_from_csv_and_from_json_alike() -> None:
    record = read_launch(GOOD)
    assert (record.price, record.creator) == (Decimal("0.5"), "dev")
    assert record.holdings == {"team": Decimal(50)}
    assert [(each.seconds, each.event, each.account, each.token, each.quote) for each in record.trades] == [
        (5, "buy", "ann", Decimal("19.7"), Decimal(10)),
        (9, "sell", "ann", Decimal(3), None),
    ]
    rows = [line.split(",") for line in GOOD.splitlines() if not line.startswith("#")]
    objects = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    from_json = read_launch(json.dumps(objects))
    assert [each._replace(line=0) for each in from_json.trades] == [each._replace(line=0) for each in record.trades]


def test_times_may_be_moments_or_seconds_since_1970() -> None:
    moments = GOOD.replace("\n0,", "\n2024-04-02T08:00:00Z,").replace("\n5,", "\n2024-04-02T08:00:05Z,")
    moments = moments.replace("\n9,", "\n2024-04-02T10:00:09+02:00,")
    assert [each.seconds for each in read_launch(moments).trades] == [5, 9]
    since_1970 = GOOD.replace("\n0,", "\n1712044800,").replace("\n5,", "\n1712044805,").replace("\n9,", "\n1712044809,")
    assert [each.seconds for each in read_launch(since_1970).trades] == [5, 9]


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (GOOD, "", "is empty", ""),
        ("time,event", "time,evnt", "has a column 'evnt'", "did you mean 'event'?"),
        ("account,token", "token,quote", "has no column 'account'", ""),
        ("5,buy", "5,bye", "line 6: unknown event 'bye'", "did you mean 'buy'?"),
        ("9,sell", "4,sell", "line 7: its time is before the one above", "sort the rows"),
        ("5,buy,ann,19.7,10", "5,buy,ann,19.7,-10", "line 6: quote is -10", ""),
        ("5,buy,ann,19.7,10", "5,buy,ann,19.7,", "line 6: 'buy' needs an amount above zero in the column 'quote'", ""),
        ("9,sell,ann,3", "9,sell,ann,0", "line 7: 'sell' needs an amount above zero", ""),
        ("5,buy,ann", "5,buy,", "line 6: the account is missing", ""),
        ("5,buy", "soon,buy", "line 6: 'soon' is not a time", ""),
        ("5,buy", "nan,buy", "line 6: 'nan' is not a time", ""),
        ("0,create,dev,,0.5,,\n", "", "does not begin with the creation", ""),
        ("0,add,dev,1000,500,,\n", "", "puts no liquidity", ""),
        ("9,sell,ann,3,,,", "9,create,ann,,3,,", "line 7: the pool is created a second time", ""),
        ("0,add,dev,1000,500,,", "0,add,dev,1000,500,2,1", "'low' is not below 'high'", ""),
        ("0,add,dev,1000,500,,", "0,add,dev,1000,500,2,", "one of 'low' and 'high' is missing", ""),
        ("5,buy,ann,19.7,10,,\n9,sell,ann,3,,,\n", "", "has no buys and no sells", ""),
        ("9,sell,ann,3,,,", "9,sell,ann,3,,,,,", "line 7: 9 values for 7 columns", ""),
    ],
)
def test_a_record_that_makes_no_sense_says_where(old: str, new: str, message: str, hint: str) -> None:
    assert old in GOOD
    with pytest.raises(BadSeries) as caught:
        read_launch(GOOD.replace(old, new), "launch.csv")
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_the_example_replayed_gives_what_was_recorded_to_the_wei() -> None:
    record = read_launch((LIBRARY / "launch_example.csv").read_text(encoding="utf-8"))
    played = play("launch_replay")
    assert played.kpis["trades_on_record"] == len(record.trades)
    assert played.kpis["largest_difference_from_record"] == 0
    trades = [row for row in played.actions if row.agent == "launch"]
    assert [row.account for row in trades] == [f"launch-{entry.account}" for entry in record.trades]
    assert [row.step for row in trades] == [entry.seconds // 60 for entry in record.trades]


def test_half_the_liquidity_moves_the_price_further_and_pays_sellers_otherwise() -> None:
    as_it_was = play("launch_replay", steps=15)
    thin = play("launch_replay", steps=15, overrides=["agents.launch.liquidity_factor=0.5"])
    impact = "price_impact.NOVA/WETH.10000"
    assert thin.kpis[impact] > as_it_was.kpis[impact] > 0  # mostly buys in the first quarter of an hour
    assert thin.kpis["largest_difference_from_record"] > 0


def test_an_unlock_that_was_not_on_record_lowers_what_others_get() -> None:
    unlock = "agents.team={kind: vesting, token: 5_000_000 NOVA, pool: NOVA/WETH.10000, cliff: 10m}"
    impact = "price_impact.NOVA/WETH.10000"
    assert play("launch_replay", overrides=[unlock]).kpis[impact] < play("launch_replay").kpis[impact]
