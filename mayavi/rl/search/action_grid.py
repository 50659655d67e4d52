"""Actions that a search tries: all of a discrete space, equidistant points of a continuous one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.rows import RowsEnv

POINTS = 5
"""Points along each dimension of a continuous action: -1, -0.5, 0, 0.5 and 1 where it goes from -1 to 1."""
MOST_ACTIONS = 4_096


@dataclass(frozen=True, slots=True)
class ActionGrid:
    """Actions along the first axis of `values`; `whole` if the space has no others."""

    values: NDArray[Any]
    whole: bool

    def __len__(self) -> int:
        return len(self.values)

    def to_json(self) -> dict[str, object]:
        """JSON data."""
        return {"whole": self.whole, "actions": self.values.tolist()}


def action_grid(env: RowsEnv[Any], points: int = POINTS) -> ActionGrid:
    """Action grid of `env`, with `points` along each dimension of a continuous space."""
    from gymnasium import spaces

    space = env.action_space
    if isinstance(space, spaces.Discrete):
        return ActionGrid(np.arange(int(space.n)) + int(space.start), whole=True)
    assert isinstance(space, spaces.Box)
    if points < 2:
        raise UsageError(f"a grid of {points} points is too small", "give at least two points")
    low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
    if points ** len(low) > MOST_ACTIONS:
        raise UsageError(
            f"{points} points in each of {len(low)} dimensions are {points ** len(low):,} actions",
            f"take fewer points: a search tries {MOST_ACTIONS:,} at most",
        )
    axes = [np.linspace(a, b, points).tolist() for a, b in zip(low, high, strict=True)]
    return ActionGrid(np.array(list(product(*axes))).reshape(-1, *space.shape), whole=False)
