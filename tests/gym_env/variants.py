"""Small variants of all environments, and helpers to play them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mayavi.gym_env import ENVS, make_rows
from mayavi.gym_env.rows import RowsEnv

OURS = {name: each for name, each in ENVS.items() if each.home.startswith("mayavi.")}
"""Environments of the package, without those that other tests register."""

SMALL: dict[str, dict[str, Any]] = {
    "liquidator": {"borrowers": 3, "horizon": 8},
    "rwa": {"horizon": 12},
    "scenario": {"horizon": 4},
}
"""Settings that shorten episodes in tests."""
KINDS = [(actions, start) for actions in ("discrete", "continuous") for start in ("drawn", "fixed")]
QUICK_KINDS = {("discrete", "drawn"), ("continuous", "fixed")}
"""Kinds that the fast tests look at: each action space and each start once."""
QUICK_NAMES = {"aave", "liquidator", "rwa", "vesting"}
"""Environments that the fast tests look at."""
VARIANTS = [
    pytest.param(
        name,
        {**SMALL.get(name, {}), "actions": actions, "start": start},
        id=f"{name}-{actions}-{start}",
        marks=[] if (actions, start) in QUICK_KINDS and name in QUICK_NAMES else [pytest.mark.slow(0.3)],
    )
    for name in OURS
    for actions, start in KINDS
]
"""Parameters `name` and `settings`."""
NAMES = [
    pytest.param(name, SMALL.get(name, {}), id=name, marks=[] if name in QUICK_NAMES else [pytest.mark.slow(0.2)])
    for name in OURS
]
"""Parameters `name` and `settings` of one variant per environment."""

Chooser = Callable[[RowsEnv[Any]], NDArray[Any]]


def choices(env: RowsEnv[Any], seed: int) -> list[NDArray[Any]]:
    """Random actions of all rows for each step of an episode; each row has its own RNG."""
    streams = [np.random.default_rng([seed, row]) for row in range(env.rows)]
    return [np.stack([drawn(env, stream) for stream in streams]) for _ in range(env.config.horizon)]


def drawn(env: RowsEnv[Any], stream: np.random.Generator) -> NDArray[Any]:
    """Draw one action from the action space."""
    space = env.action_space
    if hasattr(space, "n"):
        return np.asarray(stream.integers(space.n))
    return np.asarray(stream.uniform(space.low, space.high, space.shape), dtype=np.float32)


def episode(env: RowsEnv[Any], numbers: list[int], actions: list[NDArray[Any]]) -> list[dict[str, Any]]:
    """Play the episodes `numbers`; returns `moment` at the start and after each step. Finished rows get no reward."""
    env.begin(range(env.rows), numbers)
    live = np.ones(env.rows, dtype=np.bool_)
    nothing = np.zeros(env.rows)
    moments = [moment(env, nothing, ~live, ~live)]
    for action in actions:
        stepped = env.step(action, live)
        rewards = np.where(live, stepped.rewards, 0.0)
        moments.append(moment(env, rewards, stepped.terminated, stepped.truncated))
        live = live & ~stepped.done
        if not live.any():
            break
    return moments


def moment(env: RowsEnv[Any], rewards: Any, terminated: Any, truncated: Any) -> dict[str, Any]:
    """Copy observations, rewards, ends and exact figures of all rows."""
    values_of = {"observations": env.observe(), "rewards": rewards, "terminated": terminated, "truncated": truncated}
    return {name: np.array(values) for name, values in values_of.items()} | {"exact": env.exact()}


def of_row(moments: list[dict[str, Any]], row: int) -> list[dict[str, Any]]:
    """Values of one row, up to the end of its episode."""
    seen = []
    for each in moments:
        seen.append(
            {name: values[row].tolist() for name, values in each.items() if name != "exact"}
            | {name: values[row] for name, values in each["exact"].items()}
        )
        if each["terminated"][row] or each["truncated"][row]:
            break
    return seen


def rows_of(name: str, settings: dict[str, Any], rows: int, **more: Any) -> RowsEnv[Any]:
    """Make a variant with `rows` rows."""
    return make_rows(name, rows, **settings, **more)
