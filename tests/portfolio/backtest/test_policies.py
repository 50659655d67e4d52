"""Who may play what: nobody plays what was there to be learned from, and windows go to the newest who may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mayavi.errors import ModelMismatch, UsageError
from mayavi.markets.timestamps import to_seconds
from mayavi.portfolio.backtest.backtest import Backtester
from mayavi.portfolio.backtest.models import backtest_models
from mayavi.portfolio.backtest.policies import NEVER, Relay, check_unseen, grouped, seen_until, subjects_of
from mayavi.rl.models import Model, open_model
from tests.portfolio.backtest.worlds import QUICK, Fixed, config_with, making, past_market, started


def test_a_relay_gives_each_window_to_its_own_policy():
    policies = [Fixed(0.6, 0.2, 0.2), Fixed(0.2, 0.6, 0.2)]
    env = started(4)
    relay = Relay("both", policies, [0, 1, 1, 0])
    relay.begin(env, range(4))
    weights = env.weights_of(relay.actions(env, env.observe()))
    assert weights == pytest.approx(np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.6, 0.2], [0.6, 0.2, 0.2]]))


class Following:
    """A policy that asks for what it sees of its own row: the last moves of the three assets."""

    recurrent = False

    def actions(self, observations: Any, state: Any, **_: Any) -> tuple[Any, Any]:
        return np.clip(observations[:, 12:15], -1, 1), state


def test_in_a_relay_each_window_is_decided_by_what_is_seen_there():
    env = started(5)
    relay = Relay("both", [Following(), Fixed(0.2, 0.6, 0.2)], [0, 1, 0, 0, 1])
    relay.begin(env, range(5))
    seen = env.observe()
    actions = relay.actions(env, seen)
    assert (actions[[0, 2, 3]] == np.clip(seen[[0, 2, 3], 12:15], -1, 1)).all()
    assert len(np.unique(actions[[0, 2, 3]], axis=0)) == 3
    assert env.weights_of(actions[[1, 4]]) == pytest.approx(np.array([[0.2, 0.6, 0.2]] * 2))


pytest.importorskip("stable_baselines3")


def trained(models: Path, seed: int = 1, evaluate_every: int | None = 64, **env_config: Any) -> Model:
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.train import train

    told = {"env": "rwa", "framework": "sb3", "timesteps": 64, "seed": seed, "num_envs": 4, "rollout_steps": 16,
            "minibatch_size": 32, "epochs": 1, "network": [8], "checkpoint_every_steps": 64,
            "evaluate_every": evaluate_every, "evaluate_episodes": 4,
            "env_config": {"horizon": 48, **env_config}}  # fmt: skip
    return open_model(train(TrainConfig.of(told), models=models).path)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def model(models: Path) -> Model:
    return trained(models)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(past_market(tmp_path_factory.mktemp("past")))


@pytest.mark.slow
def test_a_policy_is_backtested_on_the_test_split_of_drawn_markets(model: Model):
    document = backtest_models([model], ["equal_weight"], QUICK)
    assert document["subjects"] == ["ppo"]
    assert document["env"]["config"]["split"] == "test"
    assert document["env"]["config"]["horizon"] == 48
    assert [each["name"] for each in document["models"]] == ["ppo"]
    assert {each["strategy"] for each in document["comparisons"]} == {"ppo"}
    assert document["in_sample"] is False
    assert {"torch", "stable_baselines3"} <= set(document["versions"])


@pytest.mark.slow
def test_the_agent_of_a_backtester_may_be_a_model_and_plays_what_mayavi_backtest_plays(model: Model):
    results = Backtester(model, config_with()).run_backtest(40)
    document = backtest_models([model], ["equal_weight"], QUICK)
    listed = document["strategies"]["ppo"]["episodes"]
    assert len(listed) == 60
    # Batches have another size here, and a network's last digits may depend on it.
    assert [each["final_value"] for each in results["rl_agent"]] == pytest.approx(
        [each["final_value"] for each in listed[:40]], rel=1e-6
    )


@pytest.mark.slow
def test_the_agent_of_a_backtester_may_be_an_optimiser_but_not_one_without_a_policy(model: Model):
    from mayavi.portfolio.optimizer import PPOYieldOptimizer

    optimizer = PPOYieldOptimizer()
    with pytest.raises(UsageError, match="there is no policy yet"):
        Backtester(optimizer, config_with())
    results = Backtester(optimizer.load(model.path), config_with()).run_backtest(6)
    assert len(results["rl_agent"]) == 6
    with pytest.raises(UsageError, match="was trained on the train split"):
        Backtester(optimizer, config_with(), split="train")


@pytest.mark.slow
def test_the_split_a_policy_was_trained_on_is_refused_unless_one_insists(model: Model):
    with pytest.raises(UsageError, match="was trained on the train split, which is to be played") as caught:
        backtest_models([model], ["equal_weight"], QUICK, config={"split": "train"})
    assert "--in-sample" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="was trained on the train split"):
        Backtester(model, config_with(), split="train")
    document = backtest_models([model], ["equal_weight"], QUICK, config={"split": "train"}, in_sample=True)
    assert document["in_sample"] is True


@pytest.mark.slow
def test_what_chose_the_best_and_the_one_fixed_market_count_as_seen(models: Path, model: Model):
    assert model.config.evaluate_every
    with pytest.raises(UsageError, match="was chosen on the validation split, which is to be played"):
        backtest_models([model], ["equal_weight"], QUICK, config={"split": "validation"})
    with pytest.raises(UsageError, match="a fixed start is one of them in every split"):
        backtest_models([model], ["equal_weight"], QUICK, config={"start": "fixed"})
    never = trained(models, 7, evaluate_every=None)
    assert backtest_models([never], ["equal_weight"], QUICK, config={"split": "validation"})["in_sample"] is False


@pytest.mark.slow
def test_hours_that_were_trained_on_are_refused(models: Path, model: Model, past: str):
    assert seen_until(model) == NEVER
    learned = trained(models, 2, data=past)
    last = to_seconds("2024-01-01T00:00:00Z") + 3600 * (round(0.8 * 2_401) - 1)
    assert seen_until(learned) == last  # what validation chose by counts as seen
    document = backtest_models([learned], ["equal_weight"], QUICK, config={"data": past})
    assert document["market"]["kind"] == "historical"
    with pytest.raises(UsageError, match="with hours up to 2024-03-21") as caught:
        backtest_models([learned], ["equal_weight"], QUICK, config={"data": past, "split": "validation"})
    assert "--begin" in (caught.value.hint or "")
    whole = backtest_models(
        [learned], ["equal_weight"], QUICK, config={"data": past, "split": "validation"}, in_sample=True
    )
    assert whole["in_sample"] is True


@pytest.mark.slow(4)
def test_each_window_is_played_by_the_newest_policy_that_may(models: Path, past: str):
    early = trained(models, 3, data=past, end="2024-02-15")
    late = trained(models, 3, data=past, end="2024-03-10")
    env = making(data=past, split="test", boundaries=(0.3, 0.5))(1)
    groups = grouped([late, early], historical=True)
    assert {name: [each.run_id for each in group] for name, group in groups.items()} == {
        "ppo": [late.run_id, early.run_id]
    }
    turns = check_unseen(groups["ppo"], env)
    starts = env.markets.consecutive(48)  # type: ignore[attr-defined]
    times = env.markets.market.times  # type: ignore[attr-defined]
    assert [late.run_id if turn == 0 else early.run_id for turn in turns] == [
        late.run_id if times[start] >= seen_until(late) else early.run_id for start in starts
    ]
    assert set(turns) == {0, 1}
    (relay,) = subjects_of(groups, env)
    assert isinstance(relay, Relay)
    document = backtest_models([late, early], ["equal_weight"], QUICK, config={"data": past, "boundaries": (0.3, 0.5)})
    assert document["subjects"] == ["ppo"]
    walked = document["strategies"]["ppo"]["episodes"]
    market = {"data": past, "boundaries": (0.3, 0.5)}
    alone = [
        backtest_models([each], ["equal_weight"], QUICK, config=market, in_sample=True)["strategies"]["ppo"]["episodes"]
        for each in (late, early)
    ]
    assert len(walked) == len(turns)
    for window, turn in enumerate(turns):
        value = pytest.approx(alone[turn][window]["final_value"], rel=1e-6)
        assert walked[window]["final_value"] == value
    assert any(abs(one["final_value"] - other["final_value"]) > 1 for one, other in zip(*alone, strict=True))
    with pytest.raises(UsageError, match=f"run {late.run_id} was trained"):
        backtest_models([late], ["equal_weight"], QUICK, config={"data": past, "boundaries": (0.3, 0.5)})
    with pytest.raises(UsageError, match="whose turn it is"):
        backtest_models([late, early], None, QUICK, config={"data": past, "boundaries": (0.3, 0.5)}, in_sample=True)


@pytest.mark.slow
def test_a_training_whose_file_is_gone_is_not_believed(models: Path, tmp_path: Path, past: str):
    gone = tmp_path / "gone.csv"
    gone.write_bytes(Path(past).read_bytes())
    learned = trained(models, 4, data=str(gone))
    gone.unlink()
    with pytest.raises(UsageError, match="was trained on is not known") as caught:
        backtest_models([learned], None, QUICK, config={"data": past})
    assert "gone.csv" in (caught.value.hint or "")


@pytest.mark.slow
def test_several_trainings_are_told_apart_and_pooled(models: Path, model: Model):
    document = backtest_models([model, trained(models, 5)], ["equal_weight"], QUICK)
    assert document["subjects"] == ["ppo@1", "ppo@5"]
    assert [(each["strategy"], each["trainings"]) for each in document["pooled"]] == [("ppo", 2), ("ppo", 2)]
    with pytest.raises(UsageError, match="is named twice"):
        backtest_models([model, model], None, QUICK)


@pytest.mark.slow
def test_a_policy_of_other_observations_or_of_another_environment_is_refused(models: Path, model: Model):
    import json

    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.train import train

    record = json.loads((model.path / "run.json").read_text())
    record["observation_space"]["shape"] = [5]
    folder = models / "changed"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({**record, "run_id": "changed"}))
    changed = open_model(folder)
    changed.chosen = model.checkpoint()
    with pytest.raises(ModelMismatch, match="trained on another observation space: it observes 5 numbers"):
        backtest_models([changed], None, QUICK)
    menu = trained(models, 6, actions="discrete")
    with pytest.raises(ModelMismatch, match="another action space"):
        backtest_models([menu], None, QUICK, config={"actions": "continuous"})
    import tests.rl.chase_env  # noqa: F401  registers the environment

    other = train(
        TrainConfig.of({"env": "chase", "framework": "sb3", "timesteps": 64, "num_envs": 4, "rollout_steps": 64}),
        models=models,
    )
    with pytest.raises(ModelMismatch, match="was trained on 'chase', not on 'rwa'"):
        backtest_models([open_model(other.path)], None, QUICK)
