"""The dashboard in a browser: its first load, and paging through a run of 100,000 actions."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, Unavailable
from benchmarks.run_report import ACTIONS, QUICK_ACTIONS, store_run
from benchmarks.subjects.service import ServiceProcess
from mayavi.report.output import find_chromium
from mayavi.sim.store import Store

if TYPE_CHECKING:
    from playwright.sync_api import Page

DASHBOARD = Path(__file__).resolve().parent.parent / "mayavi/api/dashboard/index.html"
SCREENS, QUICK_SCREENS = 200, 20
FIRST_LOAD_KB, LONG_TASK_MS = 600.0, 200.0
WATCH = """() => {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((each) => each.duration)))
    .observe({ type: 'longtask' });
}"""
SCROLL = """async (screens) => {
  const view = document.querySelector('.grid-view');
  const frames = [];
  let before = performance.now();
  for (let at = 1; at <= screens; at += 1) {
    view.scrollTop = view.scrollHeight * at / screens;
    await new Promise((done) => requestAnimationFrame(done));
    frames.push(performance.now() - before);
    before = performance.now();
  }
  await new Promise((done) => setTimeout(done, 500));
  return { frames, tasks: window.longTasks, rows: document.querySelectorAll('.grid-view [role=row]').length };
}"""
TRANSFERRED = """() => performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
  .filter((each) => each.name.includes('/app/')).reduce((sum, each) => sum + each.encodedBodySize, 0)"""


@dataclass(frozen=True)
class Scrolled:
    """What happened while a log was scrolled from its first to its last action."""

    frames_ms: list[float]
    long_tasks_ms: list[float]
    rows: int
    """Rows in the document: those that are visible, and a few."""
    last: str
    """Text of the last row."""


def measure(effort: Effort) -> Section:
    """Open the dashboard, measure its first load, and scroll through the log of a long run."""
    program = find_chromium()
    if program is None or not DASHBOARD.is_file():
        raise Unavailable(
            "the dashboard needs Chromium and its own build",
            "`apt install chromium`; `make setup` builds it",
        )
    from playwright.sync_api import sync_playwright

    count = QUICK_ACTIONS if effort.quick else ACTIONS
    section = Section("dashboard", f"dashboard in Chromium: first load, and the log of {count:,} actions")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        service = ServiceProcess(Path(place))
        store_run(service.store, count)
        run_id = Store(service.store).run("latest").run_id
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        with service:
            tab = browser.new_page()
            first = first_load(tab, service)
            scrolled = scroll_log(tab, service, run_id, QUICK_SCREENS if effort.quick else SCREENS)
        browser.close()
    section.rows.append(Row("first load, to the list of runs", first))
    frames, tasks = sorted(scrolled.frames_ms), scrolled.long_tasks_ms
    figures = {
        "median_frame": Quantity(frames[len(frames) // 2], "ms"),
        "slowest_frame": Quantity(frames[-1], "ms"),
        "long_tasks": Quantity(len(tasks), ""),
        "longest_task": Quantity(max(tasks, default=0.0), "ms"),
        "rows_in_the_page": Quantity(scrolled.rows, ""),
    }
    section.rows.append(Row(f"log scrolled from end to end in {len(frames)} jumps", figures))
    section.targets.append(Target("dashboard, first load", Quantity(FIRST_LOAD_KB, "kB"), first["transferred"]))
    if not effort.quick:
        limit = Quantity(LONG_TASK_MS, "ms")
        section.targets.append(Target("dashboard, longest task while scrolling", limit, figures["longest_task"]))
    return section


def first_load(tab: Page, service: ServiceProcess) -> dict[str, Quantity]:
    """Log in and wait for the list of runs; return seconds and what was transferred of the dashboard."""
    began = time.perf_counter()
    tab.goto(f"{service.url}/app/")
    tab.get_by_label("API key").wait_for()
    shown = time.perf_counter() - began
    tab.get_by_label("API key").fill(service.key)
    began = time.perf_counter()
    tab.get_by_role("button", name="Log in", exact=True).click()
    tab.get_by_test_id("runs").wait_for()
    listed = time.perf_counter() - began
    return {
        "login_page": Quantity(shown, "s"),
        "runs_after_login": Quantity(listed, "s"),
        "transferred": Quantity(tab.evaluate(TRANSFERRED) / 1000, "kB"),
    }


def scroll_log(tab: Page, service: ServiceProcess, run_id: str, screens: int) -> Scrolled:
    """Scroll through the action log of a run; the visitor of `tab` is logged in."""
    tab.goto(f"{service.url}/app/runs/{run_id}/actions")
    tab.locator(".grid-view [role=row]").first.wait_for()
    tab.evaluate(WATCH)
    found: dict[str, Any] = tab.evaluate(SCROLL, screens)
    last = tab.locator(".grid-view [role=row]").last
    last.locator("text=agent-99").wait_for()
    return Scrolled(found["frames"], found["tasks"], found["rows"], last.inner_text())
