"""Pages of sweeps, trainings, backtests, incidents and comparisons in a headless Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mayavi.report.render import render
from mayavi.report.shapes.backtests.backtest import backtest_page
from mayavi.report.shapes.compare import compare_page
from mayavi.report.shapes.learning.training import training_page
from mayavi.report.shapes.replays.incident import incident_page
from mayavi.report.shapes.sweeps.sweep import sweep_page
from mayavi.sim.store import Store
from tests.report.shapes.stored_runs import kpi, store_sweep

if TYPE_CHECKING:
    from tests.report.browser import Viewer
    from tests.report.conftest import CheckPage

pytestmark = pytest.mark.slow(4)
Write = Callable[[str], Path]


def test_a_sweep_with_a_grid(grid: Store, check_page: CheckPage, viewer: Viewer, written: Write) -> None:
    assert check_page(written(render(sweep_page(grid, "latest")))).charts >= 5
    cells = viewer.page.locator("#answer-0 .heatmap-label, #answer-0 text").all_text_contents()
    assert "$0" in cells  # text, and not the colour of that name


def test_odd_sweeps(check_page: CheckPage, written: Write, tmp_path: Path) -> None:
    empty = store_sweep(tmp_path / "empty.duckdb", {}, seeds=range(3), status="interrupted")
    check_page(written(render(sweep_page(empty, "latest"))))
    name = "bad_debt.</script><script>alert(1)</script>"
    hostile = store_sweep(tmp_path / "odd.duckdb", {(): {0: [kpi(name, 1e300)], 1: [kpi(name, float("nan"))]}})
    check_page(written(render(sweep_page(hostile, "latest"))))


def test_a_training_with_five_seeds(trainings: Path, check_page: CheckPage, written: Write) -> None:
    assert check_page(written(render(training_page("chase-4", trainings)))).charts >= 6


def test_a_backtest(drawn: dict[str, Any], check_page: CheckPage, written: Write) -> None:
    assert check_page(written(render(backtest_page(drawn)))).charts >= 5


def test_an_incident(incident: dict[str, Any], check_page: CheckPage, written: Write) -> None:
    assert check_page(written(render(incident_page(incident)))).charts >= 3


def test_a_comparison(grid: Store, check_page: CheckPage, written: Write) -> None:
    ids = [each.run_id for each in grid.runs()[:2]]
    assert check_page(written(render(compare_page(grid, ids)))).charts >= 1
