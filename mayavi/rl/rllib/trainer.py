"""Train with RLlib, in this process, over its cores or on a Ray cluster.

Without runners the learning process plays rollouts itself, on all rows at once. Otherwise each runner is a process on
any node of the cluster.
"""

from __future__ import annotations

import math
import shutil
import sys
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import torch

from mayavi.errors import MayaviError, WorkerError
from mayavi.evm.specialise import current
from mayavi.rl.config import TrainConfig
from mayavi.rl.rllib.env import keep_paths, played_sites
from mayavi.rl.rllib.files import ALGORITHM, RESUME_STATE
from mayavi.rl.rllib.offline import train_offline
from mayavi.rl.rllib.ray_connection import checked_runners, ray_for, silence_ray
from mayavi.rl.rllib.statistics import set_statistics, update_statistics
from mayavi.rl.training.adam import spare_compiler
from mayavi.rl.training.global_rng import spread_seed
from mayavi.rl.training.normaliser import Normaliser, first_normaliser
from mayavi.rl.training.session import Boundary, Session
from mayavi.rl.training_runs.checkpoints import Checkpoint


def train_with_rllib(config: TrainConfig, session: Session, resume: Checkpoint | None, address: str | None) -> None:
    """Train until the timesteps are reached; `session` is called after every rollout."""
    kept = session.record.get("runners") if resume else None  # another machine may have another number of cores
    runners = checked_runners(config, address, kept) if config.algorithm != "cql" else 0
    torch.set_num_threads(config.torch_threads)
    # RLlib warns and prints; standard output belongs to the caller.
    with ray_for(runners, address) as ray, warnings.catch_warnings(), redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        try:
            algorithm = _build_algorithm(config, session, runners)
            try:
                if config.algorithm == "cql":
                    train_offline(config, session, algorithm, resume)
                else:
                    _train(config, session, algorithm, resume)
            finally:
                algorithm.stop()
                shutil.rmtree(algorithm.logdir, ignore_errors=True)  # an empty folder of Ray's
        except ray.exceptions.RayError as error:
            raise _runner_error(error) from error


def _runner_error(error: Exception) -> MayaviError:
    """Error to raise for a failed runner: its own `MayaviError`, or a `WorkerError`."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, MayaviError):
        return cause
    if "Died" in type(error).__name__ or "Crashed" in type(error).__name__:
        message = "a runner of the training is gone: it was killed, ran out of memory, or its node was lost"
    else:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        message = f"a runner of the training failed: {lines[-1] if lines else type(error).__name__}"
    return WorkerError(message, "`mayavi train --resume` goes on from the last checkpoint")


def _build_algorithm(config: TrainConfig, session: Session, runners: int) -> Any:
    from mayavi.rl.rllib.algorithm import algorithm_config, on_gpu, set_initial_deviation
    from mayavi.rl.rllib.resume_state import seed_buffer

    session.record |= {"device": "cuda" if on_gpu(config) else "cpu", "runners": runners}
    made = algorithm_config(config, session.facts, runners)
    spare_compiler()
    algorithm = made.build_algo()
    silence_ray()  # building has set the level of its loggers
    seed_buffer(algorithm, spread_seed(config.seed, "replay"))
    if config.initial_deviation != 1.0 and not session.facts.discrete:
        set_initial_deviation(algorithm, config.initial_deviation)
    if runners:
        session.record["nodes"] = len(set(algorithm.env_runner_group.foreach_env_runner(_node, local_env_runner=False)))
    return algorithm


def _node(_: Any) -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())


def _train(config: TrainConfig, session: Session, algorithm: Any, resume: Checkpoint | None) -> None:
    from mayavi.rl.rllib.resume_state import restore

    steps = episodes = 0
    mean: float | None = None
    normaliser = Normaliser.read(resume.path) if resume and config.normalises else first_normaliser(config)
    if normaliser is not None:
        set_statistics(algorithm, normaliser)
    if resume:
        steps, episodes, mean = (resume.facts[name] for name in ("steps", "episodes", "mean_reward"))
        algorithm.restore_from_path(str((resume.path / ALGORITHM).absolute()))
        reason = restore(algorithm, (resume.path / RESUME_STATE).read_bytes())
        if not reason and session.record["device"] != "cpu":
            reason = "GPU arithmetic is not deterministic"
        session.resumed_from(resume, reason)
    while steps < config.timesteps:
        result = algorithm.train()
        played = result["env_runners"]
        steps += int(played["num_env_steps_sampled"])
        ended, returned = (float(played.get(name, math.nan)) for name in ("num_episodes", "episode_return_mean"))
        episodes += 0 if math.isnan(ended) else int(ended)  # NaN where no episode ended in the rollout
        mean = mean if math.isnan(returned) else returned / config.reward_scale
        if normaliser is not None:
            mean = update_statistics(algorithm, normaliser)
        session.scalars(_numbers(result), steps)
        if steps < config.timesteps:
            session.at(_boundary(algorithm, normaliser, steps, episodes, mean))
    if (replayed := current()) is not None and session.record["runners"]:
        group = algorithm.env_runner_group
        for sites in group.foreach_env_runner(played_sites, local_env_runner=False):
            replayed.add(sites)
    algorithm.env_runner_group.foreach_env_runner(keep_paths)
    session.finish(_boundary(algorithm, normaliser, steps, episodes, mean))


def _boundary(algorithm: Any, normaliser: Normaliser | None, steps: int, episodes: int, mean: float | None) -> Boundary:
    from mayavi.rl.rllib.resume_state import resume_state

    def save(path: Path) -> None:
        kept = resume_state(algorithm)  # first, in case saving draws from an RNG
        algorithm.save_to_path(str((path / ALGORITHM).absolute()))
        (path / RESUME_STATE).write_bytes(kept)
        if normaliser is not None:
            normaliser.write(path)

    return Boundary(steps, episodes, mean, save, (RESUME_STATE,))


def _numbers(result: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Flatten the figures of a result to plot."""
    found: dict[str, float] = {}
    for name, value in result.items():
        if isinstance(value, Mapping) and name in {"env_runners", "learners", "default_policy", "timers"}:
            found |= _numbers(value, f"{prefix}{name}/")
        elif prefix and isinstance(value, int | float) and not isinstance(value, bool):
            found[f"{prefix}{name}"] = float(value)
    return found
