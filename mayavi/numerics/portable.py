"""exp and log that give the same bits on every machine.

NumPy and the C library choose an implementation by processor, and two of them may differ in the last bit, which could
change a price that is rounded to an integer. These are accurate to two units in the last place; they are implemented in
`kernel/src/rows/portable.rs`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mayavi import _kernel

Floats = NDArray[np.float64]


def exp(x: ArrayLike) -> Floats:
    """Exponential of each element."""
    return _each(_kernel.exp, x)


def log(x: ArrayLike) -> Floats:
    """Natural logarithm of each element; all must be positive."""
    return _each(_kernel.log, x)


def _each(function: Callable[[Floats], Floats], x: ArrayLike) -> Floats:
    values = np.asarray(x, dtype=np.float64)
    found: Floats = function(values.ravel()).reshape(values.shape)[()]  # a scalar for a scalar, as in NumPy
    return found
