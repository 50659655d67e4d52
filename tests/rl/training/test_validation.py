"""Evaluations on the validation split during a training, which keeps the best policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

from mayavi.errors import UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.play import play
from mayavi.rl.models import open_model
from mayavi.rl.training.progress import TrainProgress
from mayavi.rl.training.train import TrainedModel, train
from mayavi.rl.training.validation import best_of
from tests.rl import chase_env
from tests.rl.training.train_process import weights_digest

assert chase_env.ChaseEnv
CHASE = {"env": "chase", "framework": "sb3", "seed": 3, "learning_rate": 3e-3, "timesteps": 2_560}
SMALL = {"num_envs": 16, "rollout_steps": 16, "minibatch_size": 64, "epochs": 2, "network": [16, 16]}
EVALUATED = {"evaluate_every": 600, "evaluate_episodes": 150, "normalize_observations": True}
Run = tuple[TrainedModel, Path, list[TrainProgress]]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    models, reports = tmp_path_factory.mktemp("models"), []
    config = TrainConfig.of(CHASE, SMALL, EVALUATED)
    return train(config, models=models, run_id="evaluated", progress=reports.append), models, reports


@pytest.mark.slow
def test_it_is_evaluated_each_time_so_many_steps_are_passed_and_at_the_end(evaluated: Run) -> None:
    trained, _, reports = evaluated
    record = json.loads((trained.path / "run.json").read_text())
    assert [each["steps"] for each in record["validations"]] == [768, 1_280, 2_048, 2_560]
    assert {each["episodes"] for each in record["validations"]} == {150}
    means = {each["steps"]: each["mean_reward"] for each in record["validations"]}
    assert [each.validation for each in reports if each.steps in means] == list(means.values())
    assert reports[0].validation is None
    assert f"on validation {means[2_560]:.6g}" in reports[-1].note
    assert record["best"] == trained.best == max(record["validations"], key=lambda each: each["mean_reward"])


@pytest.mark.slow(0.1)  # and the training
def test_the_best_is_kept_and_plays_what_the_record_says(evaluated: Run) -> None:
    trained, models, _ = evaluated
    assert trained.best is not None
    for named in ("evaluated:best", trained.path / "best"):
        model = open_model(named, models)
        assert model.checkpoint().steps == trained.best["steps"]
        env = model.make_env(128, split="validation")
        assert play(env, model.policy(), range(150)).rewards.mean() == trained.best["mean_reward"]
    assert not model.checkpoint("best").resumable
    with pytest.raises(UsageError, match="has no checkpoint '7'") as caught:
        open_model("evaluated:7", models)
    assert str(caught.value.hint).endswith("final, best")
    for each in json.loads((trained.path / "run.json").read_text())["validations"]:
        policy = model.policy(each["steps"])  # each evaluation saved a checkpoint too
        assert play(env, policy, range(150)).rewards.mean() == each["mean_reward"]
    assert model.folder.checkpoints()[-1].name == "final"  # `final` comes last, whichever is best
    assert not list(trained.path.glob("*.partial"))


@pytest.mark.slow(0.1)  # and the training
def test_evaluations_are_logged_for_tensorboard(evaluated: Run) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logs = EventAccumulator(str(evaluated[0].path / "logs"))
    logs.Reload()
    assert [each.step for each in logs.Scalars("validation/mean_reward")] == [768, 1_280, 2_048, 2_560]


@pytest.mark.slow(1)
def test_a_training_that_is_evaluated_ends_with_the_weights_of_one_that_is_not(evaluated: Run, tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, EVALUATED, {"evaluate_every": None})
    plain = train(config, models=tmp_path, run_id="plain")
    assert plain.best is None
    assert weights_digest("plain", tmp_path) == weights_digest("evaluated", evaluated[1])
    with pytest.raises(UsageError, match="was not evaluated while it was trained") as refused:
        open_model("plain:best", tmp_path)
    assert "evaluate_every" in (refused.value.hint or "")


@pytest.mark.slow(1)
@pytest.mark.parametrize("died", [800, 1_400])
def test_a_training_that_died_ends_with_the_same_evaluations_and_the_same_best(
    evaluated: Run, tmp_path: Path, died: int
) -> None:
    class DiedError(Exception):
        pass

    def die(report: TrainProgress) -> None:
        if report.steps >= died:
            raise DiedError

    config = TrainConfig.of(CHASE, SMALL, EVALUATED)
    with pytest.raises(DiedError):
        train(config, models=tmp_path, run_id="one", progress=die)
    resumed = train(config, models=tmp_path, resume="one")
    assert resumed.exact
    assert resumed.best == evaluated[0].best
    records = [json.loads((path / "run.json").read_text()) for path in (resumed.path, evaluated[0].path)]
    assert records[0]["validations"] == records[1]["validations"]
    assert open_model("one:best", tmp_path).checkpoint().steps == evaluated[0].best["steps"]  # type: ignore[index]


def test_the_first_of_equals_is_the_best() -> None:
    validations = [{"steps": at, "mean_reward": mean} for at, mean in ((1, 0.5), (2, 0.75), (3, 0.75), (4, -1.0))]
    assert best_of(validations) == validations[1]
    assert best_of([]) is None
