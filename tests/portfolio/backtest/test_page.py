"""The page of a backtest: whole in itself, readable by everybody, and the same bytes for the same figures."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mayavi.portfolio.backtest.backtest import backtest
from mayavi.portfolio.backtest.document import document_of
from mayavi.portfolio.backtest.page import figure, render_page
from mayavi.portfolio.backtest.svg_charts import Line, even_ticks, line_chart, stacked_chart
from tests.portfolio.backtest.worlds import QUICK, making, past_market

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Checks that every element is closed, and gathers what a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.references: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.references += [value or "" for name, value in attributes if name in {"src", "href", "xlink:href", "data"}]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def drawn() -> dict[str, Any]:
    done = backtest(making(), [], ["equal_weight", "meth_only", "momentum"], replace(QUICK, episodes=24))
    return document_of(done, command="mayavi backtest rwa --simulated --episodes 24", versions={"mayavi": "0"})


def test_nothing_is_loaded_from_anywhere(drawn: dict[str, Any]):
    page = render_page(drawn)
    reader = read(page)
    assert reader.references == []
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(reader.tags)
    assert not re.search(r"url\(|@import|https?://|//[a-z]", page)


def test_it_holds_every_figure_of_the_document(drawn: dict[str, Any]):
    text = read(render_page(drawn)).text
    for name, one in drawn["strategies"].items():
        assert name in text
        for metric, estimate in one["metrics"].items():
            for value in (estimate[key] for key in ("value", "low", "high")):
                assert value is None or figure(metric, value) in text
    for each in drawn["comparisons"]:
        assert each["reason"] in text
    assert figure("total_return", drawn["hindsight"]["total_return"]["value"]) in text
    assert drawn["command"] in text
    assert "rebalance_cost_bps" in text
    assert "In sample" not in text
    assert "In sample" in render_page({**drawn, "in_sample": True})


def test_one_portfolio_alone_has_no_empty_table(drawn: dict[str, Any]):
    assert "nothing to compare it with" not in render_page(drawn)
    page = render_page({**drawn, "comparisons": [], "pooled": []})
    assert "nothing to compare it with" in page
    assert ">verdict</th>" not in page


def test_narrow_windows_scroll_the_two_charts_with_axes(drawn: dict[str, Any]):
    assert len(re.findall(r'<div class="scroll wide" tabindex="0"><svg class="chart"', render_page(drawn))) == 2


def test_the_same_document_gives_the_same_bytes(drawn: dict[str, Any]):
    assert render_page(drawn) == render_page(drawn)
    done = backtest(making(), [], ["equal_weight", "meth_only", "momentum"], replace(QUICK, episodes=24))
    assert render_page(document_of(done, command=drawn["command"], versions={"mayavi": "0"})) == render_page(drawn)


def test_charts_are_told_to_those_who_do_not_see_them(drawn: dict[str, Any]):
    charts = re.findall(r'<svg class="chart".*?</svg>', render_page(drawn), re.DOTALL)
    assert len(charts) == 2 + len(drawn["strategies"])
    for chart in charts:
        parsed = ElementTree.fromstring(chart)
        assert parsed.get("role") == "img"
        assert parsed.findtext("title")
        assert parsed.findtext("desc")
        for path in parsed.iter("path"):
            numbers = [float(each) for each in re.findall(r"-?\d+\.?\d*", path.get("d") or "")]
            assert all(math.isfinite(each) for each in numbers)


def test_a_page_has_a_language_one_heading_and_both_colour_schemes(drawn: dict[str, Any]):
    page = render_page(drawn)
    assert '<html lang="en">' in page
    assert page.count("<h1>") == 1
    assert "prefers-color-scheme:dark" in page
    assert '<th scope="col"' in page
    assert '<th scope="row"' in page


def test_a_real_market_shows_its_windows_and_what_was_assumed(tmp_path: Path):
    done = backtest(making(data=str(past_market(tmp_path))), [], ["equal_weight", "usdy_only"], QUICK)
    document = document_of(done, command="mayavi backtest rwa --data past.csv")
    text = read(render_page(document)).text
    for begin, _ in document["market"]["windows"]:
        assert begin[:10] in text
    first = document["strategies"]["usdy_only"]["episodes"][0]["total_return"]
    assert f"{first:.2f} %" in text
    assert "blocks of 24 hours" in text


def test_what_has_a_name_with_marks_does_not_break_the_page(drawn: dict[str, Any]):
    name = '<b>"&'
    changed = {
        **drawn,
        "strategies": {name: drawn["strategies"]["momentum"]},
        "curves": {name: drawn["curves"]["momentum"]},
    }
    reader = read(render_page(changed))
    assert name in reader.text
    assert "b" not in reader.tags


def test_lines_stay_within_the_frame_whatever_the_numbers():
    for values in ([0.0, 0.0, 0.0], [-1e-9, 5.0, 1e3], [0.1, 0.1 + 1e-12, 0.1]):
        chart = line_chart("title", "about", [0, 1, 2], [Line("one", values, 0)], ticks=[])
        for x, y in re.findall(r"([\d.]+) ([\d.-]+)(?=L|\")", chart):
            assert 0 <= float(x) <= 760
            assert 0 <= float(y) <= 280
    assert "M" in stacked_chart("title", "about", [0, 1], [("a", [0.4, 0.5]), ("b", [0.6, 0.5])])
    assert even_ticks(720, "days", each=24) == [(0, "0"), (120, "5"), (240, "10"), (360, "15"), (480, "20"),
                                                (600, "25"), (720, "30 days")]  # fmt: skip
