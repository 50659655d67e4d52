"""The documentation: examples run and print what the pages show, links and anchors lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.pages import DOCS, REPOSITORY, Page, page, pages

PRINTS = {
    each.name: each
    for each in [
        page("concepts/runs.md"),
        page("concepts/prices.md"),
        page("how-to/change-parameters.md"),
        page("how-to/find-decisive-assumptions.md"),
        page("how-to/write-an-agent.md"),
        page("how-to/write-reports.md"),
        page("how-to/record-figures.md"),
        page("how-to/replay-an-incident.md"),
        page("reference/rwa-market.md"),
        *pages("reference/protocols"),
    ]
}
"""Pages whose Python blocks build on each other and are followed by what they print."""

SLOW = {
    "docs/how-to/learn-in-a-scenario.md": True,
    "docs/reference/environments.md": True,
    "docs/how-to/allocate-a-portfolio.md": False,
}
"""The same, but slow. False: every block stands alone."""

OF_THEIR_OWN = {
    "README.md": "tests/test_repository.py",
    "docs/tutorials/first-stress-test.md": "tests/test_tutorial.py",
    "docs/how-to/write-a-scenario.md": "tests/scenarios/test_pages.py",
    "docs/how-to/use-your-own-contracts.md": "tests/scenarios/test_own_contracts_page.py",
    "docs/how-to/use-the-service.md": "tests/client/test_page.py",
    "docs/how-to/read-results-over-http.md": "tests/api/reading/test_page.py",
    "docs/how-to/evaluate.md": "tests/rl/evaluation/test_page.py",
    "docs/how-to/backtest.md": "tests/portfolio/backtest/test_docs.py",
    "docs/reference/database.md": "tests/sim/store/test_database_page.py",
}
"""Pages that a test of their own runs, because they need a store, a command or a file."""

UNTYPED = {"CurveStableSwap"}
"""Public names that a package does not name for type checkers, so that the site cannot show them."""

FRAGMENTS = {
    "docs/how-to/use-from-python.md": "lines that need a node, an ABI or arrays of the reader's",
    "docs/how-to/train.md": "needs a finished training run",
    "docs/how-to/train-offline.md": "needs a snapshot of a node's state",
    "docs/studies/liquidator.md": "needs five finished training runs",
    "docs/studies/shock.md": "needs five finished training runs",
    "docs/studies/vesting.md": "needs five finished training runs",
}
"""Pages whose blocks are compiled only, and why."""


def all_pages() -> list[Page]:
    listed = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "CHANGELOG.md"]
    return [Page(path) for path in [*listed, *sorted(DOCS.rglob("*.md"))]]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for every page: models and databases are written there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAYAVI_STORE", str(tmp_path / "runs.duckdb"))
    return tmp_path


@pytest.mark.parametrize("name", PRINTS)
def test_a_page_prints_what_it_shows(name: str) -> None:
    PRINTS[name].run_python()


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_slow_page_prints_what_it_shows(name: str, own_folder: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")
    assert len(Page(REPOSITORY / name).run_python(shared=SLOW[name])) >= 2
    trains = name == "docs/how-to/allocate-a-portfolio.md"
    assert (own_folder / "data" / "yield-router" / "run.json").is_file() == trains


def test_every_page_with_python_is_run_by_a_test() -> None:
    with_python = {each.name for each in all_pages() if each.blocks("python")}
    assert with_python == {*PRINTS, *SLOW, *OF_THEIR_OWN, *FRAGMENTS}
    for name in FRAGMENTS:
        for block in Page(REPOSITORY / name).blocks("python"):
            compile(block, name, "exec")
    for test in OF_THEIR_OWN.values():
        assert (REPOSITORY / test).is_file()


@pytest.mark.parametrize("each", all_pages(), ids=lambda each: each.name)
def test_links_and_anchors_lead_somewhere(each: Page) -> None:
    dead = []
    for link in each.links():
        path, _, anchor = link.partition("#")
        target = (each.path.parent / path).resolve() if path else each.path
        if not target.exists() or (anchor and anchor not in Page(target).anchors()):
            dead.append(link)
    assert dead == []


@pytest.mark.slow(0.3)
def test_every_page_that_the_sources_name_exists() -> None:
    missing = []
    for folder in ("mayavi", "tests", "tools", "benchmarks", "examples"):
        for path in (REPOSITORY / folder).rglob("*"):
            if path.suffix not in {".py", ".ipynb", ".yaml"}:
                continue
            for name in re.findall(r"\bdocs/[\w/.-]+\.(?:md|yaml)\b", path.read_text(encoding="utf-8")):
                if not (REPOSITORY / name).is_file():
                    missing.append(f"{path.relative_to(REPOSITORY)}: {name}")
    assert missing == []


@pytest.mark.slow
def test_the_site_builds_in_strict_mode(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="`make docs` installs it")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DOCS_SIGNATURES": "false"},
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "search" / "search_index.json").is_file()
    for package in ("agents", "evm", "markets", "portfolio", "protocols", "sim"):
        text = (tmp_path / "site" / "reference" / "api" / package / "index.html").read_text(encoding="utf-8")
        shown = set(re.findall(rf'id="mayavi\.{package}\.(\w+)"', text))
        assert set(import_module(f"mayavi.{package}").__all__) - shown <= UNTYPED
    start = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src=|<link [^>]*href=)\"https?:", start), "the site would load something from the network"
