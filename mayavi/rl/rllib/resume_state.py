"""Where RLlib's runners stand between two rollouts, which its own checkpoints do not hold.

RLlib saves weights, optimizers, connectors and metrics. A run that goes on from that plays new episodes, with
generators that start anew. Kept here are the rows of every runner, the episodes it is in the middle of, the generators
of its process, the replay buffer and what learners adjust beside the weights, so that the next rollout is the one that
would have come.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from mayavi.rl.rllib.env import training_vector
from mayavi.rl.training import global_rng

_RUNNER = (
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
"""What learners adjust beside the weights: PPO's penalty, SAC's temperature."""
_TARGETS = "last_update_ts_by_mid"
"""When the target networks were last moved."""
_MARKETS = ("_observations", "_rewards", "_terminations", "_truncations", "_infos", "_autoreset_envs")
"""What RLlib's row of markets remembers itself."""


def standing(algorithm: Any) -> bytes:
    """All of it, pickled."""
    group = algorithm.env_runner_group
    remote = group.num_remote_env_runners() > 0
    runners = dict(group.foreach_env_runner(_runner_standing, local_env_runner=not remote))
    return pickle.dumps(
        {
            "runners": runners,
            "chance": global_rng.state(),
            "learner": _learner_standing(algorithm),
            "buffer": _buffer_standing(algorithm),
        }
    )


def put_back(algorithm: Any, kept: bytes) -> str:
    """Let the runners of `algorithm` stand where they stood. Gives the reason where they cannot, else nothing."""
    found = pickle.loads(kept)
    group = algorithm.env_runner_group
    remote = group.num_remote_env_runners() > 0
    indices = set(dict(group.foreach_env_runner(_index, local_env_runner=not remote)))
    if indices != set(found["runners"]):
        return f"{_players(set(found['runners']))} played before, and {_players(indices)} now: episodes start anew"
    runners = found["runners"]

    def restore(runner: Any) -> None:
        _put_runner_back(runner, runners[runner.worker_index or 0])

    group.foreach_env_runner(restore, local_env_runner=not remote)
    _put_learner_back(algorithm, found["learner"])
    _put_buffer_back(algorithm, found["buffer"])
    global_rng.restore(found["chance"])  # last: of this process, where building the algorithm has seeded everything
    return ""


def _players(indices: set[int]) -> str:
    return "the learning process itself" if indices == {0} else f"{len(indices)} runner{'s' * (len(indices) > 1)}"


def _index(runner: Any) -> tuple[int, None]:
    return runner.worker_index or 0, None


def _runner_standing(runner: Any) -> tuple[int, bytes]:
    from ray import cloudpickle

    kept = {name: getattr(runner, name) for name in _RUNNER}
    rows = runner.env.unwrapped
    if hasattr(rows, "play"):
        kept["play"] = rows.play.state()
        kept["action_space"] = runner.env.action_space.np_random.bit_generator.state
        vector = training_vector(runner)
        kept["sums"], kept["recent"] = vector.lens and vector.lens.sums, list(vector.recent)
    else:
        kept["vector"] = {name: getattr(rows, name) for name in _MARKETS}
        kept["markets"] = [market.unwrapped.standing() for market in rows.envs]
    return runner.worker_index or 0, cloudpickle.dumps({"kept": kept, "chance": global_rng.state()})


def _put_runner_back(runner: Any, written: bytes) -> None:
    found = pickle.loads(written)
    kept = found["kept"]
    for name in _RUNNER:
        setattr(runner, name, kept[name])
    rows = runner.env.unwrapped
    if "play" in kept:
        rows.play.restore(kept["play"])
        runner.env.action_space.np_random.bit_generator.state = kept["action_space"]
        vector = training_vector(runner)
        vector.recent.extend(kept.get("recent", ()))
        if vector.lens is not None:
            vector.lens.sums = kept["sums"]
            vector.lens.take()  # what playing the episodes again has shown was noted before
    else:
        for name, value in kept["vector"].items():
            setattr(rows, name, value)
        for market, each in zip(rows.envs, kept["markets"], strict=True):
            market.reset(seed=0)  # what is wrapped around it must have seen one
            market.unwrapped.stand(each)
    global_rng.restore(found["chance"])


def _learner_standing(algorithm: Any) -> dict[str, Any]:
    learner = algorithm.learner_group._learner
    weights = {
        name: {role: value.detach().cpu().numpy() for role, value in getattr(learner, name).items()}
        for name in _COEFFICIENTS
        if hasattr(learner, name)
    }
    return {"weights": weights, "targets": dict(getattr(learner, _TARGETS, {}))}


def _put_learner_back(algorithm: Any, kept: dict[str, Any]) -> None:
    import torch

    learner = algorithm.learner_group._learner
    for name, roles in kept["weights"].items():
        for role, value in roles.items():
            getattr(learner, name)[role].data.copy_(torch.as_tensor(value))
    if kept["targets"]:
        getattr(learner, _TARGETS).update(kept["targets"])


def seed_buffer(algorithm: Any, seed: int) -> None:
    """RLlib's buffer draws from a generator that nobody seeded."""
    if algorithm.local_replay_buffer is not None:
        algorithm.local_replay_buffer.rng = np.random.default_rng(seed)


def _buffer_standing(algorithm: Any) -> Any:
    buffer = algorithm.local_replay_buffer
    return None if buffer is None else (buffer.get_state(), buffer.rng.bit_generator.state)


def _put_buffer_back(algorithm: Any, kept: Any) -> None:
    if kept is not None:
        algorithm.local_replay_buffer.set_state(kept[0])
        algorithm.local_replay_buffer.rng.bit_generator.state = kept[1]
