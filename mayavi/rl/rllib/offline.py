"""Train offline with RLlib's CQL on recorded rollouts.

RLlib's learner and network are used as they are. Batches are drawn uniformly from all recorded steps, seeded like
everything else, instead of by Ray Data: so the same data and seed give the same weights, and an interrupted training
continues exactly.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.rllib.files import ALGORITHM, RESUME_STATE
from mayavi.rl.rllib.policy import ONLY_POLICY
from mayavi.rl.rllib.resume_state import learner_state, restore_learner
from mayavi.rl.rollouts.file import Rollouts, read_rollouts
from mayavi.rl.training import global_rng
from mayavi.rl.training.global_rng import spread_seed
from mayavi.rl.training.session import Boundary, Session
from mayavi.rl.training.training_signal import TrainingSignal
from mayavi.rl.training_runs.checkpoints import Checkpoint
from mayavi.rl.training_runs.file_copies import digest_of

UPDATES = 50
"""Gradient steps between two reports."""


def new_cql_config() -> Any:
    """RLlib's `CQLConfig` for an algorithm that draws its batches from `Steps`."""
    from ray.rllib.algorithms.cql import CQL, CQLConfig
    from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

    class OfflineCQL(CQL):  # type: ignore[misc]  # no types there
        """CQL on recorded steps."""

        steps: Steps
        updates = UPDATES
        done = 0
        """Gradient steps so far."""

        def training_step(self) -> None:
            """Take `updates` gradient steps."""
            size = self.config.total_train_batch_size
            for _ in range(self.updates):
                batch = MultiAgentBatch({ONLY_POLICY: SampleBatch(self.steps.draw(size))}, size)
                self.done += 1
                results = self.learner_group.update(
                    batch=batch, timesteps={"num_env_steps_sampled_lifetime": self.done}
                )
            self.metrics.aggregate(results, key="learners")

    return CQLConfig(algo_class=OfflineCQL)


@dataclass(slots=True)
class Steps:
    """All recorded steps as RLlib's columns, and the generator that draws batches of them."""

    columns: dict[str, NDArray[Any]]
    rng: np.random.Generator

    @classmethod
    def of(cls, found: Rollouts, config: TrainConfig, space: Any) -> Steps:
        """Steps with rewards and ends of the training's signal, and actions scaled to [-1, 1]."""
        signal = TrainingSignal.of(config)
        ends = [signal.ends(each.terminated, not each.terminated) for each in found.episodes]
        lasts = [np.arange(len(each)) == len(each) - 1 for each in found.episodes]
        actions = np.concatenate([each.actions for each in found.episodes])
        columns = {
            "obs": np.concatenate([each.observations[:-1] for each in found.episodes]),
            "new_obs": np.concatenate([each.observations[1:] for each in found.episodes]),
            "actions": 2 * (actions - space.low) / (space.high - space.low) - 1,
            "rewards": np.concatenate([signal.reward(each.rewards) for each in found.episodes]),
            "terminateds": np.concatenate([last & end[0] for last, end in zip(lasts, ends, strict=True)]),
            "truncateds": np.concatenate([last & end[1] for last, end in zip(lasts, ends, strict=True)]),
        }
        exact = {"terminateds", "truncateds"}
        typed = {name: each if name in exact else each.astype(np.float32) for name, each in columns.items()}
        return cls(typed, np.random.default_rng(spread_seed(config.seed, "replay")))

    def draw(self, size: int) -> dict[str, NDArray[Any]]:
        """A batch of `size` steps, with replacement."""
        chosen = self.rng.integers(len(self.columns["rewards"]), size=size)
        return {name: each[chosen] for name, each in self.columns.items()}


def train_offline(config: TrainConfig, session: Session, algorithm: Any, resume: Checkpoint | None) -> None:
    """Train until `config.timesteps` gradient steps are taken; `session` is called every `UPDATES` of them."""
    assert config.rollouts is not None
    found = read_rollouts(Path(config.rollouts))
    ((_, actions),) = session.facts.roles.values()
    algorithm.steps = Steps.of(found, config, actions)
    digest = digest_of(found.path)
    before = session.record.get("rollouts") or {}
    if resume and before.get("sha256", digest) != digest:
        raise UsageError(
            f"'{found.path}' is not the file that run {session.folder.run_id} was trained on so far",
            "put that file back, or start another training",
        )
    session.record["rollouts"] = {
        "sha256": digest,
        "episodes": len(found.episodes),
        "steps": found.steps,
        "mean_reward": found.mean_reward,
    }
    if resume:
        _restore(algorithm, resume, session)
    while algorithm.done < config.timesteps:
        algorithm.updates = min(UPDATES, config.timesteps - algorithm.done)
        result = algorithm.train()
        session.scalars(_losses(result), algorithm.done)
        if algorithm.done < config.timesteps:
            session.at(_boundary(algorithm, len(found.episodes)))
    session.finish(_boundary(algorithm, len(found.episodes)))


def _restore(algorithm: Any, resume: Checkpoint, session: Session) -> None:
    algorithm.restore_from_path(str((resume.path / ALGORITHM).absolute()))
    saved = pickle.loads((resume.path / RESUME_STATE).read_bytes())
    algorithm.done = resume.steps
    restore_learner(algorithm, saved["learner"])
    algorithm.steps.rng.bit_generator.state = saved["steps_rng"]
    global_rng.restore(saved["chance"])  # last: building the algorithm seeded the generators of this process
    on_gpu = session.record["device"] != "cpu"
    session.resumed_from(resume, "GPU arithmetic is not deterministic" if on_gpu else "")


def _boundary(algorithm: Any, episodes: int) -> Boundary:
    def save(path: Path) -> None:
        saved = {
            "learner": learner_state(algorithm),
            "steps_rng": algorithm.steps.rng.bit_generator.state,
            "chance": global_rng.state(),
        }
        algorithm.save_to_path(str((path / ALGORITHM).absolute()))
        (path / RESUME_STATE).write_bytes(pickle.dumps(saved))

    return Boundary(algorithm.done, episodes, None, save, (RESUME_STATE,))


def _losses(result: Any) -> dict[str, float]:
    """Losses and values of the learner, to plot."""
    found = result.get("learners", {}).get("default_policy", {})
    return {
        f"learners/{name}": float(value) for name, value in found.items() if isinstance(value, int | float | np.number)
    }
