"""Grids: what is trained, what is refused, and which settings are the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

from mayavi.errors import CheckpointError, CostCeiling, UnknownName, UsageError
from mayavi.rl.grid.journal import JOURNAL, assign_runs
from mayavi.rl.grid.plan import plan_grid
from mayavi.rl.grid.result import PointResult, TrainedRun, best_point, summarise_point, with_differences
from tests.rl import chase_env

assert chase_env.ChaseEnv
CHASE = {"env": "chase", "framework": "sb3", "timesteps": 64}


def test_every_combination_is_trained_with_every_seed() -> None:
    plan = plan_grid([CHASE], ["learning_rate=1e-3,3e-4", "env.horizon=4,8"], "0:2,7")
    assert len(plan.tasks) == 2 * 2 * 3
    assert plan.points[1] == ("learning_rate=1e-3", "env.horizon=8")
    first = plan.tasks[0].config
    assert (first.learning_rate, first.env_config, first.seed) == (1e-3, {"horizon": 4}, 0)
    assert [each.seed for each in plan.tasks] == [0] * 4 + [1] * 4 + [7] * 4
    assert plan.base.env_config == {}  # policies are compared on the environment without the grid's values

    again = plan_grid([CHASE], ["learning_rate=1e-3,3e-4", "env.horizon=4,8"], "0:2,7")
    assert again.grid_id == plan.grid_id
    other = plan_grid([CHASE | {"gamma": 0.9}], ["learning_rate=1e-3,3e-4", "env.horizon=4,8"], "0:2,7")
    assert not {each.key for each in other.tasks} & {each.key for each in plan.tasks}
    # What changes no weights changes no training.
    same = plan_grid([CHASE | {"test_episodes": 7, "checkpoint_every_s": 5}], ["learning_rate=1e-3,3e-4"], "3")
    assert [e.key for e in same.tasks] == [e.key for e in plan_grid([CHASE], ["learning_rate=1e-3,3e-4"], "3").tasks]


def test_rllib_of_a_grid_plays_in_its_own_process() -> None:
    (task,) = plan_grid([{"env": "chase", "timesteps": 64, "seed": 4}], []).tasks
    assert (task.config.runners, task.seed, task.config.framework) == (0, 4, "rllib")
    assert plan_grid([{"env": "chase", "runners": 2}], []).tasks[0].config.runners == 2


@pytest.mark.parametrize(
    ("axes", "seeds", "message", "hint"),
    [
        (["learning_rat=1,2"], "0:2", "unknown setting 'learning_rat'", "did you mean 'learning_rate'"),
        (["horizn=1,2"], "0:2", "unknown setting 'horizn'", "did you mean 'horizon'?"),
        (["learning_rate"], "0:2", "'learning_rate' is not a valid axis of a grid", "its values"),
        (["learning_rate=1e-3,"], "0:2", "is empty", "single commas"),
        (["learning_rate=fast"], "0:2", "setting 'learning_rate' is 'fast'", ""),
        (["learning_rate=1e-3,0.001"], "0:2", "two points of the grid are the same training", "mean the same"),
        (["gamma=0.9", "gamma=0.8"], "0:2", "'gamma' is given to --grid twice", ""),
        (["seed=1,2"], None, "a grid cannot vary 'seed'", "--seeds"),
        (["env=aave,rwa"], None, "a grid cannot vary 'env'", "cannot be compared"),
        (["evaluate_episodes=8,9"], None, "a grid cannot vary 'evaluate_episodes'", "the same episodes"),
        (["watches=2,3"], None, "watches=3 changes what a policy observes or does", "--set"),
        (["algorithm=ppo,sac"], None, "SAC needs continuous actions", "actions=continuous"),
        (["gamma=0.9"], "0:", "'0:' names no seeds", "0:1000"),
        (["gamma=0.9"], "5:2", "'5:2' holds no seed", ""),
        (["gamma=0.9"], "a", "'a' names no seeds", ""),
        (["gamma=0.9"], "1,1", "seed 1 is given twice", ""),
        (["gamma=0.9"], "0:20000", "20,000 trainings are more than a grid holds", "10,000"),
    ],
)  # fmt: skip
def test_misuse_is_refused_before_anything_is_trained(
    axes: list[str], seeds: str | None, message: str, hint: str
) -> None:
    with pytest.raises((UsageError, UnknownName)) as refused:
        plan_grid([CHASE], axes, seeds)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize("axes", [["gamma=0.9,0.8"], []])
def test_a_market_has_no_best_settings(axes: list[str]) -> None:
    with pytest.raises(UsageError, match="depends on the opponents trained with it") as refused:
        plan_grid([{"env": "market"}], axes, "0:2")
    assert "mayavi eval RUN RUN" in (refused.value.hint or "")


def test_ids_are_written_down_before_and_found_again(tmp_path: Path) -> None:
    plan = plan_grid([CHASE], ["gamma=0.9,0.8"], "0:2")
    runs = assign_runs(tmp_path, plan.tasks)
    assert len(set(runs.values())) == 4
    assert assign_runs(tmp_path, plan.tasks) == runs
    more = assign_runs(tmp_path, plan_grid([CHASE], ["gamma=0.9,0.8"], "0:3").tasks)
    assert runs.items() < more.items()
    (tmp_path / JOURNAL).write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read"):
        assign_runs(tmp_path, plan.tasks)


def point(*means: float, failed: dict[int, str] | None = None) -> PointResult:
    noise = np.random.default_rng(1).normal(0, 0.1, 40)
    runs = [TrainedRun(seed, f"run-{mean}-{seed}", mean + noise, 1.0, 0.0) for seed, mean in enumerate(means)]
    return summarise_point((f"gamma={means}",), runs, failed or {})


def test_the_best_is_the_highest_complete_mean_and_differences_are_paired() -> None:
    points = [point(1.0, 1.2), point(2.0, 2.2), point(9.0, failed={1: "lost"}), point(2.1, 2.1)]
    best = best_point(points)
    assert best == 1  # the incomplete one is not eligible, and of equals the first is taken
    compared = with_differences(points, best)
    assert compared[1].difference is None
    assert compared[2].difference is None
    difference: Any = compared[0].difference
    assert difference.value == pytest.approx(-1.0)
    assert difference.high < 0  # the episodes are the same, so that their noise cancels
    spread: Any = points[0].mean
    assert spread.low < 1.0 < 1.2 < spread.high  # over the seeds too
    assert best_point([point(1.0, failed={1: "lost"})]) is None


def test_the_maximum_cost_of_all_trainings_is_shown_and_refused_above_the_ceiling() -> None:
    from decimal import Decimal

    from mayavi.rl.modal.cost_guard import Machine, check_total_cost

    said: list[str] = []
    check_total_cost(Machine(), 1, Decimal(10), said.append)
    with pytest.raises(CostCeiling, match=r"10 trainings could cost \$56.73, more than \$10.00") as refused:
        check_total_cost(Machine(), 10, Decimal(10), said.append)
    assert said[0].startswith("Modal, at most $5.68 for 1 training; each at most $5.68: A10G")
    assert "1 of them fit" in (refused.value.hint or "")


@pytest.mark.slow(1)
def test_a_failed_training_is_named_and_tried_again_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mayavi.parallel.processes import ONE_THREAD
    from mayavi.rl.grid import tuner
    from mayavi.rl.grid.train_grid import evaluate_best, train_grid
    from mayavi.rl.grid.trial import run_trial

    for name, value in ONE_THREAD.items():  # a trial sets them in its process, which is ours here
        monkeypatch.setenv(name, value)
    # In this process, without Ray: `tests/cli/rl/test_train_grid.py` runs the same through Ray Tune.
    monkeypatch.setattr(tuner, "run_trials", lambda trials, *_: [run_trial(each.to_json()) for each in trials])
    small = {"num_envs": 4, "rollout_steps": 8, "minibatch_size": 16, "epochs": 1, "network": [8]}
    plan = plan_grid([CHASE | small | {"evaluate_episodes": 24, "test_episodes": 24}], ["gamma=0.9,0.5"], "0:2")
    lost = assign_runs(tmp_path, plan.tasks)[plan.tasks[0].key]
    (tmp_path / lost).mkdir()
    (tmp_path / lost / "run.json").write_text("{")
    found = train_grid(plan, models=tmp_path, say=lambda _: None)
    assert (found.failed, found.best) == (1, 1)
    assert "cannot be read" in found.points[0].failed[0]
    assert found.to_json()["best"] == {"gamma": "0.5"}
    times = {run: (tmp_path / run / "run.json").stat().st_mtime_ns for run in found.to_json()["best_runs"]}

    (tmp_path / lost / "run.json").unlink()
    whole = train_grid(plan, models=tmp_path, say=lambda _: None)
    assert (whole.failed, len(whole.points[0].trainings)) == (0, 2)
    assert times == {run: (tmp_path / run / "run.json").stat().st_mtime_ns for run in times}
    held_out = evaluate_best(whole, plan, tmp_path)
    assert held_out.path.parent == tmp_path / "evaluations"
    assert held_out.document["env"]["config"]["split"] == "test"
    assert len(held_out.document["models"]) == 2
