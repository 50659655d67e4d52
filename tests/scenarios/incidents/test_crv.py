"""The CRV short on Aave V2: the recorded calls to the unit, and a market of our own beside them."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path

import pytest

from mayavi.cli.printing.incident import print_report
from mayavi.scenarios.incidents.replay import IncidentReport, replay_incident
from tests.pages import page

REPAID = Decimal("89544317.443850891849582027")
SEIZED = Decimal("63605103.124042")
HIGHER_THRESHOLD, SMALLER_BONUS = "aave_v2.USDC.liquidation_threshold=89.5%", "aave_v2.USDC.liquidation_bonus=2%"


@pytest.fixture(scope="module")
def report(cases: Path, tmp_path_factory: pytest.TempPathFactory) -> IncidentReport:
    """The recorded calls, as they were and with each of two changes."""
    store = tmp_path_factory.mktemp("crv") / "runs.duckdb"
    changes = [HIGHER_THRESHOLD, SMALLER_BONUS]
    return replay_incident("crv_2022_11", only="recorded", cases=cases, counterfactuals=changes, store=store)


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> IncidentReport:
    """Our own liquidators instead of the recorded calls."""
    return replay_incident("crv_2022_11", only="market", store=tmp_path_factory.mktemp("crv") / "runs.duckdb")


@pytest.mark.slow(13)
def test_every_recorded_call_seizes_the_recorded_amount_to_the_unit(cases: Path, report: IncidentReport) -> None:
    run = report.runs["recorded"]
    assert run.record.startswith("385 recorded calls")
    rows = [row for row in run.run.actions if row.kind == "liquidate"]
    assert [row.status for row in rows] == ["success"] * 385
    details = [json.loads(row.details) for row in rows]
    with (cases / "incidents/crv-2022-11/aave-crv-liquidations.csv").open() as file:
        recorded = list(csv.DictReader(file))
    assert [(each["covered"], each["seized"]) for each in details] == [
        (each["debt_to_cover_crv_raw"], each["liquidated_collateral_usdc_raw"]) for each in recorded
    ]
    assert len({row.account for row in rows}) == 21
    figures = {each.expected.name: each for each in run.figures}
    assert (figures["debt repaid"].simulated, figures["collateral seized"].simulated) == (REPAID, SEIZED)
    assert (figures["debt repaid"].difference, figures["collateral left"].simulated) == (0, 0)
    assert figures["largest difference of one call"].simulated == 0
    left = figures["debt left"].simulated
    assert left is not None
    assert 2_640_000 < left < 2_656_335  # published right after, and two weeks later


@pytest.mark.slow(3)
def test_the_facts_alone_give_the_same_totals(tmp_path: Path) -> None:
    report = replay_incident("crv_2022_11", only="recorded", store=tmp_path / "runs.duckdb")
    figures = {each.expected.name: each for each in report.runs["recorded"].figures}
    assert report.exact
    assert report.runs["recorded"].title.startswith("15 calls that stand for the 385")
    assert figures["liquidations"].simulated == 15
    assert (figures["debt repaid"].exact, figures["collateral seized"].exact) == (None, True)  # an input, an output
    assert figures["collateral seized"].simulated == SEIZED
    assert figures["debt repaid"].difference is not None
    assert abs(figures["debt repaid"].difference) < Decimal("0.001")


@pytest.mark.slow(0.1)
def test_a_higher_threshold_than_documented_refuses_recorded_calls(report: IncidentReport) -> None:
    refused = -report.counterfactuals[0].effects["recorded"][0].difference
    # 41 calls were made at a health factor of 1 and more by then; a refused one leaves the next a lower one
    assert 30 < refused <= 41


@pytest.mark.slow(0.1)
def test_a_smaller_bonus_leaves_more_debt_and_less_bad_debt_as_recorded_calls_revert(report: IncidentReport) -> None:
    effects = {each.expected.name: each for each in report.counterfactuals[1].effects["recorded"]}
    debt, collateral, bad = (effects[name] for name in ("debt left", "collateral left", "bad debt"))
    assert debt.difference > 0
    assert abs(bad.base - debt.base) < Decimal("0.001")  # no collateral is left
    assert -Decimal("0.65") < bad.difference / bad.base < -Decimal("0.6")
    assert bad.changed == pytest.approx(debt.changed - collateral.changed / Decimal("0.69229852"))
    assert report.runs["recorded"].failures is None
    assert report.runs["recorded"].recorded_calls
    failures = report.counterfactuals[1].failures["recorded"]
    assert failures is not None
    assert (failures.failed, failures.attempted, failures.kinds) == (29, 385, ("liquidate",))
    assert all("HEALTH_FACTOR_NOT_BELOW_THRESHOLD" in reason for reason in failures.reasons)


@pytest.mark.slow(5)
def test_our_liquidators_seize_everything_and_leave_less_debt(market: IncidentReport) -> None:
    figures = {each.expected.name: each for each in market.runs["market"].figures}
    assert figures["collateral seized"].difference == 0
    left = figures["debt left"].simulated
    assert left is not None
    assert 500_000 < left < 2_640_000
    assert figures["debt left"].expected.why
    calls = figures["liquidations"].simulated
    assert calls is not None
    assert 50 < calls < 385


@pytest.mark.slow(0.1)
def test_the_tables_of_the_page_are_what_the_command_prints(
    report: IncidentReport, market: IncidentReport, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in (report, market):
        print_report(each)
    printed = capsys.readouterr().out.splitlines()
    for start, least in (("recorded: ", 20), ("counterfactual: ", 10)):
        shown = page("how-to/replay-an-incident.md").block_starting(start).splitlines()
        assert len(shown) >= least
        assert [line for line in shown if line and line not in printed] == []
