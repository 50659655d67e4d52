"""Count actions by the reason they failed for, with the range of the numbers in it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, zip_longest

_NUMBER = re.compile(r"(?<![\w./-])(?<!reverted: )(?:0x[0-9a-fA-F]{40}|\d[\d_,]*(?:\.\d+)?)(?![\w/])")
"""Amounts and addresses, but neither digits inside names nor error numbers."""


def gist(reason: str) -> str:
    """Replace amounts and addresses in a failure reason, so that failures of one kind compare equal."""
    return _NUMBER.sub("…", reason)


class ReasonTally:
    """Number of actions by reason. Reasons that differ in numbers only are one, and show the range of each number."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._ranges: dict[tuple[str, ...], list[tuple[str, str]]] = {}

    def add(self, reason: str) -> None:
        """Count one action."""
        words, numbers = tuple(_NUMBER.split(reason)), _NUMBER.findall(reason)
        self._counts[words] += 1
        known = self._ranges.get(words, [(each, each) for each in numbers])
        self._ranges[words] = [
            (min(low, each, key=_size), max(high, each, key=_size))
            for (low, high), each in zip(known, numbers, strict=True)
        ]

    def counts(self) -> dict[str, int]:
        """Return the number of actions by reason, `the pool pays 0.91 to 0.93 DAI`; addresses that differ are `…`."""
        found = {}
        for words, count in self._counts.items():
            numbers = [_shown(low, high) for low, high in self._ranges[words]]
            found["".join(chain.from_iterable(zip_longest(words, numbers, fillvalue="")))] = count
        return found


def _size(number: str) -> tuple[float, str]:
    plain = number.replace(",", "").replace("_", "")
    return (0.0 if number.startswith("0x") else float(plain)), number


def _shown(low: str, high: str) -> str:
    if low == high:
        return low
    return "…" if low.startswith("0x") else f"{low} to {high}"
