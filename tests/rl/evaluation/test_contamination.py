"""A policy that knows the episodes it is played on is told; one to which they are new is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mayavi.cli.printing.evaluation import print_evaluation
from mayavi.rl.evaluation.evaluate import EvaluationSettings
from mayavi.rl.evaluation.models import evaluate_models
from mayavi.rl.models import Model, open_model
from mayavi.statistics.bootstrap import Bootstrap
from tests.portfolio.backtest.worlds import past_market

pytest.importorskip("stable_baselines3")
pytestmark = pytest.mark.slow

QUICK = EvaluationSettings(episodes=4, bootstrap=Bootstrap(resamples=100))


def trained(models: Path, env: str, **env_config: Any) -> Model:
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.train import train

    told = {"env": env, "framework": "sb3", "timesteps": 64, "num_envs": 4, "rollout_steps": 16, "minibatch_size": 32,
            "epochs": 1, "network": [8], "evaluate_every": None, "env_config": env_config}  # fmt: skip
    return open_model(train(TrainConfig.of(told), models=models).path)


def known(model: Model, **played: Any) -> str | None:
    (found,) = evaluate_models([model], ["noop"], QUICK, config=played)["models"]
    return found.get("seen")


def test_who_was_trained_on_the_test_split_is_not_sent_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = trained(tmp_path, "rwa", horizon=48, split="test")
    print_evaluation(evaluate_models([model], ["noop"], QUICK, config={"split": "test"}))
    told = capsys.readouterr().out
    assert "was trained on the test split" in told
    assert "another --split has such" in told
    assert known(model, split="train") is None


def test_a_fixed_start_is_known_where_nothing_else_is_drawn(tmp_path: Path):
    still = trained(tmp_path, "aave", start="fixed", horizon=4)
    assert known(still, split="test") == "was trained on the fixed start"
    moving = trained(tmp_path, "aave-shock", start="fixed", horizon=4)
    assert known(moving, split="test") is None, "the prices of the test split are other ones"
    assert known(moving, split="train") is not None


def test_a_real_market_split_elsewhere_is_known_by_its_hours(tmp_path: Path):
    past = past_market(tmp_path)
    model = trained(tmp_path, "rwa", horizon=48, data=str(past))
    assert known(model, split="test") is None
    moved = known(model, split="test", boundaries=(0.3, 0.4))
    assert moved is not None
    assert moved.startswith("was trained, or chosen, with hours up to ")
    assert known(model, split="test", boundaries=(0.6, 0.85)) is None
    assert known(model, split="train", data=None) is None, "drawn markets are no hours of the file"
    past.rename(past.with_name("elsewhere" + past.suffix))
    elsewhere = str(past.with_name("elsewhere" + past.suffix))
    assert (
        known(model, split="test", data=elsewhere) == f"may have been trained on these hours ('{past}' cannot be read)"
    )
