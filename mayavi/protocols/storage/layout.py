"""Storage layout of a kind of contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mayavi.protocols.storage.packed_word import Word

ELEMENT = "[]"
"""Stands for the key of a mapping or array in the names of `Layout.words`."""


class Layout(NamedTuple):
    """Names of slots, of mappings and arrays by the slot they start at, and the fields of their words."""

    slots: Mapping[int, str]
    mappings: Mapping[int, str]
    arrays: tuple[tuple[range, str], ...] = ()
    """Arrays in consecutive slots."""
    words: Mapping[str, Word] = {}
    """Fields by the name of the slot; entries of a mapping or array as `name[]` or `name[].part`."""

    def word(self, name: str) -> Word | None:
        """Return the fields of the slot called `name`, such as `observations[45]`; None if they are not known."""
        if name in self.words:
            return self.words[name]
        head, bracket, rest = name.partition("[")
        part = rest.rpartition("]")[2] if bracket else ""
        return self.words.get(f"{head}{ELEMENT}{part}") if bracket else None
