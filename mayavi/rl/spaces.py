"""Gymnasium spaces as plain data, to store with a run and to compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymnasium import spaces


def space_to_json(space: spaces.Space[Any]) -> dict[str, Any]:
    """JSON form of a space: its kind, shape and bounds."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        return {
            "kind": "Box",
            "shape": list(space.shape),
            "low": space.low.reshape(-1).tolist(),
            "high": space.high.reshape(-1).tolist(),
        }
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.Dict):
        return {"kind": "Dict", "spaces": {name: space_to_json(each) for name, each in space.spaces.items()}}
    return {"kind": type(space).__name__}


def space_from_json(written: Mapping[str, Any]) -> Any:
    """Space that `space_to_json` wrote; `KeyError` for other kinds than `Box` and `Discrete`."""
    import numpy as np
    from gymnasium import spaces

    if written["kind"] == "Discrete":
        return spaces.Discrete(written["n"], start=written["start"])
    low, high = (np.array(written[each], dtype=np.float32).reshape(written["shape"]) for each in ("low", "high"))
    return spaces.Box(low, high, dtype=np.float32)


def describe_space(space: Mapping[str, Any]) -> str:
    """Short text for the JSON form of a space: `7 numbers`, `one of 3`."""
    if space["kind"] == "Box":
        count = math.prod(space["shape"])
        return f"{count} number{'s' if count != 1 else ''}"
    if space["kind"] == "Discrete":
        return f"one of {space['n']}"
    if space["kind"] == "Dict":
        return ", ".join(f"{describe_space(each)} as {name}" for name, each in space["spaces"].items())
    return str(space["kind"])
