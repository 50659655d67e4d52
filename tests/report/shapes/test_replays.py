"""Pages of replayed history and of incidents: what differs is named, what is exact is counted."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mayavi.errors import StoreUnreadable, UsageError
from mayavi.replay.history.store import HistoryStore
from mayavi.report.registry import find
from mayavi.report.render import render
from mayavi.report.shapes.replays.history import history_page
from mayavi.report.shapes.replays.incident import incident_page
from mayavi.report.shapes.replays.incident_accuracy import compared_amounts
from tests.report.shapes.page_texts import cells, has_section, tables, tile

GENESIS = "0x" + "00" * 32
KEY = (1, GENESIS, "", "touched")


def block(number: int, *, exact: bool = True, field: str | None = None) -> tuple[Any, ...]:
    wrong = (0, "0x" + "cd" * 32, field, "21000", "21001") if not exact else (None,) * 5
    head = (number, f"0x{number:064x}", "shanghai", 1_700_000_000 + 12 * number, 2, 2, 42_000 + number, exact, 9)
    return (*KEY, *head, "prestate tracer", 0.1, 0 if exact else 1, *wrong, None)


@pytest.fixture
def scanned(tmp_path: Path) -> Path:
    """A database of 40 blocks of which three differ: two in gas, one in a log."""
    path = tmp_path / "history.duckdb"
    HistoryStore(path).close()
    wrong = {7: "gas used", 9: "gas used", 30: "logs"}
    blocks = [block(number, exact=number not in wrong, field=wrong.get(number)) for number in range(40)]
    with duckdb.connect(str(path)) as database:
        database.executemany(f"INSERT INTO replayed_blocks VALUES ({', '.join('?' * len(blocks[0]))})", blocks)
        sent = [
            (*KEY, number, at, f"0x{number:062x}{at:02x}", "0x" + "11" * 20, "0x" + "22" * 20, "0xa9059cbb", True,
             21_000, 1, number not in wrong or at > 0, None, None, None)
            for number in range(40)
            for at in range(2)
        ]  # fmt: skip
        database.executemany(f"INSERT INTO replayed_transactions VALUES ({', '.join('?' * len(sent[0]))})", sent)
    return path


def test_a_scan_is_counted_and_its_differences_are_listed(scanned: Path) -> None:
    page = history_page(scanned)
    assert page.verdict.badge == "FAIL"
    assert "3 of 40 blocks differ from the chain, most often in gas used" in page.verdict.sentence
    with duckdb.connect(str(scanned), read_only=True) as database:
        ((gas,),) = database.execute("SELECT sum(gas_used) FROM replayed_blocks").fetchall()
        ((exact,),) = database.execute("SELECT count(*) FROM replayed_transactions WHERE exact").fetchall()
    assert next(each.exact for each in page.tiles if each.label == "gas replayed") == f"{gas:,}"
    assert tile(page, "exact transactions") == str(exact)
    (table,) = tables(page, "mismatches")
    assert [row[0] for row in table.rows] == [7, 9, 30]
    assert page.hero is not None
    assert sum(sum(trace["y"]) for trace in page.hero.traces) == gas
    assert page.provenance.command == "mayavi replay history --rpc URL --from 0 --to 39 --state touched"
    assert render(history_page(scanned)) == render(page)


def test_the_command_of_a_filtered_scan_has_its_filter(scanned: Path) -> None:
    with duckdb.connect(str(scanned)) as database:
        for table in ("replayed_blocks", "replayed_transactions"):
            database.execute(f"UPDATE {table} SET filter = 'address=0xab selector=0xa9059cbb'")
    command = history_page(scanned).provenance.command
    assert "--address 0xab --selector 0xa9059cbb" in command


def test_an_exact_scan_passes(scanned: Path) -> None:
    with duckdb.connect(str(scanned)) as database:
        for table in ("replayed_blocks", "replayed_transactions"):
            database.execute(f"UPDATE {table} SET exact = true")
    page = find(str(scanned)).build()
    assert page.verdict.badge == "PASS"
    assert not has_section(page, "mismatches")


@pytest.mark.slow(0.3)
def test_many_blocks_are_summed_in_groups(scanned: Path) -> None:
    with duckdb.connect(str(scanned)) as database:
        many = [block(number) for number in range(40, 1_000)]
        row = f"({', '.join('?' * len(many[0]))})"
        every = [value for each in many for value in each]
        database.execute(f"INSERT INTO replayed_blocks VALUES {', '.join([row] * len(many))}", every)
    hero = history_page(scanned).hero
    assert hero is not None
    assert len(hero.traces[0]["x"]) <= 120
    assert "summed over 9 blocks a bar" in hero.subtitle


def test_other_files_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.duckdb"
    HistoryStore(empty).close()
    with pytest.raises(UsageError, match="holds no replayed block"):
        find(str(empty)).build()
    with pytest.raises(UsageError, match="there is no database of replays"):
        find(str(tmp_path / "none.duckdb")).build()
    other = tmp_path / "other.duckdb"
    duckdb.connect(str(other)).close()
    with pytest.raises(UsageError, match="is not a database of replays"):
        find(str(other)).build()
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(b"not a database" * 500)
    with pytest.raises(StoreUnreadable, match="cannot be opened"):
        find(str(broken)).build()


@pytest.mark.slow(1)
def test_an_incident_shows_recorded_beside_simulated(incident: dict[str, Any]) -> None:
    page = incident_page(incident)
    assert page.verdict.badge == "PASS"
    (table,) = tables(page, "run-recorded")
    figures = incident["runs"]["recorded"]["figures"]
    assert [row[:2] for row in table.rows] == [(each["asset"], each["name"]) for each in figures]
    shown = {row[1]: row for row in cells(table)}
    assert shown["collateral seized"][2:4] == ["63,605,103.12 USDC", "63,605,103.12 USDC"]
    assert shown["collateral seized"][6] == "exact"
    assert shown["liquidations"][6] == "input"
    effects = tables(page, "counterfactual-0")[0]
    assert len(effects.rows) == len(figures)
    assert "--counterfactual aave_v2.USDC.liquidation_bonus=2%" in page.provenance.command


@pytest.mark.slow(1)
def test_prices_of_an_incident_are_those_of_its_store(incident: dict[str, Any]) -> None:
    page = incident_page(incident)
    chart = next(block for block in page.sections[0].blocks if block.kind == "chart")
    with duckdb.connect(incident["runs"]["recorded"]["store"], read_only=True) as database:
        query = (
            "SELECT number FROM market_snapshots WHERE run_id = ? AND metric = 'price' AND subject = ?"
            " AND step >= 0 ORDER BY step"
        )
        run_id = incident["runs"]["recorded"]["run_id"]
        name = chart.traces[0]["name"]
        prices = [number for (number,) in database.execute(query, [run_id, name]).fetchall()]
    assert chart.traces[0]["y"] == [price / prices[0] - 1 for price in prices]
    gone = json.loads(json.dumps(incident))
    gone["runs"]["recorded"]["store"] = "/nowhere/runs.duckdb"
    assert not [block for block in incident_page(gone).sections[0].blocks if block.kind == "chart"]


@pytest.mark.slow(1)
def test_prices_are_drawn_over_the_time_since_the_beginning_and_not_on_another_calendar(
    incident: dict[str, Any],
) -> None:
    chart = next(block for block in incident_page(incident).sections[0].blocks if block.kind == "chart")
    assert not chart.time
    assert (min(chart.traces[0]["x"]), max(chart.traces[0]["x"])) == (0, pytest.approx(4.64, abs=0.01))
    assert chart.layout["xaxis"]["title"]["text"] == "hours since the beginning of the run"
    assert "at its peak" in chart.title


def own_market(incident: dict[str, Any]) -> dict[str, Any]:
    """The incident with a second run, a market whose predictions miss: 100 of 385 calls, 1.16 of 2.64 million CRV."""
    changed = json.loads(json.dumps(incident))
    run = changed["runs"]["market"] = json.loads(json.dumps(changed["runs"]["recorded"]))
    run |= {"recorded_calls": False, "store": "/nowhere/runs.duckdb"}
    amounts = {"liquidations": "100", "debt left": "1162072.298698077", "bad debt": "1162072.298698073"}
    run["figures"] = [each for each in run["figures"] if each["name"] in amounts]
    for each in run["figures"]:
        simulated = Decimal(amounts[each["name"]])
        difference = str(simulated - Decimal(each["recorded"]))
        each |= {"simulated": str(simulated), "difference": difference, "input": False, "within": None, "exact": None}
    return changed


@pytest.mark.slow(1)
def test_the_verdict_names_the_worst_prediction_apart_from_the_recorded_calls(incident: dict[str, Any]) -> None:
    page = incident_page(own_market(incident))
    assert page.verdict.badge == "PARTIAL"
    sentence = page.verdict.sentence.replace("\u00a0", " ")
    assert sentence == (
        "Replaying the recorded calls reproduces both figures promised exactly, but our own market is off: CRV bad debt"
        " −56.0 % (1.16 M instead of 2.64 M CRV) and USDC/CRV liquidations −74.0 % (100 instead of 385)."
    )
    assert tile(page, "largest miss") == "−74.0\u00a0%"
    assert page.hero is not None
    assert ["−74.026\u00a0%"] in page.hero.traces[0]["customdata"]  # what it shows on hover: no interval, and a minus
    assert next(each.change for each in page.tiles if each.label == "runs") == "1 counterfactual"


@pytest.mark.slow(1)
def test_debt_left_and_bad_debt_are_one_prediction_and_the_median_is_of_what_it_counts(
    incident: dict[str, Any],
) -> None:
    document = own_market(incident)
    amounts = [each for each in compared_amounts(document) if not each.promised and each.unit != "%"]
    assert [(each.run, each.names) for each in amounts] == [
        ("recorded", ("debt left", "bad debt")),
        ("market", ("liquidations",)),
        ("market", ("debt left", "bad debt")),
    ]
    median = next(each for each in incident_page(document).tiles if each.label == "median miss")
    assert (median.value, median.change) == ("56.0\u00a0%", "of 3 predicted amounts")


@pytest.mark.slow(1)
def test_blocks_that_differ_from_the_chain_fail_without_a_figure(incident: dict[str, Any]) -> None:
    page = incident_page({**incident, "exact": False})
    assert page.verdict.badge == "FAIL"
    assert "differ from the chain" in page.verdict.sentence


@pytest.mark.slow(1)
def test_a_figure_that_is_not_reproduced_fails_the_page(incident: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(incident))
    figure = next(each for each in changed["runs"]["recorded"]["figures"] if each["exact"])
    figure |= {"exact": False, "simulated": "5", "difference": "-1"}
    changed["exact"] = False
    page = incident_page(changed)
    assert page.verdict.badge == "FAIL"
    assert figure["name"] in page.verdict.sentence
    assert "DIFFERS" in render(page)
