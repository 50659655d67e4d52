"""Every page by its address: heading, quiet console, axe-core in both themes, and no wider than a phone."""

from __future__ import annotations

import re

import pytest

from benchmarks.dashboard import scroll_log
from benchmarks.run_report import ACTIONS
from benchmarks.run_report import store_run as store_long_run
from benchmarks.subjects.service import ServiceProcess
from mayavi.sim.store import Store
from tests.sim.store.sample_runs import store_run
from tests.web.pages_of import PAGES, Stored, address, store_examples
from tests.web.visitor import Visitor

pytestmark = pytest.mark.slow(2)
STALL_MS = 5_000.0
"""Far beyond what a person would bear, and beyond what a busy machine causes."""


@pytest.fixture(scope="module")
def stored(service: ServiceProcess) -> Stored:
    return store_examples(service)


@pytest.fixture(scope="module")
def reader(browser, service: ServiceProcess, stored: Stored) -> Visitor:
    """One visitor for all pages: what one of them logs is found by the test that opened it."""
    visitor = Visitor(browser, service.url, service.key)
    visitor.log_in()
    return visitor


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_usable_and_fits_a_phone(reader: Visitor, stored: Stored, name: str) -> None:
    reader.open(address(name, stored))
    reader.settle()
    assert PAGES[name][1] in reader.page.locator("h1").first.inner_text()
    assert reader.page.title().endswith("Mayavi")
    assert reader.serious_findings() == {"light": [], "dark": []}
    reader.show_on_a_phone()
    assert reader.overflow() <= 0, reader.too_wide()
    reader.check()


def test_the_page_of_a_run_shows_what_its_report_shows(
    visitor: Visitor, service: ServiceProcess, stored: Stored
) -> None:
    visitor.open(address("run", stored))
    visitor.settle()
    with service.client() as client:
        page = client.get(f"/runs/{stored.run}/page").raise_for_status().json()
    shown = visitor.page.locator("main").inner_text()
    assert page["verdict"]["sentence"] in shown
    for tile in page["tiles"]:
        assert tile["label"] in shown
    visitor.page.locator(".js-plotly-plot").first.wait_for()


def test_lists_and_steps_answer_what_a_reader_looks_for(reader: Visitor, stored: Stored) -> None:
    page = reader.page
    reader.open("runs?single=1")
    reader.settle()
    row = page.get_by_test_id("runs").locator(f"[data-row]:has(a[href$='{stored.run}'])")
    row.get_by_text("borrowers.count 12").wait_for()  # what was changed in the scenario
    assert "$" in row.inner_text()  # its bad debt
    reader.open(f"runs/{stored.run}/steps?step=99")
    page.get_by_role("heading", name="This run has no step 99").wait_for()
    assert "0 to 4" in page.get_by_test_id("steps").inner_text()
    reader.open(f"runs/{stored.run}/agents")
    reader.settle()
    assert "–" not in page.get_by_test_id("agents").locator("[data-row]").nth(1).inner_text()


def test_a_run_on_a_market_is_listed_and_filtered_by_its_name(reader: Visitor, service: ServiceProcess) -> None:
    made = store_run(service.store, scenario_text="name: depeg_cascade\nworld: base@2025-12\n")
    reader.open("runs?chain=base%402025-12")
    row = reader.page.get_by_test_id("runs").locator(f"[data-row]:has(a[href$='{made.run_id}'])")
    row.get_by_text("base@2025-12", exact=True).wait_for()
    assert reader.page.get_by_test_id("runs").locator("[data-row]").count() == 1
    reader.open(f"runs/{made.run_id}")
    reader.page.locator(".run-facts").get_by_text("base@2025-12 · seed 7").wait_for()


def test_a_click_anywhere_in_a_chart_opens_the_nearest_step(reader: Visitor, stored: Stored) -> None:
    reader.open(f"runs/{stored.run}")
    plot = reader.page.locator(".hero .plot[data-drawn=yes] .nsewdrag").first
    plot.wait_for()
    box = plot.bounding_box()
    assert box is not None
    reader.page.mouse.click(box["x"] + box["width"] * 0.55, box["y"] + 3)  # far from every point
    reader.page.wait_for_url(re.compile(rf"/app/runs/{stored.run}/steps\?step=[0-4]$"))


