"""A batch of rows as gymnasium's vector environment, in each of its autoreset modes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from benchmarks.subjects.free_env import FreeConfig, FreeEnv
from mayavi.gym_env.adapters.single import MayaviEnv
from mayavi.gym_env.adapters.vector import MayaviVectorEnv

ROWS = 4


def free(rows: int = ROWS, horizon: int = 3) -> FreeEnv:
    return FreeEnv(FreeConfig(horizon=horizon), rows)


def equal(ours: Any, theirs: Any) -> None:
    """The same values, whatever holds them."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for name in theirs:
            equal(ours[name], theirs[name])
    elif isinstance(theirs, np.ndarray) and theirs.dtype == object:
        for one, other in zip(ours, theirs, strict=True):
            equal(one, other)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_batch_tells_what_gymnasiums_own_batch_of_singles_tells(mode: AutoresetMode) -> None:
    ours = MayaviVectorEnv(free(), autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: MayaviEnv(free(1))] * ROWS, autoreset_mode=mode)
    equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    rng = np.random.default_rng(1)
    for _ in range(9):
        actions = rng.integers(3, size=ROWS)
        one, other = ours.step(actions), theirs.step(actions)
        for mine, its in zip(one[:4], other[:4], strict=True):
            equal(mine, its)
        equal({name: one[4][name] for name in other[4]}, other[4])


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_a_batch_goes_on_from_a_state_where_another_stood(mode: str) -> None:
    rng = np.random.default_rng(2)
    for steps in range(8):
        first = MayaviVectorEnv(free(), autoreset_mode=mode, resumable=True)
        first.reset(seed=9)
        for _ in range(steps):
            first.step(rng.integers(3, size=ROWS))
        second = MayaviVectorEnv(free(), autoreset_mode=mode)
        second.play.restore(json.loads(json.dumps(first.play.state())))
        for _ in range(5):
            actions = rng.integers(3, size=ROWS)
            for mine, its in zip(first.step(actions), second.step(actions), strict=True):
                equal(mine, its)
