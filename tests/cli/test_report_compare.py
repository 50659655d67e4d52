"""`mayavi report compare` and reports of sweeps and files, as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report.shapes.stored_runs import SWEEP, lending, store_run, store_sweep


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compared") / "runs.duckdb"
    store_run(path, 1, lending(100.0, 5.0), "run-one")
    store_run(path, 1, lending(150.0, 5.0), "run-moved", overrides=["agents.borrowers.count=50"])
    store_sweep(path, {(): {seed: lending(seed, 5.0) for seed in range(5)}})
    return path


def test_a_comparison_is_written(run_mayavi, store: Path, tmp_path: Path) -> None:
    done = run_mayavi("report", "compare", "run-one", "run-moved", "--store", str(store), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["html"], found["badge"]) == ("comparison.html", "DIFFERENT")
    assert "agents.borrowers.count" in (tmp_path / "comparison.html").read_text(encoding="utf-8")


@pytest.mark.slow(0.3)
def test_a_sweep_is_reported_by_its_id(run_mayavi, store: Path, tmp_path: Path) -> None:
    done = run_mayavi("report", SWEEP, "--store", str(store), "--out", str(tmp_path / "sweep.html"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("INDETERMINATE: In 95 % of all cases bad debt stays below")
    assert (tmp_path / "sweep.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "run-one"), "at least two runs"),
        (("compare", "run-one", "nobody"), "unknown run 'nobody'"),
        (("none.json",), "there is no file 'none.json'"),
        (("latest", "--kind", "swep"), "unknown kind 'swep'"),
    ],
)
def test_misuse_is_exit_code_2(run_mayavi, store: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run_mayavi("report", *arguments, "--store", str(store))
    assert done.returncode == 2
    assert message in done.stderr
