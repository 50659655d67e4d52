"""Training with our own PPO.

Checkpoints are taken between two rollouts. They hold weights, optimizer, random generators, and the episode and actions
so far of every row. A resumed training therefore continues exactly: on a CPU its final weights equal those of an
uninterrupted training, bit for bit.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import torch

from mayavi.errors import MayaviError
from mayavi.rl.config import TrainConfig
from mayavi.rl.fast.files import OPTIMIZER, RNG, ROWS, WEIGHTS
from mayavi.rl.fast.ppo import PPO
from mayavi.rl.fast.rows import TrainingRows
from mayavi.rl.training import global_rng
from mayavi.rl.training.normaliser import Normaliser, first_normaliser
from mayavi.rl.training.session import Boundary, Session
from mayavi.rl.training_runs.checkpoints import Checkpoint


def train_with_fast(config: TrainConfig, session: Session, resume: Checkpoint | None) -> None:
    """Train until `config.timesteps`, reporting every rollout to `session`."""
    torch.set_num_threads(config.torch_threads)
    device = "cuda" if config.device == "cuda" or (config.device == "auto" and torch.cuda.is_available()) else "cpu"
    session.record["device"] = device
    normaliser = Normaliser.read(resume.path) if resume and config.normalises else first_normaliser(config)
    rows = TrainingRows(config, normaliser)
    with torch.no_grad():
        _seed(config)
        ppo, steps = PPO(config, rows, device), 0
        if resume is None:
            rows.begin(config.seed)
        else:
            steps = resume.steps
            _restore(ppo, resume)
            reason = "GPU arithmetic is not deterministic" if device != "cpu" else ""
            session.resumed_from(resume, exact=not reason, reason=reason)
        while steps < config.timesteps:
            batch = ppo.collect()
            steps += config.batch_size
            figures = ppo.learn(batch, _learning_rate(config, steps))
            _check_finite(ppo, steps)
            rows.update_statistics()
            if (mean := rows.mean_reward) is not None:
                figures["rollout/ep_rew_mean"] = mean
            session.scalars(figures, steps)
            if steps < config.timesteps:
                session.at(_boundary(ppo, steps))
        session.finish(_boundary(ppo, steps))


def _seed(config: TrainConfig) -> None:
    """Seed the global generators, which the trainer and environments of other packages draw from."""
    seed = global_rng.spread_seed(config.seed, "fast")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _learning_rate(config: TrainConfig, steps: int) -> float:
    """Learning rate of the update after `steps` steps."""
    if config.learning_rate_end is None:
        return config.learning_rate
    left = max(1 - steps / config.timesteps, 0.0)
    return config.learning_rate_end + (config.learning_rate - config.learning_rate_end) * left


def _check_finite(ppo: PPO, steps: int) -> None:
    if not bool(torch.isfinite(ppo.network.flat).all()):
        raise MayaviError(
            f"the weights are no longer finite after {steps:,} steps",
            "take a smaller learning_rate, normalize_rewards or normalize_observations",
        )


def _boundary(ppo: PPO, steps: int) -> Boundary:
    """Boundary after the last update and before the next rollout."""

    def save(path: Path) -> None:
        torch.save(ppo.network.state_dict(), path / WEIGHTS)
        torch.save(ppo.optimizer.state_dict(), path / OPTIMIZER)
        (path / ROWS).write_text(json.dumps(ppo.rows.state()), encoding="utf-8")
        (path / RNG).write_text(json.dumps(global_rng.state()), encoding="utf-8")
        if ppo.rows.lens is not None:
            ppo.rows.lens.now.write(path)

    return Boundary(steps, ppo.rows.episodes, ppo.rows.mean_reward, save, (OPTIMIZER, ROWS, RNG))


def _restore(ppo: PPO, resume: Checkpoint) -> None:
    ppo.network.load(torch.load(resume.path / WEIGHTS, weights_only=True))
    ppo.optimizer.load(torch.load(resume.path / OPTIMIZER, weights_only=True))
    ppo.rows.restore(json.loads((resume.path / ROWS).read_text(encoding="utf-8")))
    global_rng.restore(json.loads((resume.path / RNG).read_text(encoding="utf-8")))
