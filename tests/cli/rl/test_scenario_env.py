"""`mayavi train --env scenario:FILE` and `mayavi eval`: a scenario of the user's own, trained and evaluated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

SCENARIO = """
chain: base
steps: 3
step_time: 1d
prices:
  WETH: {process: gbm, volatility: 90%}
agents:
  alice: {kind: borrower, collateral: 10 WETH, debt: USDC, health_factor: 1.3, behaviour: band, cash: 100%}
  liquidator: {kind: liquidator, frictionless: true}
learner:
  agent: alice
  observes: [own.health_factor, WETH.market_price]
  actions: [repay 100% USDC, borrow 25% USDC]
  reward: pnl
"""
SMALL = (
    *("--framework", "sb3", "--set", "num_envs=2", "--set", "rollout_steps=12", "--set", "minibatch_size=24"),
    *("--set", "test_episodes=8"),
)


@pytest.mark.slow
def test_a_file_is_trained_on_and_evaluated_when_it_is_gone(run_mayavi, tmp_path: Path) -> None:
    file, models = tmp_path / "mine.yaml", str(tmp_path / "models")
    file.write_text(SCENARIO)
    trained = run_mayavi(
        "train", "--env", f"scenario:{file}", *SMALL, "--timesteps", "48", "--models", models, "--json"
    )
    assert trained.returncode == 0, trained.stderr
    told = json.loads(trained.stdout.splitlines()[-1])
    assert told["config"]["env"] == "scenario"
    assert told["config"]["env_config"]["chain"] == "base"
    file.unlink()
    played = run_mayavi("eval", "latest", "--models", models, "--episodes", "4", "--min-distinct", "2", "--json")
    assert played.returncode == 0, played.stderr
    document = json.loads(played.stdout.splitlines()[-1])
    assert set(document["strategies"]) == {"ppo", "noop", "scripted"}
    shown = run_mayavi("trainings", "show", "latest", "--models", models)
    assert "env.scenario" in shown.stdout
    assert "learner:" not in shown.stdout  # a text of many lines is not printed into a table


def test_baselines_of_a_file_are_compared_without_a_training(run_mayavi, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SCENARIO)
    played = run_mayavi("eval", "-", "--env", f"scenario:{file}", "--episodes", "2", "--min-distinct", "2", "--json")
    assert played.returncode == 0, played.stderr
    assert set(json.loads(played.stdout.splitlines()[-1])["strategies"]) == {"noop", "scripted"}


def test_a_bad_learner_is_refused_before_anything_is_trained(run_mayavi, tmp_path: Path) -> None:
    file, models = tmp_path / "mine.yaml", tmp_path / "models"
    file.write_text(SCENARIO.replace("own.health_factor", "own.health_facter"))
    refused = run_mayavi("train", "--env", f"scenario:{file}", *SMALL, "--models", str(models))
    assert refused.returncode == 2
    assert "unknown figure 'own.health_facter'" in refused.stderr
    assert "did you mean 'own.health_factor'" in refused.stderr
    assert not models.exists()
    missing = run_mayavi("train", "--env", f"scenario:{file}", *SMALL, "--set", "learner={agent: bob}", "--json")
    assert missing.returncode == 2
    assert "the learner is 'bob', which is not an agent here" in missing.stdout + missing.stderr


@pytest.mark.slow
def test_an_agent_of_ones_own_beside_the_file_learns_and_is_found_again(
    run_mayavi, repository: Path, tmp_path: Path
) -> None:
    """`examples/keeper.yaml` names `keeper:Keeper`; the evaluation runs in another folder, in a process of its own."""
    models = str(tmp_path / "models")
    trained = run_mayavi(
        "train", "--env", f"scenario:{repository / 'examples/keeper.yaml'}", *SMALL,
        "--timesteps", "48", "--no-eval", "--models", models, cwd=tmp_path,
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    played = run_mayavi("eval", "latest", "--models", models, "--episodes", "2", "--json", cwd=tmp_path)
    assert played.returncode == 0, played.stderr
    assert "deleverage 10%" in json.loads(played.stdout)["env"]["config"]["scenario"]
