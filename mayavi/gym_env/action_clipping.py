"""Clip actions to an action space."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument
from mayavi.gym_env.action_checks import expected, numeric_actions

if TYPE_CHECKING:
    from gymnasium import spaces


def clip_actions(
    space: spaces.Space[Any],
    actions: Any,
    alive: NDArray[np.bool_],
    owner: Callable[[int], str] | None = None,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Clip `actions` to `space`; returns the clipped actions and which of them were out of range.

    `actions` and `alive` have equal lengths. Where `alive` is False, the result is the zero action. Results are int64
    for a discrete space, float64 for a box. Raises `BadArgument` for a wrong shape, values that are not numbers, NaN,
    or fractions in a discrete space; `owner(at)` names whose action number `at` is, by default its row.
    """
    from gymnasium import spaces

    rows = len(alive)
    given = numeric_actions(space, actions, rows, owner)
    if _all_in_range(space, given):
        zero = int(space.start) if isinstance(space, spaces.Discrete) else 0.0
        taken = given.astype(type(zero))
        taken[~alive] = zero
        return taken, np.zeros(rows, dtype=np.bool_)
    bad = np.flatnonzero(~np.isfinite(given).reshape(rows, -1).all(axis=1) & alive)
    if len(bad):
        who = owner(int(bad[0])) if owner else f"row {bad[0]}"
        raise BadArgument(
            f"the action of {who} is not a number: {given[bad[0]].tolist()}",
            f"give {expected(space)}; a policy that gives NaN has diverged",
        )
    fitting: NDArray[Any]
    if isinstance(space, spaces.Discrete):
        if given.dtype.kind == "f" and len(parts := np.flatnonzero((given != np.floor(given)) & alive)):
            who = owner(int(parts[0])) if owner else f"row {parts[0]}"
            raise BadArgument(
                f"the action of {who} is {given[parts[0]]:g}, not a whole number",
                f"choose one of {space.n} by its number: {expected(space)}",
            )
        first, last = int(space.start), int(space.start) + int(space.n) - 1
        wanted: NDArray[Any] = np.where(alive, given, first)
        fitting = np.clip(wanted, first, last).astype(np.int64)
    elif isinstance(space, spaces.Box):
        wanted = np.where(alive.reshape(-1, *(1,) * (given.ndim - 1)), given, 0.0).astype(np.float64)
        fitting = np.clip(wanted, space.low, space.high)
    else:
        raise BadArgument(f"action spaces of type {type(space).__name__} are not supported", "use Discrete or Box")
    return fitting, (fitting != wanted).reshape(rows, -1).any(axis=1) & alive


def _all_in_range(space: spaces.Space[Any], given: NDArray[Any]) -> bool:
    """Whether no action needs clipping, which is the usual case."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        return given.dtype.kind in "iu" and bool(first <= given.min() and given.max() < first + int(space.n))
    return isinstance(space, spaces.Box) and bool(((given >= space.low) & (given <= space.high)).all())
