"""exp and log that give the same bits on every machine.

NumPy and the C library choose an implementation by processor, and two of them may differ in the last bit. A price that
is rounded to an integer would then, now and then, be another integer. These are within two units of it of the true
value; `kernel/src/portable.rs` has them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mayavi import _kernel

Floats = NDArray[np.float64]


def exp(x: ArrayLike) -> Floats:
    """e to the power of each of `x`."""
    return _each(_kernel.exp, x)


def log(x: ArrayLike) -> Floats:
    """The natural logarithm of each of `x`, all of which are above zero."""
    return _each(_kernel.log, x)


def _each(function: Callable[[Floats], Floats], x: ArrayLike) -> Floats:
    values = np.asarray(x, dtype=np.float64)
    found: Floats = function(values.ravel()).reshape(values.shape)[()]  # as NumPy's do, a number for a number
    return found
