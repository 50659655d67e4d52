"""The gallery: one command builds reports and the index that links them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mayavi.scenarios import registry
from tests.report.shapes.page_texts import charts


@pytest.mark.slow(1)
def test_the_command_writes_reports_and_an_index(repository: Path, tmp_path: Path) -> None:
    command = [sys.executable, "tools/report_gallery.py", "--out", str(tmp_path), "--only", "aave_borrower"]
    done = subprocess.run(command, cwd=repository, env={"PYTHONPATH": str(repository), **_environment()},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "wrote 1 reports" in done.stdout
    assert '<a href="aave_borrower.html">' in (tmp_path / "index.html").read_text()
    assert "aave_borrower" in (tmp_path / "aave_borrower.html").read_text()


def test_every_scenario_and_every_kind_has_an_example() -> None:
    from tools.report_gallery import examples

    names = [each.name for each in examples()]
    assert {*registry.names(), "sweep", "compare", "incident", "backtest"} <= set(names)


def test_an_unknown_example_is_refused(tmp_path: Path) -> None:
    from tools.report_gallery import build

    with pytest.raises(SystemExit, match="no example is called 'none'"):
        build(tmp_path, ["none"])


@pytest.mark.slow(10)
def test_an_example_of_a_portfolio(tmp_path: Path) -> None:
    from tools.report_gallery import build

    ((name, page),) = build(tmp_path, ["backtest"])
    assert name == "backtest"
    assert charts(page)


def _environment() -> dict[str, str]:
    import os

    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
