"""Single-byte corruption of a witness document: hex text, numbers and booleans, weighted by their bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, int]]:
    """Yield each value of a document and its number of bytes."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from leaves(member, (*path, index))
    elif isinstance(value, str):
        yield path, max(1, (len(value) - 1) // 2)
    elif value is not None:
        yield path, max(1, (int(value).bit_length() + 7) // 8)


def flipped(value: Any, at: int, mask: int) -> Any:
    """`value` with byte `at` changed by a non-zero `mask`."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ (mask << 8 * at)
    digits = value[2:]
    if not digits:
        return f"0x{mask:02x}"
    if len(digits) % 2:  # a number
        return hex(int(digits, 16) ^ (mask << 8 * at))
    raw = bytearray.fromhex(digits)
    raw[at] ^= mask
    return "0x" + raw.hex()


class Corrupter:
    """Changes random bytes of one document, one at a time."""

    def __init__(self, document: Any, seed: int) -> None:
        self.document = document
        self._rng = random.Random(seed)
        self._paths, self._sizes = zip(*leaves(document), strict=True)

    @contextmanager
    def corrupted(self) -> Iterator[Path]:
        """Change one byte of the document inside the block; yields where."""
        (index,) = self._rng.choices(range(len(self._paths)), self._sizes)
        path, size = self._paths[index], self._sizes[index]
        holder = self.document
        for key in path[:-1]:
            holder = holder[key]
        before = holder[path[-1]]
        holder[path[-1]] = flipped(before, self._rng.randrange(size), self._rng.randrange(1, 256))
        try:
            yield path
        finally:
            holder[path[-1]] = before
