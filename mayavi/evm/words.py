"""Columns of 256-bit words: `Words` for results, `to_words` for arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi.errors import BadInteger, UsageError
from mayavi.evm.address import are_addresses, to_address

_MOST = 2**64 - 1
_LARGEST = np.uint64(_MOST)
_FEW = 8
"""Rows up to which Python's integers take less time than arrays."""


class Words:
    """One 256-bit word for each row: exact as bytes or integers, and as floats for plots and observations.

    Comparisons such as `words < 10**18` are exact and return an array of bools, one per row.
    """

    __slots__ = ("words",)

    def __init__(self, words: NDArray[np.uint8]) -> None:
        self.words = words
        """The words as (rows, 32) bytes, big-endian."""

    @classmethod
    def of(cls, values: Sequence[int] | NDArray[np.integer[Any]]) -> Words:
        """Create words from `values`."""
        if isinstance(values, np.ndarray):
            return cls(to_words(values, len(values)))
        raw = b"".join(value.to_bytes(32, "big") for value in values)
        return cls(np.frombuffer(raw, dtype=np.uint8).reshape(len(values), 32))

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"<Words of {len(self)} rows>"

    def __getitem__(self, row: int) -> int:
        return int.from_bytes(self.words[row].tobytes(), "big")

    def __iter__(self) -> Iterator[int]:
        return iter(self.ints())

    def _compared(self, bound: int, compare: Callable[[Any, Any], Any]) -> NDArray[np.bool_]:
        limbs = self.limbs()
        if 0 <= bound < 2**64 and len(limbs):
            large = (limbs[:, 0] | limbs[:, 1] | limbs[:, 2]).astype(np.bool_)  # beyond any bound of 64 bits
            within: NDArray[np.bool_] = compare(limbs[:, 3], np.uint64(bound))
            return np.where(large, np.bool_(compare(1, 0)), within)
        return np.array([compare(value, bound) for value in self.ints()], dtype=np.bool_)

    def __lt__(self, bound: int) -> NDArray[np.bool_]:
        return self._compared(bound, operator.lt)

    def __le__(self, bound: int) -> NDArray[np.bool_]:
        return self._compared(bound, operator.le)

    def __gt__(self, bound: int) -> NDArray[np.bool_]:
        return self._compared(bound, operator.gt)

    def __ge__(self, bound: int) -> NDArray[np.bool_]:
        return self._compared(bound, operator.ge)

    def ints(self) -> list[int]:
        """The words as exact integers."""
        if len(self.words) > _FEW:
            large, lowest = self._parts()
            if not large.any():
                small: list[int] = lowest.tolist()
                return small
        raw = np.ascontiguousarray(self.words).tobytes()
        return [int.from_bytes(raw[at : at + 32], "big") for at in range(0, len(raw), 32)]

    def limbs(self) -> NDArray[np.uint64]:
        """The words as (rows, 4) 64-bit limbs, most significant first."""
        return np.ascontiguousarray(self.words).view(">u8").astype(np.uint64)

    def uint64(self) -> NDArray[np.uint64]:
        """The words as 64-bit integers; raises for a word that does not fit."""
        limbs = self.limbs()
        if limbs[:, :3].any():
            row = int(np.flatnonzero(limbs[:, :3].any(axis=1))[0])
            raise BadInteger(f"row {row} holds {self[row]}, which does not fit into 64 bits", "`ints()` is exact")
        return limbs[:, 3]

    def saturated(self) -> NDArray[np.uint64]:
        """The words as 64-bit integers; larger ones, such as a health factor without debt, become 2**64 - 1."""
        if len(self.words) <= _FEW:
            return np.array([min(value, _MOST) for value in self.ints()], dtype=np.uint64)
        large, lowest = self._parts()
        lowest[large] = _LARGEST
        return lowest

    def _parts(self) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
        """Whether each word has more than 64 bits, and a copy of the lowest 64."""
        words = self.words if self.words.strides[-1] == 1 else np.ascontiguousarray(self.words)
        limbs = words.view(np.uint64)  # in the processor's order: only zeros mean something
        large = (limbs[:, 0] | limbs[:, 1] | limbs[:, 2]).astype(np.bool_)
        return large, words.view(">u8")[:, 3].astype(np.uint64)

    def array(self) -> NDArray[Any]:
        """The words as an exact array: of 64-bit integers if all fit, else of objects."""
        limbs = self.limbs()
        return np.array(self.ints(), dtype=object) if limbs[:, :3].any() else limbs[:, 3]

    def float64(self, scale: float = 1.0) -> NDArray[np.float64]:
        """The words as floats, divided by `scale`: rounded to 53 bits, for plots and observations only."""
        return _kernel.words_to_floats(self.words[:, None])[:, 0] / scale

    def addresses(self) -> list[bytes]:
        """The words as addresses."""
        return [row.tobytes() for row in self.words[:, 12:]]


