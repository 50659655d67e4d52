"""Environments pass the public checkers and repeat their episodes; one that does not is named."""

from __future__ import annotations

import sys

import pytest

from mayavi.errors import UnknownName
from mayavi.gym_env.registry import ENVS, Entry
from mayavi.validation.gate import GateContext
from mayavi.validation.gates.envs import EnvsGate
from mayavi.validation.run import run_gate


@pytest.mark.slow(0.3)
def test_a_single_and_a_multi_agent_environment_pass() -> None:
    report = run_gate(EnvsGate(["rwa", "market"]), GateContext()).report
    assert report.first_difference == ""
    assert report.parts == {"rwa": 3, "market": 2}


@pytest.mark.slow(0.4)
def test_an_episode_that_is_not_the_same_again_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry("drifting", "", "tests.validation.gates.drifting_env:DriftingEnv", "never the same")
    monkeypatch.setitem(ENVS, "drifting", entry)
    report = run_gate(EnvsGate(["drifting"]), GateContext()).report
    assert report.verdict == "failed"
    assert report.first_difference.startswith("drifting, seeded_episode: step 1 gave ")


def test_an_unknown_environment_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown environment 'aaave'"):
        EnvsGate(["aaave"]).run(GateContext(), lambda done, total: None)


def test_without_the_extra_the_gate_is_skipped_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    report = run_gate(EnvsGate(["rwa"]), GateContext()).report
    assert report.verdict == "skipped"
    assert "mayavi-sim[rl]" in report.reason
