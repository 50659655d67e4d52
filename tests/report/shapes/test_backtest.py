"""The page of a backtest: every figure of its document, windows of a real market, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mayavi.portfolio.backtest.backtest import backtest
from mayavi.portfolio.backtest.document import document_of
from mayavi.portfolio.backtest.formatting import figure
from mayavi.report.charts.axes import end_labels
from mayavi.report.render import render
from mayavi.report.shapes.backtests.backtest import backtest_page
from tests.portfolio.backtest.worlds import QUICK, making, past_market
from tests.report.shapes.page_texts import cells, charts, section, tables


def test_it_holds_every_figure_of_the_document(drawn: dict[str, Any]) -> None:
    page = backtest_page(drawn)
    text = " ".join(cell for table in tables(page, "figures") for row in cells(table) for cell in row)
    for one in drawn["strategies"].values():
        for metric, estimate in one["metrics"].items():
            for value in (estimate[key] for key in ("value", "low", "high")):
                assert value is None or figure(metric, value) in text
    assert figure("total_return", drawn["hindsight"]["total_return"]["value"]) in text
    assert page.provenance.command == drawn["command"]
    (verdicts,) = tables(page, "verdicts")
    assert [row[3] for row in verdicts.rows] == [each["verdict"] for each in drawn["comparisons"]]


def test_growth_is_drawn_with_its_band(drawn: dict[str, Any]) -> None:
    hero = backtest_page(drawn).hero
    assert hero is not None
    names = [trace["name"] for trace in hero.traces]
    assert set(drawn["strategies"]) <= set(names)
    lead = max(drawn["strategies"], key=lambda name: drawn["strategies"][name]["metrics"]["log_growth"]["value"])
    line = next(trace for trace in hero.traces if trace["name"] == lead)
    assert line["y"] == [value - 1 for value in drawn["curves"][lead]["equity"][1]]
    assert hero.traces[0]["fill"] == "toself"


def many_rules(drawn: dict[str, Any]) -> dict[str, Any]:
    """The backtest with seven rules, of which the one that the verdict compares with grows slowest."""
    document = json.loads(json.dumps(drawn))
    for at in range(4):
        for part in ("strategies", "curves"):
            document[part][f"rule_{at}"] = json.loads(json.dumps(document[part]["momentum"]))
    document["strategies"]["equal_weight"]["metrics"]["log_growth"]["value"] = -1.0
    for each in document["comparisons"]:
        each |= {"verdict": "indistinguishable", "reason": "[-0.5, 1.2] holds zero", "against": "equal_weight"}
    return document


def test_charts_draw_the_portfolio_that_the_verdict_compares_with(drawn: dict[str, Any]) -> None:
    page = backtest_page(many_rules(drawn))
    assert "from equal_weight." in page.verdict.sentence
    assert page.hero is not None
    for chart in (page.hero, section(page, "drawdown").blocks[0]):
        assert "equal_weight" in [trace["name"] for trace in chart.traces]
    assert any(chart.title.startswith("equal_weight: ") for chart in section(page, "weights").blocks)


def test_the_page_says_that_its_subject_was_picked_and_ranks_nothing_undecided(drawn: dict[str, Any]) -> None:
    page = backtest_page(many_rules(drawn))
    assert "the fastest growing of 7 rules" in page.verdict.sentence
    assert "picked after seeing the results" in page.summary[0]
    assert page.hero is not None
    assert "cannot be told apart" in page.hero.title
    assert "at the median" in page.hero.title
    assert "[−0.5, 1.2] holds zero" in " ".join(page.summary)
    (first, *_, cost) = page.tiles
    assert first.label.startswith("mean return of ")
    assert first.change.startswith("equal_weight: ")
    assert cost.value.startswith("$")
    assert "of $100,000 invested" in cost.change


def test_drawdowns_are_those_of_the_table(drawn: dict[str, Any]) -> None:
    page = backtest_page(drawn)
    chart = section(page, "drawdown").blocks[0]
    metrics = {name: one["metrics"]["max_drawdown"]["value"] for name, one in drawn["strategies"].items()}
    deepest = max(metrics, key=metrics.__getitem__)
    told = figure("max_drawdown", metrics[deepest])
    assert chart.title == f"{deepest} falls deepest: its episodes' largest drawdowns are {told} on average"
    assert "drawdown of an episode is" in " ".join(page.summary)


def test_a_warning_says_what_was_played_in_sample(drawn: dict[str, Any]) -> None:
    assert not any("In sample" in note for note in backtest_page(drawn).notes)
    assert "In sample" in backtest_page({**drawn, "in_sample": True}).notes[0]


def test_one_portfolio_alone_makes_no_claim(drawn: dict[str, Any]) -> None:
    page = backtest_page({**drawn, "comparisons": [], "pooled": []})
    assert page.verdict.badge == "NO CLAIM"
    assert "nothing to compare it with" in render(page)


def test_the_same_document_gives_the_same_bytes(drawn: dict[str, Any]) -> None:
    done = backtest(making(), [], ["equal_weight", "meth_only", "momentum"], replace(QUICK, episodes=24))
    again = document_of(done, command=drawn["command"], versions={"mayavi": "0"})
    assert render(backtest_page(again)) == render(backtest_page(drawn))


@pytest.mark.slow(0.5)
def test_a_real_market_shows_its_windows_and_why_intervals_are_missing(tmp_path: Path) -> None:
    done = backtest(making(data=str(past_market(tmp_path))), [], ["equal_weight", "usdy_only"], QUICK)
    document = document_of(done, command="mayavi backtest rwa --data past.csv")
    page = backtest_page(document)
    (table,) = tables(page, "windows")
    assert len(table.rows) == len(document["market"]["windows"])
    first = document["strategies"]["equal_weight"]["episodes"][0]["total_return"] / 100
    assert table.rows[0][1] == first
    assert all(any(reason in note for note in page.notes) for reason in document["no_interval"])
    assert section(page, "settings").blocks
    render(page)


def test_every_chart_has_its_data_as_a_table(drawn: dict[str, Any]) -> None:
    for chart in charts(backtest_page(drawn)):
        assert chart.table.rows
        assert chart.subtitle


def test_labels_at_line_ends_stay_near_their_lines() -> None:
    ends = [(str(at), at, "$1") for at in (0.5, 0.51, 0.52, 0.9)]
    places = [each["y"] for each in end_labels(ends, 0.0, 1.0, log=False)]
    assert places == [0.435, 0.51, 0.585, 0.9]
    crowded = [each["y"] for each in end_labels([(str(at), 1.0, "$1") for at in range(3)], 0.0, 1.0, log=False)]
    assert crowded == [0.85, 0.925, 1.0]
