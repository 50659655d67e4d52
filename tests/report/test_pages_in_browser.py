"""Pages of every scenario in a headless Chromium: quiet, offline, drawn, accessible, in both themes, on a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mayavi.report.builder import run_page
from mayavi.report.output import write_html, write_pdf
from mayavi.report.render import render
from mayavi.scenarios import registry
from mayavi.sim.rows import KpiRow
from mayavi.sim.store import Store
from tests.report.stored_rows import action, figure, stored

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.report.browser import Viewer
    from tests.report.conftest import CheckPage

pytestmark = pytest.mark.slow(4)
Write = Callable[[str], Path]
ZOOM = """(async () => {
  const plots = [...document.querySelectorAll('.plot')].filter((each) => each.layout.xaxis.type === 'date');
  const [low, high] = plots[0].layout.xaxis.range;
  await Plotly.relayout(plots[0], { 'xaxis.range': [low, '2024-01-14'] });
  await new Promise((done) => setTimeout(done, 100));
  return plots.map((each) => each.layout.xaxis.range[1].startsWith('2024-01-14'));
})()"""
"""Zoom into one chart; return of each whether it followed."""
UNDO = """async () => {
  const search = document.querySelector('.log-search');
  search.value = '';
  search.dispatchEvent(new Event('input'));
  document.querySelector('.log-step').click();
  document.querySelectorAll('details[open]').forEach((each) => { each.open = false; });
  const [plot] = [...document.querySelectorAll('.plot')].filter((each) => each.layout.xaxis.type === 'date');
  if (plot.layout.xaxis.autorange === false) await Plotly.relayout(plot, { 'xaxis.autorange': true });
  document.activeElement.blur();
  scrollTo(0, 0);
  localStorage.clear();
}"""
"""Search for nothing, show all steps and all times, close what is open, and forget the theme that was chosen."""
COUNT_DRAWN = """() => {
  const react = Plotly.react;
  window.timesDrawn = 0;
  Plotly.react = (...all) => { window.timesDrawn += 1; return react(...all); };
}"""
NAME = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def html_of(store: Store, scenario: str) -> str:
    return render(run_page(store, store.runs(scenario=scenario)[0].run_id))


@pytest.mark.parametrize("scenario", registry.names())
def test_a_page_of_every_scenario(library_store: Store, check_page: CheckPage, written: Write, scenario: str) -> None:
    least = 5 if scenario == "vesting_cliff" else 3
    assert check_page(written(html_of(library_store, scenario))).charts >= least


def test_odd_runs_have_pages_too(check_page: CheckPage, written: Write, tmp_path: Path) -> None:
    kpis = [KpiRow("arbitrage_profit", "1", 1e300, "usd_e8"), KpiRow("oracle_change.WETH", "1", float("nan"), "wad")]
    values = [1e300, float("nan"), float("inf"), -5.0]
    figures = [figure(step, NAME, "market_price", value) for step, value in enumerate(values)]
    actions = [action(0, NAME, note=NAME), action(1, "sell", "failed", token=NAME)]
    path = tmp_path / "r.duckdb"
    for store, run_id in (stored(path), stored(path, actions, figures, kpis, scenario=NAME, text=f"name: '{NAME}'")):
        check_page(written(render(run_page(store, run_id))))


@pytest.fixture(scope="module")
def cascade_file(library_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_html(html_of(library_store, "depeg_cascade"), tmp_path_factory.mktemp("cascade") / "page.html")


@pytest.fixture
def cascade(viewer: Viewer, cascade_file: Path) -> Iterator[Page]:
    """The page of a cascade, which is opened once; what a test searched, opened or zoomed into is undone after it."""
    page = viewer.page if viewer.page.url == cascade_file.resolve().as_uri() else viewer.open(cascade_file)
    yield page
    page.evaluate(UNDO)


def test_the_log_is_searched_and_walked_by_keyboard(cascade: Page) -> None:
    cascade.keyboard.press("/")
    cascade.keyboard.type("liquidate paid")
    rows = cascade.locator(".log-row")
    assert rows.count() >= 1
    assert all("liquidate" in text for text in rows.all_inner_texts())
    cascade.keyboard.press("Tab")
    cascade.keyboard.press("Escape")
    cascade.locator(".log-view").focus()
    cascade.keyboard.press("j")
    cascade.keyboard.press("Enter")
    detail = cascade.locator(".log-detail")
    assert "covered_e8" in detail.inner_text()
    cascade.keyboard.press("Enter")
    assert not detail.is_visible()


def test_the_slider_shows_a_step_and_its_actions(cascade: Page) -> None:
    cascade.locator(".scrub-range").focus()
    cascade.keyboard.press("Home")
    assert "Before the first step" in cascade.locator(".scrub-where").inner_text()
    for _ in range(3):
        cascade.keyboard.press("ArrowRight")
    assert cascade.locator(".scrub-where").inner_text().startswith("Step 2 ")
    cascade.locator(".scrub-filter").click()
    assert cascade.locator(".log-step").inner_text() == "Step 2 only: show all steps"
    steps = {text.split()[0] for text in cascade.locator(".log-row").all_inner_texts()}
    assert steps == {"2"}


PLACE = """() => {
  const plot = [...document.querySelectorAll('.plot')].find((each) => each.layout.xaxis.type === 'date');
  plot.scrollIntoView({ block: 'center' });
  const { xaxis, yaxis } = plot._fullLayout;
  const trace = plot.data.find((each) => each.customdata);
  const at = trace.customdata.findIndex((each) => each[0] === 1);
  const step = (point) => xaxis.d2p(trace.x[point]);
  const frame = plot.getBoundingClientRect();
  const x = frame.left + xaxis._offset + step(at) + 0.4 * (step(at + 1) - step(at));
  return [x, frame.top + yaxis._offset + 3, frame.top + yaxis._offset + yaxis._length - 3];
}"""
"""Return a place between steps 1 and 2, nearer to step 1: its x, and y at the top and at the bottom of the plot."""


def test_a_click_anywhere_in_a_chart_leads_to_the_nearest_step(cascade: Page) -> None:
    cascade.add_style_tag(content="html { scroll-behavior: auto !important }")
    where = cascade.locator(".scrub-where")
    for height in (1, 2):  # at the top of the plot, and at its bottom
        cascade.locator(".scrub-range").press("Home")
        assert where.inner_text().startswith("Before the first step")
        place = cascade.evaluate(PLACE)
        cascade.mouse.click(place[0], place[height])
        assert where.inner_text().startswith("Step 1 ")
    x, top, _ = cascade.evaluate(PLACE)
    cascade.mouse.move(x, top)
    cascade.mouse.down()
    cascade.mouse.move(x + 200, top + 40, steps=4)  # a drag zooms, and chooses nothing
    cascade.mouse.up()
    assert where.inner_text().startswith("Step 1 ")


def test_the_table_behind_a_chart_has_its_values(cascade: Page) -> None:
    cascade.locator("#answer-0 details summary").click()
    cells = cascade.locator("#answer-0 table tbody tr:last-child td").all_inner_texts()
    data = json.loads(cascade.locator("#data").inner_text())
    last = [column[-1] for column in data["charts"]["answer-0"]["table"]["data"]]
    assert cells[0] == str(last[0])
    assert cells[-1] == f"${last[-1]:,.2f}"


def test_charts_over_time_zoom_together(cascade: Page) -> None:
    ranges = cascade.evaluate(ZOOM)
    assert len(ranges) > 4
    assert all(ranges)


def test_the_theme_is_changed_by_key_and_redraws(cascade: Page) -> None:
    fill = "getComputedStyle(document.querySelector('#answer-0 .xtick text')).fill"
    light = cascade.evaluate(fill)
    cascade.evaluate(COUNT_DRAWN)
    cascade.keyboard.press("t")
    assert cascade.locator("#theme-name").inner_text() == "Theme: light"
    assert cascade.evaluate("timesDrawn") == 0  # that of the system is light too
    cascade.keyboard.press("t")
    assert cascade.locator("#theme-name").inner_text() == "Theme: dark"
    assert cascade.evaluate(fill) != light
    assert cascade.evaluate("timesDrawn") == cascade.locator(".plot").count()
    cascade.keyboard.press("t")
    assert cascade.locator("#theme-name").inner_text() == "Theme: system"
    assert cascade.evaluate(fill) == light


@pytest.mark.usefixtures("browser")
def test_a_pdf_has_text_and_charts(cascade_file: Path, tmp_path: Path) -> None:
    path = write_pdf(cascade_file.read_text(encoding="utf-8"), tmp_path / "report.pdf")
    content = path.read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 4
    assert b"/Font" in content
    assert path.stat().st_size > 100_000  # charts are vectors
