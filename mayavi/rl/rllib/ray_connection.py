"""Ray as a training needs it: a cluster that is there, or one of this machine that goes when the training does."""

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
    """Processes that play beside the one that learns: what is `chosen`, else MAYAVI_RL_NUM_ENV_RUNNERS, else as many
    as there are cores, two at most."""
    if chosen is not None:
        return chosen
    written = os.environ.get(VARIABLE, "").strip()
    if not written:
        return min(len(os.sched_getaffinity(0)), 2)
    if not written.isdigit():
        raise UsageError(f"{VARIABLE} is '{written}'", "give a number; 0 lets the learning process play itself")
    return int(written)


def checked_runners(config: TrainConfig, address: str | None = None, kept: int | None = None) -> int:
    """The number of runners of a training, `kept` where it is resumed; `UsageError` where they cannot play it."""
    runners = runner_count(kept if config.runners is None else config.runners)
    if runners > config.num_envs:
        raise UsageError(
            f"{runners} runners cannot share {config.num_envs} rows", "give more num_envs, or fewer runners"
        )
    if address is not None and not runners:
        raise UsageError(f"nothing would be played on the Ray cluster at '{address}'", "give runners: --set runners=2")
    return runners


@contextmanager
def ray_for(runners: int, address: str | None) -> Iterator[Any]:
    """Ray, connected to `address` or RAY_ADDRESS, else started here without a dashboard and ended after.

    Where the caller has started Ray already, that is used and left running.
    """
    address = address or os.environ.get("RAY_ADDRESS", "").strip() or None
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # runners ask for no accelerator, and warn of none
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own
        import ray

        hush()
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


def hush() -> None:
    """RLlib tells of its own affairs at length; what concerns the user is raised."""
    for name in ("ray", "ray.rllib", "ray.tune", "ray.train"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
