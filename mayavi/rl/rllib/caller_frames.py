"""Build RLlib's connectors without reading the source of the whole call stack.

A connector keeps the arguments of its constructor, which it looks up in its caller's frame. RLlib finds that frame with
`inspect.stack`, which reads the source file of every frame: most of the time that building an algorithm takes.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType, SimpleNamespace
from typing import Any


def find_callers_quickly() -> None:
    """Let RLlib's connectors ask for the two nearest frames only, in this process; again has no effect."""
    from ray.rllib.connectors import connector_v2

    quick: Any = ModuleType(inspect.__name__)
    vars(quick).update(vars(inspect))
    quick.stack = nearest_frames
    connector_v2.inspect = quick


def nearest_frames() -> list[Any]:
    """Return the first two entries of `inspect.stack()`, with their frames alone."""
    caller = sys._getframe(1)
    return [SimpleNamespace(frame=caller), SimpleNamespace(frame=caller.f_back)]
