"""The report in a bundle: the same bytes for the same run, verified by rendering it again."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from mayavi.report.bundled import run_report
from mayavi.scenarios.run.run import run
from mayavi.sim.store import Store
from mayavi.sim.store.artifact import BundledRun, Outcome, read_artifact, verify_artifact, write_artifact


def outcome(bundled: BundledRun) -> Outcome:
    """The outcome of a repetition that gave the same; tests/cli/test_artifact.py repeats runs."""
    return Outcome(bundled.digest, bundled.world_digest, bundled.final_world_digest, bundled.versions)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Bundles of the same run, made twice."""
    folder = tmp_path_factory.mktemp("bundles")
    found = []
    for name in ("one", "two"):
        store = folder / f"{name}.duckdb"
        made = run("aave_borrower", seed=5, steps=3, store=store)
        write_artifact(Store(store), made.run_id, folder / f"{name}.zip", run_report)
        found.append(folder / f"{name}.zip")
    return found


@pytest.mark.slow
def test_two_runs_give_the_same_bytes_with_their_report(bundles: list[Path]) -> None:
    assert bundles[0].read_bytes() == bundles[1].read_bytes()
    page = read_artifact(bundles[0])[0].text("report.html")
    assert "seed 5 · from a bundle" in page
    assert "1970" not in page.partition("<script")[0]  # no time of the run


@pytest.mark.slow(1)
def test_verification_renders_the_report_again(bundles: list[Path]) -> None:
    checks = {each.name: each for each in verify_artifact(bundles[0], outcome, run_report).checks}
    assert checks["report"].equal

    def other(bundled: BundledRun, tables: Any) -> bytes:
        return run_report(bundled, tables) + b"<!-- -->"

    assert not verify_artifact(bundles[0], outcome, other).verified


def test_a_report_of_another_version_is_not_compared(bundles: list[Path]) -> None:
    def newer(bundled: BundledRun) -> Outcome:
        return Outcome(bundled.digest, bundled.world_digest, bundled.final_world_digest, {"mayavi": "99"})

    names = [each.name for each in verify_artifact(bundles[0], newer, run_report).checks]
    assert "report" not in names


def test_a_bundle_without_a_report_verifies_too(bundles: list[Path], tmp_path: Path) -> None:
    store = Store(bundles[0].parent / "one.duckdb")
    write_artifact(store, "latest", tmp_path / "plain.zip")
    with zipfile.ZipFile(tmp_path / "plain.zip") as archive:
        assert "report.html" not in archive.namelist()
    assert verify_artifact(tmp_path / "plain.zip", outcome, run_report).verified
