"""The page of a backtest: every figure of its document, windows of a real market, and the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mayavi.portfolio.backtest.backtest import backtest
from mayavi.portfolio.backtest.document import document_of
from mayavi.portfolio.backtest.formatting import figure
from mayavi.report.render import render
from mayavi.report.shapes.backtest import backtest_page
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
