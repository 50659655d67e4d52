"""The gates `artifacts` and `determinism` pass on what we ship and name what is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mayavi.sim.world_state import WorldState
from mayavi.validation.gate import GateContext
from mayavi.validation.gates import artifacts
from mayavi.validation.gates.artifacts import ArtifactsGate
from mayavi.validation.gates.determinism import SMALLER, DeterminismGate
from mayavi.validation.run import run_gate


def test_a_bundle_verifies_and_every_changed_byte_is_refused() -> None:
    seen: list[tuple[int, int]] = []
    report = run_gate(ArtifactsGate(), GateContext(), progress=lambda done, total: seen.append((done, total))).report
    assert report.first_difference == ""
    assert report.parts["digests of the repeated run"] == 3
    assert report.parts["changed bytes"] >= 64
    assert report.parts["replaced files"] == 5
    assert seen[-1][0] == seen[-1][1] >= 64


def test_a_changed_byte_that_nobody_notices_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "read_artifact", lambda path: None)
    report = run_gate(ArtifactsGate(), GateContext()).report
    assert report.verdict == "failed"
    assert "was changed, and nothing noticed" in report.first_difference


def test_a_repeated_run_that_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = artifacts._run_again
    monkeypatch.setattr(artifacts, "_run_again", lambda run: replace(real(run), digest="0" * 64))
    report = run_gate(ArtifactsGate(), GateContext()).report
    assert report.verdict == "failed"
    assert report.first_difference.startswith("rows: the bundle says ")


def test_a_scenario_of_the_library_is_deterministic() -> None:
    report = run_gate(DeterminismGate(["aave_borrower"]), GateContext()).report
    assert report.first_difference == ""
    assert report.parts == {"aave_borrower": 4}


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
