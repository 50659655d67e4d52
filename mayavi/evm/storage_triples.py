"""Storage triples: words whose value or invariant is known, to check cached state against."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mayavi.evm.address import checksum


class Invariant(NamedTuple):
    """Property of a storage word whose value may change: what it says, and its test."""

    says: str
    holds: Callable[[int], bool]


class StorageTriple(NamedTuple):
    """Address, slot, and the value or the invariant of the word there."""

    what: str
    address: bytes
    slot: int
    expected: int | Invariant

    def fault(self, value: int) -> str:
        """Describe how `value` contradicts the triple; empty if it does not."""
        where = f"slot {self.slot:#x} of {checksum(self.address)} ({self.what})"
        if isinstance(self.expected, Invariant):
            return "" if self.expected.holds(value) else f"{where} holds {value:#x}, expected {self.expected.says}"
        return "" if value == self.expected else f"{where} holds {value:#x}, expected {self.expected:#x}"
