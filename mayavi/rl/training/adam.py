"""Let torch's Adam work without torch's compiler.

Its methods import `torch._dynamo` when they are first called, to keep the compiler away from them: 1.4 seconds and 850
modules in every process that trains or loads a policy, although nothing is compiled there.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

COMPILER = "torch._dynamo"
METHODS = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
"""Methods of an optimizer that torch keeps the compiler away from."""


def spare_compiler() -> None:
    """Keep Adam from importing the compiler in this process; no effect where it is there, or on another torch."""
    from torch.optim import Adam, Optimizer

    if COMPILER in sys.modules or getattr(Adam.step, "hooked", False):
        return
    methods = [getattr(getattr(Optimizer, name), "__wrapped__", None) for name in METHODS]
    step = getattr(Adam.step, "__wrapped__", None)
    if step is None or None in methods:
        return
    for method in methods:
        setattr(method, "__dynamo_disable", method)
    Adam.step = _without_gradients(step)


def _without_gradients(step: Any) -> Any:
    """Return `step` as torch decorates it, but for the hints to the compiler."""
    import torch

    @wraps(step)
    def stepped(self: Any, *arguments: Any, **options: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return step(self, *arguments, **options)

    del stepped.__wrapped__  # so that a second call finds nothing to do
    return stepped
