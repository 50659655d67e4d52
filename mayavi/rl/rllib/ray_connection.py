"""Connect to a Ray cluster, or start a local one for the duration of a training."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mayavi.errors import UsageError
from mayavi.parallel.ray_address import join_cluster
from mayavi.rl.config import TrainConfig

VARIABLE = "MAYAVI_RL_NUM_ENV_RUNNERS"


def runner_count(chosen: int | None) -> int:
    """Number of processes that play rollouts for the learner.

    `chosen`, else MAYAVI_RL_NUM_ENV_RUNNERS, else the number of cores, at most two.
    """
    if chosen is not None:
        return chosen
    written = os.environ.get(VARIABLE, "").strip()
    if not written:
        return min(len(os.sched_getaffinity(0)), 2)
    if not written.isdigit():
        raise UsageError(f"{VARIABLE} is '{written}'", "give a whole number; 0 plays rollouts in the learning process")
    return int(written)


def checked_runners(config: TrainConfig, address: str | None = None, previous: int | None = None) -> int:
    """Number of runners of a training, by default `previous` when it is resumed.

    Raises `UsageError` for more runners than rows, or for a cluster without runners.
    """
    runners = runner_count(previous if config.runners is None else config.runners)
    if runners > config.num_envs:
        raise UsageError(
            f"{runners} runners cannot share {config.num_envs} rows", "give more num_envs, or fewer runners"
        )
    if address is not None and not runners:
        raise UsageError(
            f"a training with 0 runners does not use the Ray cluster at '{address}'", "give runners: --set runners=2"
        )
    return runners


@contextmanager
def ray_for(runners: int, address: str | None) -> Iterator[Any]:
    """Ray connected to `address` or RAY_ADDRESS, else started on this machine and shut down afterwards.

    A Ray that the caller has initialised is used as it is and left running.
    """
    address = address or os.environ.get("RAY_ADDRESS", "").strip() or None
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # no warning about runners without GPU
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own warnings
        import ray

        silence_ray()
        if ray.is_initialized():
            yield ray
            return
        if address is None:
            ray.init(
                address="local",
                num_cpus=max(len(os.sched_getaffinity(0)), runners),
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        else:
            join_cluster(ray, address)
        try:
            cores = int(ray.cluster_resources().get("CPU", 0))
            if runners > cores:
                raise UsageError(
                    f"{runners} runners need as many cores, and the Ray cluster has {cores}",
                    f"fewer: `--set runners={cores}` or {VARIABLE}={cores}",
                )
            yield ray
        finally:
            ray.shutdown()


def silence_ray() -> None:
    """Silence the loggers of Ray and RLlib: errors that concern the user are raised."""
    for name in ("ray", "ray.rllib", "ray.tune", "ray.train"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
