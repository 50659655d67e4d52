"""What tests of reports share: a store with a run of every scenario, and a browser that looks at pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mayavi.report.output import write_html
from mayavi.scenarios import registry
from mayavi.scenarios.run.run import run
from mayavi.sim.store import Store
from tests.chromium import launched_chromium
from tests.report.browser import Looked, Viewer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SHORTER = {
    "curve_depeg": [
        "agents.holders.count=20",
        "agents.savers.count=10",
        "agents.loopers.count=2",
        "prices.USDC={process: step, at: 1, size: -12%}",
    ],
    "depeg_cascade": ["agents.borrowers.count=30"],
    "morpho_depeg": ["agents.loopers.count=12", "agents.stakers.count=4"],
    "steth_depeg": [
        "agents.stakers.count=12",
        "agents.others.count=4",
        "prices.wstETH={process: step, at: 2, size: -6.5%}",
    ],
}
STEPS = {"curve_depeg": 5, "depeg_cascade": 6, "morpho_depeg": 6, "multi_cohort": 30, "steth_depeg": 5}
CheckPage = Callable[[Path], Looked]


@pytest.fixture(scope="session")
def library_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with one short run of every scenario of the library."""
    path = tmp_path_factory.mktemp("report") / "runs.duckdb"
    for name in registry.names():
        run(name, seed=3, steps=STEPS.get(name), overrides=SHORTER.get(name, ()), store=path)
    return Store(path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium per module: while it is there, no other test can run an event loop.

    Skipped without one, failed where MAYAVI_REQUIRE_CHROMIUM=1.
    """
    with launched_chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def viewer(browser: Browser) -> Iterator[Viewer]:
    """A tab of that browser."""
    viewer = Viewer(browser)
    yield viewer
    viewer.context.close()


@pytest.fixture(scope="module")
def check_page(viewer: Viewer) -> CheckPage:
    """Look at a page and assert what holds for every page; return what was found."""

    def check(path: Path) -> Looked:
        found = viewer.look_at(path)
        assert found.console == []
        assert found.requests == []
        assert found.empty == []
        assert found.findings == {"light": [], "dark": []}
        assert found.overflow <= 0
        assert path.stat().st_size <= 2_500_000
        return found

    return check


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Write HTML to a file of the test."""
    return lambda html: write_html(html, tmp_path / "page.html")
