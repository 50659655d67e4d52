"""`mayavi train --framework fast`: its runs are evaluated, bundled, reported, resumed and compared like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed; `pip install 'mayavi-sim[rl]'` installs it")

from tests.rl.training.train_process import weights_digest

SMALL = (
    "--framework", "fast", "--set", "num_envs=8", "--set", "rollout_steps=16", "--set", "minibatch_size=64",
    "--set", "network=[16, 16]", "--set", "horizon=6", "--set", "test_episodes=24",
)  # fmt: skip


@pytest.fixture(scope="module")
def trained(run_mayavi, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Printed object of a training with continuous actions, and its folder of models."""
    models = tmp_path_factory.mktemp("models")
    options = ("--timesteps", "256", "--seed", "5", "--device", "cpu", "--set", "actions=continuous")
    finished = run_mayavi("train", "--env", "aave", *SMALL, *options, "--models", str(models), "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout), models


@pytest.mark.slow
def test_it_is_evaluated_bundled_and_reported(run_mayavi, trained: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    told, models = trained
    assert (told["steps"], told["device"], told["evaluation"]["episodes"]) == (256, "cpu", 24)
    there = (told["run_id"], "--models", str(models))
    noise = ("--noise-actions", "0.2", "--noise-observations", "0.05", "--checkpoints", "all", "--json")
    evaluated = run_mayavi("eval", *there, "--episodes", "24", "--against", "noop", *noise)
    assert evaluated.returncode == 0, evaluated.stderr
    assert json.loads(evaluated.stdout)["models"][0]["framework"] == "fast"
    bundle = str(tmp_path / "bundle.zip")
    written = run_mayavi("artifact", *there, "--output", bundle)
    assert written.returncode == 0, written.stderr
    verified = run_mayavi("artifact", "verify", bundle)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    reported = run_mayavi("report", *there, "--out", str(tmp_path / "page.html"))
    assert reported.returncode == 0, reported.stderr
    assert "fast ppo on aave" in (tmp_path / "page.html").read_text()
    listed = run_mayavi("trainings", "show", *there)
    assert "fast ppo" in listed.stdout


@pytest.mark.slow
def test_it_is_trained_further(run_mayavi, trained: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    import shutil

    told, models = trained
    shutil.copytree(models / told["run_id"], tmp_path / told["run_id"])
    more = run_mayavi(
        "train", told["run_id"], "--resume", "--timesteps", "512", "--no-eval", "--models", str(tmp_path), "--json"
    )
    assert more.returncode == 0, more.stderr
    resumed = json.loads(more.stdout)
    assert (resumed["steps"], resumed["resumed_from"], resumed["exact"]) == (512, 256, True)
    options = ("--timesteps", "512", "--seed", "5", "--set", "actions=continuous", "--no-eval", "--json")
    at_once = run_mayavi("train", "--env", "aave", *SMALL, *options, "--models", str(tmp_path))
    whole = json.loads(at_once.stdout)["run_id"]
    assert weights_digest(whole, tmp_path) == weights_digest(told["run_id"], tmp_path)
