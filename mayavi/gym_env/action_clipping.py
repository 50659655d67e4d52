"""Clip actions to an action space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument

if TYPE_CHECKING:
    from gymnasium import spaces


def clip_actions(
    space: spaces.Space[Any], actions: Any, alive: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Clip `actions` to `space`; returns the clipped actions and which of them were out of range.

    `actions` and `alive` have equal lengths. Where `alive` is False, the result is the zero action. Results are int64
    for a discrete space, float64 for a box. Raises `BadArgument` for a wrong shape, values that are no numbers, NaN, or
    fractions in a discrete space.
    """
    from gymnasium import spaces

    given, rows = np.asarray(actions), len(alive)
    shape = (rows, *(space.shape or ()))
    if given.shape != shape:
        raise BadArgument(f"actions have the shape {given.shape}", f"{rows} rows take the shape {shape}")
    if given.dtype.kind not in "iuf":
        raise BadArgument(f"actions are {given.dtype}", "give numbers")
    if _all_in_range(space, given):
        zero = int(space.start) if isinstance(space, spaces.Discrete) else 0.0
        taken = given.astype(type(zero))
        taken[~alive] = zero
        return taken, np.zeros(rows, dtype=np.bool_)
    bad = np.flatnonzero(~np.isfinite(given).reshape(rows, -1).all(axis=1) & alive)
    if len(bad):
        raise BadArgument(f"the action of row {bad[0]} is no number", "a policy that gives NaN has diverged")
    fitting: NDArray[Any]
    if isinstance(space, spaces.Discrete):
        if given.dtype.kind == "f" and (given[alive] != np.floor(given[alive])).any():
            raise BadArgument("an action is not a whole number", f"choose one of {space.n} by its number")
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
