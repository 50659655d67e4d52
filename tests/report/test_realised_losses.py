"""Pages of runs whose bad debt is owed no longer: Aave V3.6 burnt it as a deficit, or Morpho's suppliers bore it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.report.builder import run_page
from mayavi.report.page import Page, Table
from mayavi.report.render import render
from mayavi.scenarios.run.run import run
from mayavi.sim.store import Store

WORDS = "debt that Aave burnt and counts against the reserve"
CRASH = "prices.WETH={process: step, at: 2, size: -55%}"
MANY, ONE = "agents.borrowers.count=30", "agents.borrowers.count=1"


def ran(store: Path, *overrides: str) -> tuple[Page, dict[str, float]]:
    done = run("depeg_cascade", seed=7, steps=6, overrides=[CRASH, *overrides], store=store)
    return run_page(Store(store), done.run_id), dict(done.kpis)


def labels(page: Page) -> list[str]:
    return [tile.label for tile in page.tiles]


def notes(page: Page) -> list[str]:
    return [block.note for section in page.sections for block in section.blocks if isinstance(block, Table)]


@pytest.mark.slow
def test_a_deficit_stands_beside_bad_debt(tmp_path: Path) -> None:
    page, kpis = ran(tmp_path / "runs.duckdb", MANY, "world=ethereum@2025-12")
    assert kpis["deficit"] > 0
    assert labels(page)[:2] == ["Bad debt", "Deficit"]
    assert len(labels(page)) == 6
    assert (page.tiles[1].change, page.tiles[1].tone) == (WORDS, "bad")
    assert f"deficit: {WORDS}" in notes(page)
    assert page.hero is not None
    assert page.hero.title.startswith("Bad debt appears when WETH is at −55")
    (line,) = [trace for trace in page.hero.traces if trace["name"] == "bad debt"]
    assert line["y"][-1] == pytest.approx(kpis["bad_debt"], rel=1e-6)
    (told,) = [each for each in page.summary if "Aave burns" in each]
    assert told.endswith("of debt without collateral: a deficit of its reserves.")
    assert "no collateral left" not in " ".join(page.summary)
    assert WORDS in render(page)


@pytest.mark.slow(0.5)
def test_the_page_of_one_borrower_has_its_deficit(tmp_path: Path) -> None:
    page, kpis = ran(tmp_path / "runs.duckdb", ONE, "world=ethereum@2025-12", "agents.borrowers.health_factor=1.05")
    assert kpis["deficit"] > 0
    assert labels(page)[-2:] == ["Bad debt", "Deficit"]


@pytest.mark.slow(0.5)
def test_older_worlds_have_no_deficit(tmp_path: Path) -> None:
    page, kpis = ran(tmp_path / "runs.duckdb", MANY)
    assert kpis["bad_debt"] > 0
    assert "deficit" not in kpis
    assert "Deficit" not in labels(page)
    assert "Still liquidatable" in labels(page)
    assert WORDS not in render(page)
    (told,) = [each for each in page.summary if each.startswith("At the end")]
    assert f"in {kpis['bad_debt_accounts']:.0f} accounts has no collateral left" in told


@pytest.mark.slow(3)
def test_suppliers_bear_bad_debt_on_morpho(library_store: Store) -> None:
    page = run_page(library_store, library_store.runs(scenario="morpho_depeg")[0].run_id)
    assert any(each.startswith("Suppliers bear $") for each in page.summary)
    assert "no collateral left" not in " ".join(page.summary)