def test_tables_show_whole_calls_and_all_rows(reader: Visitor, stored: Stored, service: ServiceProcess) -> None:
    cut_off = "(each) => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1"
    try:
        for width in (420, 1400):
            reader.page.set_viewport_size({"width": width, "height": 900})
            reader.open(f"runs/{stored.run}/actions?kind=liquidate&status=success")
            reader.settle()
            calls = reader.page.get_by_test_id("actions").locator(".wraps > span[title^=liquidate]")
            calls.first.wait_for()
            assert not calls.evaluate_all(f"(all) => all.some({cut_off})"), width
    finally:
        reader.page.set_viewport_size({"width": 1280, "height": 900})
    reader.open(address("compare", stored))
    reader.settle()
    with service.client() as client:
        data = client.get("/compare", params={"run": [stored.run, stored.other_run]}).raise_for_status().json()
    rows = next(section for section in data["sections"] if section["id"] == "figures")["blocks"][0]["rows"]
    table = reader.page.locator("#figures .scroll")
    assert len(rows) > 12
    assert table.locator("tbody tr").count() == len(rows)
    assert table.evaluate("(box) => box.scrollHeight <= box.clientHeight")  # none is hidden below an edge
    reader.check()


def test_an_opened_action_has_an_address_and_an_account_leads_to_its_history(reader: Visitor, stored: Stored) -> None:
    page = reader.page
    reader.open(f"runs/{stored.run}/actions?status=success")
    reader.settle()
    page.get_by_test_id("actions").locator("[data-row='2']").click()
    page.wait_for_url(re.compile(r"[?&]action=-?\d+\.\d+"))
    details = page.get_by_test_id("action-details")
    call = details.get_by_role("heading", level=2).inner_text()
    details.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    page.goto(f"{link}&status=failed")  # among others it is found all the same
    details.wait_for()
    assert details.get_by_role("heading", level=2).inner_text() == call
    reader.open(f"runs/{stored.run}")
    account = page.locator("#top-accounts tbody th a").first
    name = account.inner_text()
    account.click()
    page.get_by_test_id("explanation").get_by_role("heading", name=name, exact=True).wait_for()
    rows = page.get_by_test_id("agents").locator(".grid-row")
    beyond = "(row) => row.lastElementChild.getBoundingClientRect().right > row.getBoundingClientRect().right"
    assert rows.evaluate_all(f"(all) => all.filter({beyond}).length") == 0  # none lies below the scroll bar
    reader.check()


def test_what_does_not_exist_is_said_in_sentences_with_a_way_back(stranger: Visitor) -> None:
    stranger.expect_failures("404")
    stranger.log_in("sweeps/sweep-zzz")
    problem = stranger.page.get_by_test_id("error")
    problem.get_by_text("Unknown sweep 'sweep-zzz'.").wait_for()
    stranger.page.locator("h1").first.wait_for(state="attached")
    stranger.page.get_by_label("Breadcrumb").get_by_role("link", name="Sweeps").click()
    stranger.page.get_by_role("heading", name="Sweeps", level=1).wait_for()


def test_keys_move_search_and_open(visitor: Visitor, stored: Stored) -> None:
    page = visitor.page
    page.keyboard.press("?")
    page.get_by_test_id("help").get_by_role("heading", name="Keyboard").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type(stored.run)
    page.get_by_text("1 run", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.locator("body").press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/app/runs/{stored.run}*")


def test_the_theme_is_kept(stranger: Visitor) -> None:
    stranger.log_in("worlds")
    stranger.settle()
    back = "getComputedStyle(document.body).backgroundColor"
    light = stranger.page.evaluate(back)
    stranger.page.keyboard.press("t")
    stranger.page.keyboard.press("t")
    dark = stranger.page.evaluate(back)
    assert dark != light
    stranger.page.reload()
    stranger.settle()
    assert stranger.page.evaluate(back) == dark


@pytest.mark.slow(7)
def test_a_log_of_100_000_actions_is_paged_without_a_stall(visitor: Visitor, service: ServiceProcess) -> None:
    store_long_run(service.store, ACTIONS)
    run_id = Store(service.store).run("latest").run_id
    found = scroll_log(visitor.page, service, run_id, screens=40)
    assert visitor.page.get_by_test_id("action-count").inner_text() == "100,000 actions"
    assert found.rows < 200  # it holds few at a time
    assert "999" in found.last  # the last step
    assert max(found.long_tasks_ms, default=0.0) < STALL_MS
