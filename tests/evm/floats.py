"""Float operations of programs by NumPy, and floats with many edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mayavi.numerics import portable

NOT_A_NUMBER = 0x7FF8 << 48
Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]


def bits(floats: Any) -> Bits:
    """The bits of floats; all that is not a number has the same."""
    values = np.array(floats, dtype=np.float64)
    return np.where(np.isnan(values), np.uint64(NOT_A_NUMBER), values.view(np.uint64))


def by_sign_bit(function: Callable[[Bits], Bits]) -> Callable[[Floats], Floats]:
    """A function of the bits, as one of floats."""
    return lambda x: function(x.view(np.uint64)).view(np.float64)


def single(x: Floats) -> Floats:
    """Round to 32 bits."""
    return x.astype(np.float32).astype(np.float64)


FLOATS: dict[str, Callable[..., Floats]] = {
    "float_add": np.add,
    "float_subtract": np.subtract,
    "float_multiply": np.multiply,
    "float_divide": np.divide,
    "float_minimum": np.minimum,
    "float_maximum": np.maximum,
    "float_absolute": np.abs,
    "float_negate": np.negative,
    "float_single": single,
    "float_exp": portable.exp,
    "float_log": portable.log,
}
"""Operations whose results are floats."""
CODES = {
    name: 0xB0 + at
    for at, name in enumerate(
        (
            *list(FLOATS)[:6], "float_less", *list(FLOATS)[6:], "float_of_word", "word_of_float",
        )
    )
}  # fmt: skip
"""Codes of the operations in graphs."""
TWO = {*list(FLOATS)[:6], "float_less"}
"""Operations of two floats."""

EDGES = [
    0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e18, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308,
    1.7976931348623157e308, -1.7976931348623157e308, np.inf, -np.inf, np.nan, 2.0**52, 2.0**52 + 1, 2.0**53, 2.0**63,
    -(2.0**63), 2.0**64, 0.7071067811865476, 0.7071067811865475, 709.78, 720.5, -745.1, -750.5, 3.4028235e38, 3.5e38,
    1.4e-45, 1.1754944e-38, 4503599627370495.5, 9007199254740993.0, 0.1, 1 / 3,
]  # fmt: skip
floats = st.one_of(st.sampled_from(EDGES), st.floats(), st.floats(-800, 800), st.integers(-(2**53), 2**53).map(float))


def expected(name: str, *operands: Any) -> Bits:
    """The bits that an operation gives for arrays of floats, by NumPy."""
    x = [np.array(each, dtype=np.float64) for each in operands]
    with np.errstate(all="ignore"):
        if name == "float_less":
            return np.less(*x).astype(np.uint64)
        return bits(FLOATS[name](*x))


def defined_by_numpy(name: str, *operands: Any) -> NDArray[np.bool_]:
    """Where NumPy says what an operation gives: not for the smaller or larger of two zeros, nor for a logarithm of
    what is not above zero."""
    x = [np.array(each, dtype=np.float64) for each in operands]
    if name in {"float_minimum", "float_maximum"}:
        return (x[0] != 0) | (x[1] != 0)
    return np.ones(x[0].shape, dtype=np.bool_)


def float_of_word(word: int) -> float:
    """A word as a float, limb by limb."""
    limbs = [word >> 64 * at & 2**64 - 1 for at in (3, 2, 1, 0)]
    total = 0.0
    for limb, power in zip(limbs, (192, 128, 64, 0), strict=True):
        total += float(limb) * 2.0**power
    return total


def word_of_float(value: float) -> int:
    """The nearest integer of 64 bits as a signed word."""
    if np.isnan(value):
        return 0
    whole = min(max(np.rint(value), -(2.0**63)), 2.0**63)
    return min(int(whole), 2**63 - 1) % 2**256
