"""Evaluation under noise: random actions, disturbed observations, the same for all strategies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed; `pip install 'mayavi-sim[rl]'` installs it")

from mayavi.errors import UsageError
from mayavi.gym_env import make_rows
from mayavi.rl.evaluation.document import document_of, eval_name, settings_from
from mayavi.rl.evaluation.evaluate import EvaluationSettings, evaluate
from mayavi.rl.evaluation.noise import Disturbed, Noise
from mayavi.rl.evaluation.play import play
from mayavi.rl.evaluation.strategies import Scripted
from tests.rl import chase_env

assert chase_env.ChaseEnv
EPISODES = range(64)


def chase(rows: int = 64, **settings: Any) -> Any:
    return make_rows("chase", rows, split="test", **settings)


class Follower:
    """Steers by what it observes, as a trained policy does."""

    name = "follower"

    def begin(self, env: Any, episodes: Any) -> None:
        pass

    def actions(self, env: Any, observations: Any) -> Any:
        self.seen = observations
        return np.where(observations[:, 0] > 0, 0, 2)


def test_actions_are_replaced_with_the_given_probability_and_alike_for_all() -> None:
    env = chase()
    still = Scripted("noop", env.strategies["noop"])
    quiet = play(env, still, EPISODES)
    half = play(env, Disturbed(still, Noise(actions=0.5), seed=3), EPISODES)
    always = play(env, Disturbed(still, Noise(actions=1.0), seed=3), EPISODES)
    steered = play(env, Disturbed(Scripted("steer", env.strategies["steer"]), Noise(actions=1.0), seed=3), EPISODES)
    assert quiet.starts == half.starts
    changed = np.mean([(each != 1).mean() for each in half.actions])
    assert 0.25 < changed < 0.42  # half of the actions are drawn from three
    # With random actions alone nobody is told from anybody: the draws belong to episode and step.
    assert [each.tolist() for each in always.actions] == [each.tolist() for each in steered.actions]
    again = play(env, Disturbed(still, Noise(actions=0.5), seed=3), EPISODES)
    assert again.fingerprints == half.fingerprints
    assert play(env, Disturbed(still, Noise(actions=0.5), seed=4), EPISODES).fingerprints != half.fingerprints
    # Episodes do not depend on the batch in which they are played.
    batches = play(chase(16), Disturbed(still, Noise(actions=0.5), seed=3), EPISODES)
    assert batches.fingerprints == half.fingerprints


def test_continuous_actions_stay_within_their_bounds() -> None:
    env = chase(actions="continuous")

    class Rest(Follower):
        def actions(self, env: Any, observations: Any) -> Any:
            return np.zeros((env.rows, 1))

    played = play(env, Disturbed(Rest(), Noise(actions=0.5), seed=1), EPISODES)
    taken = np.concatenate(played.actions).ravel()
    assert 0.4 < (taken == 0).mean() < 0.6
    assert np.abs(taken).max() <= 1
    assert played.clipped.sum() == 0


def test_observations_are_disturbed_for_policies_and_not_for_scripts() -> None:
    env, follower = chase(), Follower()
    clean = play(env, follower, EPISODES)
    noisy = play(env, Disturbed(follower, Noise(observations=0.8), seed=1), EPISODES)
    assert np.abs(follower.seen).max() <= 1  # within the bounds of the space
    assert noisy.rewards.mean() < clean.rewards.mean()
    script = Scripted("steer", env.strategies["steer"])
    undisturbed = play(env, Disturbed(script, Noise(observations=0.8), seed=1), EPISODES)
    assert undisturbed.fingerprints == play(env, script, EPISODES).fingerprints


def test_the_file_says_so_and_reads_it_back_and_one_without_noise_is_as_before() -> None:
    plain, noisy = EvaluationSettings(24), EvaluationSettings(24, noise=Noise(0.25, 0.1))
    documents = [
        document_of(evaluate(lambda rows: chase(rows), [], ["noop", "steer"], each), against=["noop", "steer"],
                    models=[], versions={})
        for each in (plain, noisy)
    ]  # fmt: skip
    assert "noise" not in documents[0]["settings"]
    assert documents[1]["settings"]["noise"] == {"actions": 0.25, "observations": 0.1}
    assert settings_from(documents[1]).noise == noisy.noise
    assert settings_from(documents[0]).noise == Noise()
    assert eval_name(documents[0]) != eval_name(documents[1])
    assert documents[0]["steer"]["mean_reward"] > documents[1]["steer"]["mean_reward"]
    assert noisy.noise.describe() == "25 % of the actions random, observations ± 0.1"
    with pytest.raises(UsageError, match="has none under noise"):
        evaluate(lambda rows: chase(rows), [], ["noop", "optimum"], noisy)


@pytest.mark.parametrize(
    ("actions", "observations", "message"),
    [
        (1.5, 0, "a share of 1.5 random actions"),
        (-0.1, 0, "a share of -0.1 random actions"),
        (float("nan"), 0, "a share of nan random actions"),
        (0, -1, "a noise of -1 on observations"),
        (0, float("inf"), "a noise of inf on observations"),
        (0, float("nan"), "a noise of nan on observations"),
    ],
)
def test_impossible_noise_is_refused(actions: float, observations: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Noise(actions, observations)


def test_roles_of_a_market_are_disturbed_each_by_its_own_draws() -> None:
    settings = EvaluationSettings(2, minimum_distinct=2, noise=Noise(actions=0.5))
    from mayavi.rl.evaluation.models import evaluate_baselines

    found = evaluate_baselines("market", ["noop", "repay_all"], settings, config={"split": "test", "horizon": 2})
    quiet = evaluate_baselines(
        "market",
        ["noop", "repay_all"],
        EvaluationSettings(2, minimum_distinct=2),
        config={"split": "test", "horizon": 2},
    )
    assert found["starts"] == quiet["starts"]
    assert found["borrower"]["noop"]["fingerprints"] != quiet["borrower"]["noop"]["fingerprints"]
