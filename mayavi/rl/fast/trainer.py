"""Training with our own PPO, on the processor or with rows and network on a device.

Checkpoints are taken between two rollouts. They hold weights, optimizer, random generators, and the episode and actions
so far of every row. A resumed training therefore continues exactly: on a CPU its final weights equal those of an
uninterrupted training, bit for bit.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mayavi.errors import DeviceLost, MayaviError, UsageError
from mayavi.evm.devices import DeviceError
from mayavi.rl.config import TrainConfig
from mayavi.rl.fast import device_rows
from mayavi.rl.fast.files import OPTIMIZER, RNG, WEIGHTS
from mayavi.rl.fast.ppo import PPO
from mayavi.rl.fast.rows import TrainingRows
from mayavi.rl.fast.step import ResumableRows
from mayavi.rl.training import global_rng
from mayavi.rl.training.normaliser import Normaliser, first_normaliser
from mayavi.rl.training.session import Boundary, Session
from mayavi.rl.training_runs.checkpoints import Checkpoint

_DEVICE_ERRORS: tuple[type[Exception], ...] = (
    DeviceError,
    UsageError,  # what rows on a device make of an error of their driver
    torch.OutOfMemoryError,
    torch.AcceleratorError,
)


def train_with_fast(config: TrainConfig, session: Session, resume: Checkpoint | None) -> None:
    """Train until `config.timesteps`, reporting every rollout to `session`."""
    torch.set_num_threads(config.torch_threads)
    normaliser = Normaliser.read(resume.path) if resume and config.normalises else first_normaliser(config)
    with torch.no_grad(), _products(config):
        ppo, rows = _open(config, session, normaliser)
        steps = 0 if resume is None else resume.steps
        if resume is None:
            rows.begin(config.seed)
        else:
            _resume(ppo, rows, session, resume)
        while steps < config.timesteps:
            with _device_errors(session):
                batch = ppo.collect()
                steps += config.batch_size
                figures = ppo.learn(batch, _learning_rate(config, steps))
                _check_finite(ppo, steps)
                rows.update_statistics()
            if (mean := rows.mean_reward) is not None:
                figures["rollout/ep_rew_mean"] = mean
            session.scalars(figures, steps)
            if steps < config.timesteps:
                session.at(_boundary(ppo, rows, steps))
        if isinstance(rows, TrainingRows):
            rows.env.keep_paths()
        session.finish(_boundary(ppo, rows, steps))


def _open(config: TrainConfig, session: Session, normaliser: Normaliser | None) -> tuple[PPO, ResumableRows]:
    """Open rows and network where the settings want them, with seeded generators."""
    if not config.rows_on_device:
        device = "cuda" if config.device == "auto" and torch.cuda.is_available() else "cpu"
        session.record["device"] = device
        rows = TrainingRows(config, normaliser)
        _seed(config)
        return PPO(config, rows, device), rows
    table = device_rows.start_table(config)
    played = device_rows.DeviceTrainingRows(config, normaliser, device_rows.open_device_rows(config, table))
    session.record |= {"device": config.device, "start_table": device_rows.table_record(table)}
    _seed(config)
    generator = torch.Generator(played.device)
    ppo = PPO(config, played, played.device, generator)
    _seed(config, generator)
    return ppo, played


@contextmanager
def _products(config: TrainConfig) -> Iterator[None]:
    """Let float32 products round their factors to TF32 if the settings want it; the caller's choice is restored."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if config.precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _device_errors(session: Session) -> Iterator[None]:
    """Turn an error of the device within a rollout or an update into one that says how to continue."""
    try:
        yield
    except _DEVICE_ERRORS as error:
        if not session.config.rows_on_device and isinstance(error, UsageError):
            raise
        kept = [each.steps for each in session.folder.checkpoints() if each.resumable]
        hint = "no checkpoint was written yet: start the training again"
        if kept:
            hint = (
                f"`mayavi train --resume {session.folder.run_id}` continues from the checkpoint at {kept[-1]:,} steps"
            )
        if isinstance(error, torch.OutOfMemoryError):
            hint = f"smaller: num_envs × rollout_steps, minibatch_size, network; or {hint}"
        steps, what = session.record["steps"], str(error).splitlines()[0]
        raise DeviceLost(f"the device failed after {steps:,} steps: {what}", hint) from error


def _seed(config: TrainConfig, generator: torch.Generator | None = None, steps: int = 0) -> int:
    """Seed the global generators, which the trainer and environments of other packages draw from, and `generator`.

    Returns the seed; it is another one for a training whose rows begin anew after `steps` steps.
    """
    seed = global_rng.spread_seed(config.seed, f"fast after {steps}" if steps else "fast")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if generator is not None:
        generator.manual_seed(seed)
    return seed


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


def _boundary(ppo: PPO, rows: ResumableRows, steps: int) -> Boundary:
    """Boundary after the last update and before the next rollout."""

    def save(path: Path) -> None:
        torch.save(ppo.network.state_dict(), path / WEIGHTS)
        torch.save(ppo.optimizer.state_dict(), path / OPTIMIZER)
        rows.save(path)
        (path / RNG).write_text(json.dumps(_generators(ppo)), encoding="utf-8")
        if (normaliser := rows.normaliser()) is not None:
            normaliser.write(path)

    return Boundary(steps, rows.episodes, rows.mean_reward, save, (OPTIMIZER, rows.file, RNG))


def _generators(ppo: PPO) -> dict[str, Any]:
    """State of all random generators of the training, as JSON data."""
    found = global_rng.state()
    if ppo.generator is not None:
        found["device"] = ppo.generator.get_state().numpy().tobytes().hex()
    return found


def _resume(ppo: PPO, rows: ResumableRows, session: Session, resume: Checkpoint) -> None:
    """Continue from a checkpoint; rows that were on another device begin new episodes."""
    ppo.network.load(torch.load(resume.path / WEIGHTS, weights_only=True))
    ppo.optimizer.load(torch.load(resume.path / OPTIMIZER, weights_only=True))
    reason = "GPU arithmetic is not deterministic" if ppo.device.type != "cpu" else ""
    if (resume.path / rows.file).is_file():
        rows.restore(resume.path)
        saved = json.loads((resume.path / RNG).read_text(encoding="utf-8"))
        global_rng.restore(saved)
        if ppo.generator is not None:
            ppo.generator.set_state(torch.frombuffer(bytearray.fromhex(saved["device"]), dtype=torch.uint8))
    else:
        reason = "its environment ran on another device, so all rows begin new episodes"
        rows.episodes = int(resume.facts["episodes"])
        rows.begin(_seed(ppo.config, ppo.generator, resume.steps))
    session.resumed_from(resume, reason)
