"""Every named incident: sources, the scenario's own facts, and figures that the replay promises to reproduce."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from mayavi.errors import BadScenario, UnknownName, UsageError
from mayavi.scenarios.incidents.cases import default_cases
from mayavi.scenarios.incidents.registry import FOLDER, NAMES, load_incident
from mayavi.scenarios.incidents.replay import ComparedFigure, IncidentReport, replay_incident
from mayavi.scenarios.loading import load_scenario

REPAID = (("11", "06:42"), ("11", "17:24"), ("14", "05:13"))
LARGEST = "largest difference of one call"
FAST = ("steth_2022_06", "ena_2025_03", "eigen_2025_10", "usdc_depeg_2023_03", "capo_2026_03")


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, IncidentReport]:
    store = tmp_path_factory.mktemp("incidents") / "runs.duckdb"
    return {name: replay_incident(name, store=store) for name in FAST}


def figure(report: IncidentReport, name: str, asset: str | None = None, run: str | None = None) -> ComparedFigure:
    own = report.runs[run or next(iter(report.runs))]
    (found,) = [
        each for each in own.figures if each.expected.name == name and (asset is None or each.expected.asset == asset)
    ]
    return found


def test_every_folder_is_registered_and_named_after_its_incident() -> None:
    folders = {path.name for path in FOLDER.iterdir() if (path / "incident.yaml").is_file()}
    assert folders == set(NAMES)
    assert [load_incident(name).config.name for name in NAMES] == list(NAMES)
    dates = [load_incident(name).config.date for name in NAMES]
    assert dates == sorted(dates)


@pytest.mark.parametrize("name", NAMES)
def test_facts_and_figures_have_sources_and_scenarios_load(name: str) -> None:
    incident = load_incident(name)
    assert all(len(each.source) > 4 for each in incident.config.facts)
    for run, own in incident.config.runs.items():
        assert all(each.source for each in own.figures)
        scenario = load_scenario(incident.scenario(run))
        for change in incident.config.counterfactuals:
            assert "=" in change
        assert scenario.config.title


@pytest.mark.parametrize("name", NAMES)
def test_every_suggested_counterfactual_changes_some_run(name: str) -> None:
    incident = load_incident(name)
    for change in incident.config.counterfactuals:
        accepted = 0
        for run in incident.config.runs:
            try:
                load_scenario(incident.scenario(run), overrides=[change])
                accepted += 1
            except BadScenario:
                continue
        assert accepted, change


@pytest.mark.slow(0.4)
@pytest.mark.parametrize("name", FAST)
def test_promised_figures_are_exact(replayed: dict[str, IncidentReport], name: str) -> None:
    report = replayed[name]
    assert report.exact
    for run in report.runs.values():
        assert run.run.status == "finished"
        assert run.run.kpis["raised"] == 0
        assert all(each.simulated is not None for each in run.figures)


def test_inputs_are_never_called_exact(replayed: dict[str, IncidentReport]) -> None:
    inputs = {
        name: {each.expected.name for run in report.runs.values() for each in run.figures if each.expected.input}
        for name, report in replayed.items()
    }
    assert inputs["eigen_2025_10"] == {"unlocked"}
    assert inputs["ena_2025_03"] == {"unlocked at the cliff", "unlocked a month later"}
    assert inputs["usdc_depeg_2023_03"] == {f"repaid, {when} March {at}" for when, at in REPAID}
    assert inputs["capo_2026_03"] == {"accounts liquidated"}
    for report in replayed.values():
        assert all(each.exact is None for run in report.runs.values() for each in run.figures if each.expected.input)
    assert figure(replayed["capo_2026_03"], "bad debt").exact is True


def test_failed_actions_of_a_run_are_counted(replayed: dict[str, IncidentReport]) -> None:
    run = replayed["capo_2026_03"].runs["liquidations"]
    assert run.failures is not None
    assert run.failures.failed == run.run.kpis["failed"] > 0
    assert run.failures.attempted == sum(row.kind == "liquidate" for row in run.run.actions)
    assert sum(run.failures.reasons.values()) == run.failures.failed
    assert not run.recorded_calls
    assert replayed["eigen_2025_10"].runs["unlock"].failures is None


@pytest.mark.slow(1)
def test_a_missing_record_is_named(replayed: dict[str, IncidentReport], tmp_path: Path) -> None:
    run = replayed["usdc_depeg_2023_03"].runs["liquidations"]
    assert run.title.startswith("three of the recorded repayments")
    assert run.record == "the facts of the incident, without the complete record"
    report = replay_incident("usdc_depeg_2023_03", cases=tmp_path, store=tmp_path / "runs.duckdb")
    assert report.runs["liquidations"].record == f"the facts of the incident: no complete record in '{tmp_path}'"


def test_steth_the_pool_s_code_gives_the_recorded_discount(replayed: dict[str, IncidentReport]) -> None:
    report = replayed["steth_2022_06"]
    for day in ("16 June, 10:14", "17 June, 09:43", "18 June, 09:34", "19 June, 09:23"):
        found = figure(report, f"price on {day}")
        assert found.difference is not None
        assert abs(found.difference) < Decimal("0.0003")
    missed = figure(report, "price on 10 June, 11:28")  # the feed is 17 hours old: a miss that stays in the table
    assert missed.difference is not None
    assert abs(missed.difference) > Decimal("0.015")
    assert missed.expected.why


def test_ena_unlocks_are_the_schedule_s_and_a_sale_of_all_is_a_bound(replayed: dict[str, IncidentReport]) -> None:
    report = replayed["ena_2025_03"]
    assert figure(report, "unlocked at the cliff", "ENA of the team").simulated == 1_125_000_000
    later = figure(report, "unlocked a month later", "ENA of investors")
    assert later.simulated is not None
    assert abs(later.simulated / later.expected.recorded - 1) < Decimal("0.02")
    day = figure(report, "price change on the day")
    assert day.simulated is not None
    assert Decimal("-0.50") < day.simulated < Decimal("-0.40")  # (5.657 / (5.657 + 2.0625))² - 1 = -46 %


def test_usdc_the_recorded_repayment_seizes_nearly_the_recorded_collateral(
    replayed: dict[str, IncidentReport],
) -> None:
    report = replayed["usdc_depeg_2023_03"]
    for name, most in (("seized, 11 March 17:24", "0.01"), ("seized, 14 March 05:13", "0.01")):
        found = figure(report, name)
        assert found.difference is not None
        assert abs(found.difference / found.expected.recorded) < Decimal(most)
    early = figure(report, "seized, 11 March 06:42")  # the index lags the oracle
    assert early.difference is not None
    assert Decimal("-0.08") < early.difference / early.expected.recorded < Decimal("-0.05")
    assert report.incident.config.unpredicted[0].what == "bad debt on Aave V3"


def test_capo_liquidators_gain_the_deviation_and_no_debt_goes_bad(replayed: dict[str, IncidentReport]) -> None:
    report = replayed["capo_2026_03"]
    assert figure(report, "bad debt").simulated == 0
    assert figure(report, "accounts liquidated").simulated == 34
    gain = figure(report, "gain of liquidators on what they sold").simulated
    assert gain is not None
    assert Decimal("0.028") < gain < Decimal("0.0385")  # at most 2.85 % and the bonus of 1 %


def test_an_unknown_incident_and_an_unknown_run_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown incident 'crv'") as found:
        load_incident("crv")
    assert "crv_2022_11" in (found.value.hint or "")
    with pytest.raises(UsageError, match="has no run 'sale'"):
        replay_incident("eigen_2025_10", only="sale", store=tmp_path / "runs.duckdb")


def test_an_incident_of_one_s_own_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no incident at"):
        load_incident(tmp_path)
    (tmp_path / "incident.yaml").write_text("name: x\ntitel: y\n")
    with pytest.raises(BadScenario, match="unknown key 'titel'"):
        load_incident(tmp_path)


def test_a_folder_of_cases_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MAYAVI_CASES", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="there is no such folder"):
        default_cases()


@pytest.mark.slow(6)
def test_usdc_all_recorded_calls_but_one_come_out_within_three_percent(cases: Path, tmp_path: Path) -> None:
    report = replay_incident("usdc_depeg_2023_03", cases=cases, store=tmp_path / "runs.duckdb")
    run = report.runs["liquidations"]
    assert run.record.startswith("19 of 22 recorded calls")
    assert run.title == "the recorded repayments at the market prices of their minutes"
    details = [json.loads(row.details) for row in run.run.actions if row.kind == "liquidate"]
    misses = [int(each["seized"]) / int(each["recorded_seized"]) - 1 for each in details]
    assert len(misses) == 19
    assert sum(abs(each) > 0.03 for each in misses) == 1
    worst, median = (figure(report, name).simulated for name in (LARGEST, "median difference of a call"))
    assert worst is not None
    assert median is not None
    assert float(worst) == pytest.approx(max(misses, key=abs))
    assert 0 < median < Decimal("0.01")
    assert report.exact
