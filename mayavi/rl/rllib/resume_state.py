"""State of RLlib's runners between two rollouts, which its own checkpoints lack.

RLlib saves weights, optimizers, connectors and metrics; a training resumed from those alone plays new episodes with
fresh random generators. Saved here besides: the rows and unfinished episodes of every runner, the random generators of
each process, the replay buffer, and the coefficients that learners adapt. The next rollout is then the one that an
uninterrupted training would have played.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from mayavi.rl.rllib.env import training_vector
from mayavi.rl.training import global_rng

_RUNNER_ATTRIBUTES = (
    "_ongoing_episodes",
    "_cached_to_module",
    "_shared_data",
    "_needs_initial_reset",
    "_done_episodes_for_metrics",
    "_ongoing_episodes_for_metrics",
    "_weights_seq_no",
    "num_env_steps_sampled_lifetime",
)
_COEFFICIENTS = ("curr_kl_coeffs_per_module", "curr_log_alpha")
"""Learner values that are no weights: PPO's KL penalty, SAC's temperature."""
_TARGET_UPDATES = "last_update_ts_by_mid"
"""Learner attribute: timestep of the last target network update, by policy."""
_MARKET_VECTOR_ATTRIBUTES = ("_observations", "_rewards", "_terminations", "_truncations", "_infos", "_autoreset_envs")


def resume_state(algorithm: Any) -> bytes:
    """Pickled runner, RNG, learner and replay buffer state."""
    group = algorithm.env_runner_group
    remote = group.num_remote_env_runners() > 0
    runners = dict(group.foreach_env_runner(_runner_state, local_env_runner=not remote))
    return pickle.dumps(
        {
            "runners": runners,
            "chance": global_rng.state(),
            "learner": learner_state(algorithm),
            "buffer": _buffer_state(algorithm),
        }
    )


def restore(algorithm: Any, pickled: bytes) -> str:
    """Restore what `resume_state` saved.

    Returns an empty string, or the reason why nothing was restored: another number of runners.
    """
    saved = pickle.loads(pickled)
    group = algorithm.env_runner_group
    remote = group.num_remote_env_runners() > 0
    indices = set(dict(group.foreach_env_runner(_runner_index, local_env_runner=not remote)))
    runners = saved["runners"]
    if indices != set(runners):
        before, now = _count_runners(set(runners)), _count_runners(indices)
        return f"rollouts were played by {before} before and by {now} now: episodes start anew"

    def restore_runner(runner: Any) -> None:
        _restore_runner(runner, runners[runner.worker_index or 0])

    group.foreach_env_runner(restore_runner, local_env_runner=not remote)
    restore_learner(algorithm, saved["learner"])
    _restore_buffer(algorithm, saved["buffer"])
    global_rng.restore(saved["chance"])  # last: building the algorithm seeded the generators of this process
    return ""


def seed_buffer(algorithm: Any, seed: int) -> None:
    """Seed the generator of the replay buffer, which RLlib leaves unseeded."""
    if algorithm.local_replay_buffer is not None:
        algorithm.local_replay_buffer.rng = np.random.default_rng(seed)


def _count_runners(indices: set[int]) -> str:
    return "the learning process" if indices == {0} else f"{len(indices)} runner{'s' * (len(indices) > 1)}"


def _runner_index(runner: Any) -> tuple[int, None]:
    return runner.worker_index or 0, None


def _runner_state(runner: Any) -> tuple[int, bytes]:
    from ray import cloudpickle

    saved = {name: getattr(runner, name) for name in _RUNNER_ATTRIBUTES}
    rows = runner.env.unwrapped
    if hasattr(rows, "play"):
        saved["play"] = rows.play.state()
        saved["action_space"] = runner.env.action_space.np_random.bit_generator.state
        vector = training_vector(runner)
        saved["sums"], saved["recent"] = vector.lens and vector.lens.sums, list(vector.recent)
    else:
        saved["vector"] = {name: getattr(rows, name) for name in _MARKET_VECTOR_ATTRIBUTES}
        saved["markets"] = [market.unwrapped.state() for market in rows.envs]
    return runner.worker_index or 0, cloudpickle.dumps({"kept": saved, "chance": global_rng.state()})


def _restore_runner(runner: Any, pickled: bytes) -> None:
    found = pickle.loads(pickled)
    saved = found["kept"]
    for name in _RUNNER_ATTRIBUTES:
        setattr(runner, name, saved[name])
    rows = runner.env.unwrapped
    if "play" in saved:
        rows.play.restore(saved["play"])
        runner.env.action_space.np_random.bit_generator.state = saved["action_space"]
        vector = training_vector(runner)
        vector.recent.extend(saved.get("recent", ()))
        if vector.lens is not None:
            vector.lens.sums = saved["sums"]
            vector.lens.take()  # replaying the episodes recorded observations a second time
    else:
        for name, value in saved["vector"].items():
            setattr(rows, name, value)
        for market, each in zip(rows.envs, saved["markets"], strict=True):
            market.reset(seed=0)  # the wrappers refuse to step before a reset
            market.unwrapped.restore(each)
    global_rng.restore(found["chance"])


def learner_state(algorithm: Any) -> dict[str, Any]:
    """Values of the learner that are no weights."""
    learner = algorithm.learner_group._learner
    coefficients = {
        name: {role: value.detach().cpu().numpy() for role, value in getattr(learner, name).items()}
        for name in _COEFFICIENTS
        if hasattr(learner, name)
    }
    return {"weights": coefficients, "targets": dict(getattr(learner, _TARGET_UPDATES, {}))}


def restore_learner(algorithm: Any, saved: dict[str, Any]) -> None:
    """Restore what `learner_state` saved."""
    import torch

    learner = algorithm.learner_group._learner
    for name, roles in saved["weights"].items():
        for role, value in roles.items():
            getattr(learner, name)[role].data.copy_(torch.as_tensor(value))
    if saved["targets"]:
        getattr(learner, _TARGET_UPDATES).update(saved["targets"])


def _buffer_state(algorithm: Any) -> Any:
    buffer = algorithm.local_replay_buffer
    return None if buffer is None else (buffer.get_state(), buffer.rng.bit_generator.state)


def _restore_buffer(algorithm: Any, saved: Any) -> None:
    if saved is not None:
        algorithm.local_replay_buffer.set_state(saved[0])
        algorithm.local_replay_buffer.rng.bit_generator.state = saved[1]
