"""The EVM's pure instructions on Python integers, and words with many edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

MAX = 2**256 - 1
RAY = 10**27


def signed(word: int) -> int:
    """Return a word as a signed number."""
    return word - 2**256 if word >> 255 else word


def signed_quotient(a: int, b: int) -> int:
    """Divide towards zero; 0 for the divisor 0."""
    if b == 0:
        return 0
    x, y = signed(a), signed(b)
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def signed_remainder(a: int, b: int) -> int:
    """Return the remainder with the dividend's sign; 0 for the divisor 0."""
    if b == 0:
        return 0
    x, y = signed(a), signed(b)
    return abs(x) % abs(y) * (-1 if x < 0 else 1)


def sign_extended(at: int, word: int) -> int:
    """Extend the sign of the byte `at`, counted from the lowest."""
    if at >= 31:
        return word
    bits = 8 * at + 8
    low = word & (2**bits - 1)
    return low - 2**bits if low >> (bits - 1) else low


INSTRUCTIONS: dict[int, Callable[..., int]] = {
    0x01: lambda a, b: a + b,
    0x02: lambda a, b: a * b,
    0x03: lambda a, b: a - b,
    0x04: lambda a, b: a // b if b else 0,
    0x05: signed_quotient,
    0x06: lambda a, b: a % b if b else 0,
    0x07: signed_remainder,
    0x08: lambda a, b, n: (a + b) % n if n else 0,
    0x09: lambda a, b, n: a * b % n if n else 0,
    0x0A: lambda a, b: pow(a, b, 2**256),
    0x0B: sign_extended,
    0x10: lambda a, b: a < b,
    0x11: lambda a, b: a > b,
    0x12: lambda a, b: signed(a) < signed(b),
    0x13: lambda a, b: signed(a) > signed(b),
    0x14: lambda a, b: a == b,
    0x15: lambda a: a == 0,
    0x16: lambda a, b: a & b,
    0x17: lambda a, b: a | b,
    0x18: lambda a, b: a ^ b,
    0x19: lambda a: ~a,
    0x1A: lambda at, word: word >> (8 * (31 - at)) & 0xFF if at < 32 else 0,
    0x1B: lambda by, word: word << by if by < 256 else 0,
    0x1C: lambda by, word: word >> by if by < 256 else 0,
    0x1D: lambda by, word: signed(word) >> min(by, 256),
    0x1E: lambda a: 256 - a.bit_length(),
}
TAKES = {opcode: function.__code__.co_argcount for opcode, function in INSTRUCTIONS.items()}


def apply(opcode: int, *operands: int) -> int:
    """Return the word that an instruction leaves."""
    return int(INSTRUCTIONS[opcode](*operands)) & MAX


edges = st.sampled_from([0, 1, 2, 31, 32, 255, 256, MAX, MAX - 1, 10**18, RAY, RAY // 2, 2**255, 2**255 - 1])
powers = st.builds(lambda by, more: (2**by + more) & MAX, st.integers(0, 256), st.integers(-1, 1))
sized = st.integers(0, 256).flatmap(lambda bits: st.integers(0, 2**bits - 1))
words = st.one_of(edges, powers, sized)


def limbs(rows: list[list[int]]) -> NDArray[np.uint64]:
    """Return rows of words as limbs, lowest first."""
    data = b"".join(word.to_bytes(32, "little") for row in rows for word in row)
    return np.frombuffer(data, dtype="<u8").reshape(len(rows), -1).copy()


def integers(row: NDArray[np.uint64]) -> list[int]:
    """Return the words of one row of limbs."""
    data = row.astype("<u8").tobytes()
    return [int.from_bytes(data[at : at + 32], "little") for at in range(0, len(data), 32)]
