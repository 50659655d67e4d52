"""`mayavi train --grid`: through Ray Tune, killed in the middle and continued; the best is chosen on validation."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("ray", reason="`pip install 'mayavi-sim[rl]'` installs Ray")
pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

from tests.command_server import CommandServer
from tests.parallel.ray_cluster import SHARED_RAY, only_ray

SMALL = (
    "train", "--env", "rwa", "--framework", "sb3", "--set", "num_envs=4", "--set", "rollout_steps=8",
    "--set", "minibatch_size=16", "--set", "epochs=1", "--set", "network=[8]", "--set", "horizon=24",
    "--set", "evaluate_every=null", "--set", "evaluate_episodes=24", "--set", "test_episodes=24",
)  # fmt: skip


def records(models: Path) -> dict[str, dict[str, Any]]:
    return {each.parent.name: json.loads(each.read_text()) for each in models.glob("*/run.json")}


def checkpoints(run: Path) -> list[Path]:
    return list((run / "checkpoints").glob("[0-9]*/checkpoint.json"))


@pytest.mark.slow(20)
def test_a_killed_grid_goes_on_with_no_training_lost_or_done_twice(
    run_mayavi, learning_server: CommandServer, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    options = (
        *SMALL, "--timesteps", "3200", "--set", "checkpoint_every_steps=320", "--grid", "learning_rate=1e-3,1e-5",
        "--seeds", "0:2", "--jobs", "1", "--models", str(models),
    )  # fmt: skip
    with only_ray():
        with open(tmp_path / "killed.log", "wb") as log:
            killed = learning_server.start(options, os.environ, log.fileno(), log.fileno())
        while True:  # until one training is finished and another has a checkpoint
            assert killed.poll() is None, (tmp_path / "killed.log").read_text()
            now = records(models)
            done = {run for run, each in now.items() if each["status"] == "finished"}
            if done and any(checkpoints(models / run) for run in now.keys() - done):
                break
            time.sleep(0.02)
        workers = psutil.Process(killed.pid).children(recursive=True)
        for each in (killed, *workers):  # together, or the training may end before Ray does
            each.kill()
        assert killed.wait() == -signal.SIGKILL
        before = {run: (models / run / "final" / "checkpoint.json").read_bytes() for run in done}
        continued = run_mayavi(*options, "--json", env={"RAY_ADDRESS": SHARED_RAY.address()})
    assert continued.returncode == 0, continued.stderr
    found = json.loads(continued.stdout)

    after = records(models)
    assert len(after) == 4  # none of them twice
    trained = {each["run_id"]: each["seed"] for point in found["points"] for each in point["trainings"]}
    assert sorted(trained) == sorted(after)
    for run, record in after.items():
        assert (record["status"], record["steps"]) == ("finished", 3_200)
        sessions = record["sessions"]
        assert record["config"]["seed"] == trained[run]
        if run in done:
            assert len(sessions) == 1
            assert (models / run / "final" / "checkpoint.json").read_bytes() == before[run]
        else:
            resumed = sum(each["steps"] for each in record["resumes"])
            assert sessions[-1]["steps"] == 3_200 - resumed  # only what was missing
    assert any(record["resumes"] for record in after.values())

    # One table with intervals; the best has the highest validation mean, and it alone met the test episodes.
    means = [point["mean"]["value"] for point in found["points"]]
    assert found["split"] == "validation"
    assert found["best"] == found["points"][means.index(max(means))]["settings"]
    assert all(point["mean"]["low"] < point["mean"]["value"] < point["mean"]["high"] for point in found["points"])
    for run in after:
        played = {each.name.partition("-")[0] for each in (models / run).glob("eval/*.json")}
        assert played == ({"validation", "test"} if run in found["best_runs"] else {"validation"})
    assert len(found["best_runs"]) == 2
    assert Path(found["test"]["file"]).parent == models / "evaluations"
    tested = json.loads(Path(found["test"]["file"]).read_text())
    assert [each["seed"] for each in tested["models"]] == [0, 1]
    assert found["test"]["split"] == "test"

    # Nothing is left to do, and no Ray is started for that.
    again = run_mayavi(*options, "--json")
    assert json.loads(again.stdout) == found
    assert "4 of 4 trainings are finished already" in again.stderr
    assert records(models) == after
    shown = run_mayavi(*options, "--no-eval")
    assert "mean reward on 24 episodes of the validation split" in shown.stdout
    assert "best: learning_rate=" in shown.stdout


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (("--grid", "learning_rat=1,2"), "unknown setting 'learning_rat'", "did you mean 'learning_rate'"),
        (("--seeds", "0:x"), "'0:x' names no seeds", "0:1000"),
        (("--seeds", "0:2", "--seed", "1"), "--seed and --seeds are both given", "--seeds"),
        (("--seeds", "0:2", "--resume"), "a grid takes no --resume", "the same command continues"),
        (("--seeds", "0:2", "--jobs", "0"), "0 is not a number of processes", "1 to 1024"),
        (("--seeds", "0:2", "--jobs", "2", "--ray", "auto"), "--jobs is for this machine", "leave one"),
        (("--seeds", "0:2", "--ray", "auto", "--remote", "modal"), "on a Ray cluster or on Modal", "--ray or --remote"),
        (("--seeds", "0:9", "--remote", "modal"), "9 trainings could cost $51.06", "MAYAVI_MODAL_COST_CEIL_USD"),
        (("--jobs", "2"), "--jobs needs several trainings", "--grid or --seeds"),
    ],
)  # fmt: skip
def test_misuse_of_a_grid_is_told(run_mayavi, tmp_path: Path, options, message: str, hint: str) -> None:
    finished = run_mayavi(*SMALL, *options, "--models", str(tmp_path / "models"))
    assert finished.returncode == 2, finished.stderr
    assert message in finished.stderr
    assert hint in finished.stderr
    assert not list(tmp_path.glob("models/*/run.json"))


@pytest.mark.slow(1)
def test_without_an_account_of_modal_no_training_is_started(run_mayavi, tmp_path: Path) -> None:
    pytest.importorskip("modal", reason="`pip install 'mayavi-sim[rl,modal]'` installs Modal")
    nobody = {"MODAL_TOKEN_ID": "", "MODAL_TOKEN_SECRET": "", "MODAL_CONFIG_PATH": str(tmp_path / "none.toml")}
    models = tmp_path / "models"
    finished = run_mayavi(*SMALL, "--seeds", "3", "--remote", "modal", "--models", str(models), env=nobody)
    assert finished.returncode == 1, finished.stderr
    assert "Modal refused the login" in finished.stderr
    assert "modal token new" in finished.stderr
    assert "trainings failed" not in finished.stderr
    assert not list(models.glob("*/run.json"))


def test_the_heading_names_what_the_grid_does_not_vary() -> None:
    from mayavi.cli.rl.train_grid import grid_heading
    from mayavi.rl.grid.plan import plan_grid

    base = {"env": "rwa", "framework": "sb3", "timesteps": 64}
    plain = grid_heading(plan_grid([base], ["learning_rate=1e-3,3e-4"], "0:2"))
    assert plain.endswith(" · rwa · sb3 ppo · 2 combinations × 2 seeds = 4 trainings of 64 steps")
    varied = grid_heading(plan_grid([base], ["framework=sb3,fast"], "0:2"))
    assert varied.endswith(" · rwa · ppo · 2 combinations × 2 seeds = 4 trainings of 64 steps")
