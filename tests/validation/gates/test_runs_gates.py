"""The gates `artifacts` and `determinism` pass on what we ship and name what is wrong."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mayavi.runs.bundle import Check
from mayavi.sim.world_state import WorldState
from mayavi.validation.gate import GateContext
from mayavi.validation.gates import artifacts
from mayavi.validation.gates.artifacts import ArtifactsGate
from mayavi.validation.gates.determinism import SMALLER, DeterminismGate
from mayavi.validation.run import run_gate


def test_a_bundle_verifies_and_every_changed_byte_is_refused() -> None:
    seen: list[tuple[int, int]] = []
    gate = ArtifactsGate(training=False)
    report = run_gate(gate, GateContext(), progress=lambda done, total: seen.append((done, total))).report
    assert report.notes == ("1 not compared: the bundle of a scan: no folder of recorded chain data",)
    assert report.first_difference == ""
    assert report.parts["digests of the repeated run"] == 3
    assert report.parts["changed bytes"] >= 64
    assert report.parts["replaced files"] == 5
    assert seen[-1][0] == seen[-1][1] >= 64


@pytest.mark.slow(12)
def test_scans_and_trainings_become_bundles_that_verify(cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run_gate(ArtifactsGate(changes=8), GateContext(cases)).report
    assert report.first_difference == ""
    assert report.parts["digests of the repeated scan"] == 2
    if find_spec("stable_baselines3"):
        assert report.parts["digests of the repeated evaluation"] == 2
    monkeypatch.setattr(artifacts, "scan_checks", lambda blocks, folder: (Check("executed blocks", "1", "2"),))
    monkeypatch.setattr(artifacts, "training_checks", lambda folder: (Check("eval/test", "1", "2"),))
    report = run_gate(ArtifactsGate(changes=8), GateContext(cases)).report
    assert report.verdict == "failed"
    assert report.first_difference == "executed blocks: the bundle says 1, the repeated scan 2"


def test_without_the_packages_for_training_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    report = run_gate(ArtifactsGate(changes=8), GateContext()).report
    assert report.verdict == "passed"
    assert "1 not compared: the bundle of a training: the extra 'rl' is not installed" in report.notes


def test_a_changed_byte_that_nobody_notices_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "read_artifact", lambda path: None)
    report = run_gate(ArtifactsGate(training=False), GateContext()).report
    assert report.verdict == "failed"
    assert "was changed, and nothing noticed" in report.first_difference


def test_a_repeated_run_that_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = artifacts._run_again
    monkeypatch.setattr(artifacts, "_run_again", lambda run: replace(real(run), digest="0" * 64))
    report = run_gate(ArtifactsGate(training=False), GateContext()).report
    assert report.verdict == "failed"
    assert report.first_difference.startswith("rows: the bundle says ")


@pytest.mark.slow(1)
def test_a_scenario_of_the_library_is_deterministic() -> None:
    report = run_gate(DeterminismGate(["aave_borrower"]), GateContext()).report
    assert report.first_difference == ""
    assert report.parts == {"aave_borrower": 4}


@pytest.mark.slow(2)
def test_random_numbers_without_a_seed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    unseeded = np.random.default_rng()
    monkeypatch.setattr(WorldState, "rng", lambda self, name: unseeded)
    report = run_gate(DeterminismGate(["vesting_cliff"]), GateContext()).report
    assert report.verdict == "failed"
    assert report.first_difference.startswith("vesting_cliff, again: row ")


def test_an_unknown_scenario_fails_and_says_which(tmp_path: Path) -> None:
    report = run_gate(DeterminismGate(["aave_borower"]), GateContext()).report
    assert report.first_difference == "unknown scenario 'aave_borower'"


def test_only_scenarios_of_the_library_are_made_smaller() -> None:
    from mayavi.scenarios.registry import names

    assert set(SMALLER) <= set(names())
