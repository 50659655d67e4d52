"""Refuse actions that are not numbers or have the wrong shape, and say which one and what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument

if TYPE_CHECKING:
    from gymnasium import spaces

    from mayavi.gym_env.roles import Role

_KINDS = {str: "text", bytes: "bytes", bool: "true or false"}
"""Words for values that are not numbers, by type."""


def numeric_actions(
    space: spaces.Space[Any], actions: Any, rows: int, owner: Callable[[int], str] | None = None
) -> NDArray[Any]:
    """`actions` as an array of numbers with the shape (rows, …) of `space`.

    `owner(at)` names whose action number `at` is, by default `row 3`. Raises `BadArgument` for other values than
    numbers, for lists of unequal lengths, and for another shape. NaN and infinity pass.
    """
    name = owner or (lambda at: f"row {at}")
    given = _as_array(actions, lambda: f"{rows:,} rows take {expected(space)} each")
    shape = (rows, *(space.shape or ()))
    if given.shape != shape:
        value = _first_other([actions])[1] if given.size else 0
        also = "" if _is_number(value) else f" and hold {value!r}, {_kind(value)}"
        raise BadArgument(
            f"actions have the shape {given.shape}{also}",
            f"{rows} rows take the shape {shape}: {expected(space)} each",
        )
    if given.dtype.kind not in "iuf":
        at, value = _first_other(actions)
        raise _not_numeric(f"the action of {name(at)}", value, space)
    return given


def numeric_action(space: spaces.Space[Any], action: Any, owner: str = "") -> NDArray[Any]:
    """One action as an array with the shape of `space`; `owner` names its agent. Raises `BadArgument` as above."""
    who = f"the action of {owner}" if owner else "the action"
    given = _as_array(action, lambda: f"it takes {expected(space)}", who)
    if given.dtype.kind not in "iuf":
        raise _not_numeric(who, _first_other([action])[1], space)
    if given.shape != (space.shape or ()):
        what = f"{who} has" if owner else "an action has"
        raise BadArgument(f"{what} the shape {given.shape}", f"it takes the shape {space.shape}: {expected(space)}")
    return given


def expected(space: spaces.Space[Any]) -> str:
    """Describe one action: `a whole number from 0 to 4`, `2 numbers from -1 to 1`."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return f"a whole number from {int(space.start)} to {int(space.start) + int(space.n) - 1}"
    if not isinstance(space, spaces.Box):
        return "an action of its space"
    count = int(np.prod(space.shape))
    many = "a number" if count == 1 else f"{count} numbers"
    low, high = float(space.low.min()), float(space.high.max())
    return f"{many} from {low:g} to {high:g}"


def joined_agents(role: Role, actions: Any, rows: int) -> NDArray[Any]:
    """Actions of a role, given as (rows, agents, …), as (rows × agents, …); raises `BadArgument` for another shape."""
    space = role.action_space
    shape = (rows, role.agents, *(space.shape or ()))

    def hint() -> str:
        return f"{rows} rows of {role.agents} agents take the shape {shape}: {expected(space)} each"

    given = _as_array(actions, hint, f"actions of role '{role.name}'")
    if given.shape != shape:
        raise BadArgument(f"actions of role '{role.name}' have the shape {given.shape}", hint())
    if given.dtype.kind not in "iuf":  # NumPy has turned numbers beside a text into texts
        given = np.asarray(actions, dtype=object)
    return given.reshape(-1, *(space.shape or ()))


def agent_owner(role: Role) -> Callable[[int], str]:
    """Name for the actions of `joined_agents`: `borrower_1 in row 3`."""
    return lambda at: f"{role.agent_names[at % role.agents]} in row {at // role.agents}"


def _as_array(values: Any, hint: Callable[[], str], who: str = "actions") -> NDArray[Any]:
    """`values` as an array; `BadArgument` for nested lists of unequal lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        raise BadArgument(f"{who}: lists of unequal lengths are not an array", hint()) from None


def _not_numeric(who: str, value: Any, space: spaces.Space[Any]) -> BadArgument:
    """Error for the action `value`; for a number, which an array of objects holds, how to convert it."""
    if _is_number(value):
        convert = "convert it: `actions.astype(float)`"
        return BadArgument("actions are an array of objects, not of numbers", f"{convert}; give {expected(space)}")
    return BadArgument(f"{who} is {value!r}, {_kind(value)}, not a number", f"give {expected(space)}")


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), f"of type {type(value).__name__}")


def _first_other(actions: Any) -> tuple[int, Any]:
    """Place and value of the first action that is not a number; zeros if all are numbers."""
    for at, each in enumerate(actions):
        for value in np.asarray(each, dtype=object).ravel():
            plain = value.item() if isinstance(value, np.generic) else value
            if not _is_number(plain):
                return at, plain
    return 0, 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
