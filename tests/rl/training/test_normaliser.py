"""Normalisation statistics are exact, shared by all runners, and stored with the policy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

from mayavi.errors import CheckpointError
from mayavi.rl.config import TrainConfig
from mayavi.rl.models import open_model
from mayavi.rl.training.normaliser import FILE, Lens, Normaliser, RunningStats, first_normaliser
from mayavi.rl.training.train import train
from tests.rl import chase_env

assert chase_env.ChaseEnv
NORMALISED = {"normalize_observations": True, "normalize_rewards": True}
CHASE = {
    "env": "chase",
    "framework": "sb3",
    "seed": 3,
    "num_envs": 16,
    "rollout_steps": 16,
    "minibatch_size": 64,
    "network": [16],
}


def test_it_is_the_mean_and_variance_of_all_that_was_shown_however_it_was_shown() -> None:
    shown = np.random.default_rng(1).normal(7, 3, (1_000, 2)) * [1, 1e-3]
    one, left, right = RunningStats.empty(2), RunningStats.empty(2), RunningStats.empty(2)
    for at in range(0, 1_000, 50):
        one.add(shown[at : at + 50])
        (left if at < 400 else right).add(shown[at : at + 50])
    left.merge(right)
    left.merge(RunningStats.empty(2))
    one.add(shown[:0])
    for found in (one, left):
        assert found.count == 1_000
        assert found.mean == pytest.approx(shown.mean(axis=0), rel=1e-12)
        assert found.variance == pytest.approx(shown.var(axis=0), rel=1e-12)


def test_what_is_shown_has_mean_nought_and_deviation_one_and_outliers_are_cut() -> None:
    shown = np.random.default_rng(2).normal(7, 3, (2_000, 2)).astype(np.float32)
    shown[:, 1] = 0.25  # never varies, so it is only centred
    seen = RunningStats.empty(2)
    seen.add(shown.astype(np.float64))
    normalised = Normaliser(seen).observations(shown)
    assert normalised.dtype == np.float32
    assert normalised.mean(axis=0) == pytest.approx(0, abs=1e-5)
    assert normalised.std(axis=0) == pytest.approx([1, 0], abs=1e-5)
    assert Normaliser(seen).observations(np.float32([[1e9, 0.5]])).tolist() == [[10.0, 0.25]]
    assert Normaliser().observations(shown) is shown
    assert Normaliser().rewards(shown) is shown


def test_rewards_keep_their_sign_and_are_measured_by_what_an_episode_sums_up_to() -> None:
    lens = Lens(0.5, 2, (1,), Normaliser(return_stats=RunningStats.empty()))
    never = np.zeros(2, dtype=bool)
    lens.reward(np.array([1.0, 2.0]), never)
    lens.reward(np.array([1.0, 2.0]), np.array([True, False]))
    lens.reward(np.array([0.0, 2.0]), never, np.array([True, False]))  # the first row restarts
    lens.reward(np.array([1.0, 0.0]), never)
    noted = lens.take().return_stats
    sums = [1.0, 2.0, 1.5, 3.0, 3.5, 1.0, 1.75]
    assert noted is not None
    assert noted.count == len(sums)
    assert float(noted.mean) == pytest.approx(np.mean(sums))
    assert float(noted.variance) == pytest.approx(np.var(sums))
    assert lens.recorded.return_stats == RunningStats.empty()
    assert Normaliser(return_stats=noted).rewards(np.array([-1.0, 0.0])).tolist() == [-1 / np.std(sums), 0.0]


def test_it_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    seen = RunningStats.empty(3)
    seen.add(np.random.default_rng(3).normal(0, 1, (7, 3)) / 3)
    written = Normaliser(seen)
    written.write(tmp_path)
    again = Normaliser.read(tmp_path)
    assert again.return_stats is None
    assert again.observation_stats is not None
    assert again.observation_stats.mean.tobytes() == seen.mean.tobytes()
    assert again.observation_stats.variance.tobytes() == seen.variance.tobytes()
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(CheckpointError, match=r"normaliser.json of '.*' cannot be read"):
        Normaliser.read(tmp_path)


def test_a_training_begins_with_whole_episodes_of_random_play() -> None:
    first = first_normaliser(TrainConfig.of(CHASE, NORMALISED))
    assert first is not None
    assert first.observation_stats is not None
    assert first.observation_stats.count > 16 * 2
    assert 0.2 < first.observation_stats.mean[1] < 0.9  # the share of time left, from one to zero
    assert first.to_json() == first_normaliser(TrainConfig.of(CHASE, NORMALISED)).to_json()  # type: ignore[union-attr]
    assert first.to_json() != first_normaliser(TrainConfig.of(CHASE, NORMALISED, {"seed": 4})).to_json()  # type: ignore[union-attr]
    assert first_normaliser(TrainConfig.of(CHASE)) is None


@pytest.mark.slow(1)
def test_a_policy_sees_through_what_its_checkpoint_holds(tmp_path: Path) -> None:
    trained = train(TrainConfig.of(CHASE, NORMALISED, {"timesteps": 1_024}), models=tmp_path, run_id="one")
    assert trained.mean_reward is not None
    assert -1.5 < trained.mean_reward < 0.5  # not normalised
    model = open_model("one", tmp_path)
    policy = model.policy()
    raw = np.random.default_rng(4).uniform(-1, 1, (50, 2)).astype(np.float32)
    kept = Normaliser.of(json.loads((trained.path / "final" / FILE).read_text()))
    assert kept.observation_stats is not None
    by_hand = np.clip((raw - kept.observation_stats.mean) / np.sqrt(kept.observation_stats.variance), -10, 10).astype(
        np.float32
    )
    logits = policy.distribution(raw, None)[0].logits  # type: ignore[union-attr]
    assert (logits == policy.distribution_of_normalised(by_hand, None)[0].logits).all()  # type: ignore[union-attr]
    assert not np.allclose(logits, policy.distribution_of_normalised(raw, None)[0].logits)  # type: ignore[union-attr]
    early = model.policy(model.checkpoints()[0]).normaliser
    assert early is not None
    assert early.observation_stats is not None
    assert early.observation_stats.count < kept.observation_stats.count  # each checkpoint has its own

    manifest = trained.path / "final" / "checkpoint.json"
    facts = json.loads(manifest.read_text())
    del facts["files"][FILE]
    manifest.write_text(json.dumps(facts))
    (trained.path / "final" / FILE).unlink()
    with pytest.raises(CheckpointError, match=r"lacks normaliser.json, which its policy needs"):
        open_model("one", tmp_path).policy()


@pytest.mark.slow(3)
def test_only_what_is_asked_for_is_normalised(tmp_path: Path) -> None:
    digests = set()
    for name, more in (("none", {}), *((key, {key: True}) for key in NORMALISED), ("both", NORMALISED)):
        train(TrainConfig.of(CHASE, {"timesteps": 512}, more), models=tmp_path, run_id=name)
        policy = open_model(name, tmp_path).policy()
        shown = policy.normaliser is not None and policy.normaliser.observation_stats is not None
        assert shown == bool(more.get("normalize_observations"))
        network = policy.network.state_dict()  # type: ignore[attr-defined]
        digests.add(b"".join(each.numpy().tobytes() for each in network.values()))
    assert len(digests) == 4