def to_words(values: Any, rows: int, name: str = "values") -> NDArray[np.uint8]:
    """`values` as (rows, 32) big-endian bytes: an integer for all rows, integers, words, or addresses."""
    if isinstance(values, Words):
        values = values.words
    if isinstance(values, int | np.integer) and not isinstance(values, bool):
        return np.broadcast_to(np.frombuffer(_word(values, name), dtype=np.uint8), (rows, 32))
    if isinstance(values, str):
        values = to_address(values)
    if isinstance(values, bytes) and len(values) == 20:
        return np.broadcast_to(np.frombuffer(values.rjust(32, b"\0"), dtype=np.uint8), (rows, 32))
    if isinstance(values, np.ndarray) and values.dtype == np.uint8 and values.shape == (rows, 32):
        return values
    shape = getattr(values, "shape", None)
    if not isinstance(values, Collection) or (shape is not None and len(shape) != 1):
        raise UsageError(f"input '{name}' is {_what(values)}", "give an integer, or one for each row")
    if len(values) != rows:
        raise UsageError(f"input '{name}' has {len(values)} values for {rows} rows")
    if isinstance(values, np.ndarray) and values.dtype.kind in "ub":
        words = np.zeros((rows, 32), dtype=np.uint8)
        words[:, 24:] = values.astype(">u8").view(np.uint8).reshape(rows, 8)
        return words
    if isinstance(values, np.ndarray) and values.dtype.kind == "i":
        if (values < 0).any():
            raise BadInteger(f"input '{name}' holds {values.min()}, which is negative")
        return to_words(values.astype(np.uint64), rows, name)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        raise BadInteger(
            f"input '{name}' holds floats", "amounts are exact integers; convert them where you round them"
        )
    if are_addresses(values):
        return address_words(values)
    return np.frombuffer(b"".join(_word(value, name) for value in values), dtype=np.uint8).reshape(rows, 32)


def address_words(addresses: Sequence[bytes]) -> NDArray[np.uint8]:
    """Addresses of 20 bytes as (rows, 32) bytes."""
    words = np.zeros((len(addresses), 32), dtype=np.uint8)
    words[:, 12:] = np.frombuffer(b"".join(addresses), dtype=np.uint8).reshape(len(addresses), 20)
    return words


@lru_cache(maxsize=64)
def known_address_words(addresses: tuple[bytes, ...]) -> NDArray[np.uint8] | None:
    """`address_words` of accounts that are read again and again, not to be written to; None if they are not bytes."""
    if not are_addresses(addresses):
        return None
    words = address_words(addresses)
    words.flags.writeable = False
    return words


def are_small(values: Any, rows: int) -> bool:
    """Whether `values` are 64-bit integers, one per row and none negative."""
    if not isinstance(values, np.ndarray) or values.shape != (rows,) or values.dtype.kind not in "iub":
        return False
    return values.dtype.kind != "i" or bool(values.min() >= 0)


def _what(values: Any) -> str:
    shape = getattr(values, "shape", None)
    return f"an array of shape {shape}" if shape is not None else repr(values)


def _word(value: Any, name: str) -> bytes:
    if isinstance(value, str):
        value = to_address(value)
    if isinstance(value, bytes) and len(value) == 20:
        return value.rjust(32, b"\0")
    if isinstance(value, bool | np.bool_ | int | np.integer):
        if not 0 <= int(value) < 2**256:
            raise BadInteger(f"input '{name}' holds {value}, which is outside 0 … 2**256 - 1")
        return int(value).to_bytes(32, "big")
    raise BadInteger(f"input '{name}' holds {value!r}, which is neither an integer nor an address")
