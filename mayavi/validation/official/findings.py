"""What the check of some official tests found: counts, differences and what was not compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MOST_TEXTS = 50
"""Differences whose text is kept."""


@dataclass(slots=True)
class Findings:
    """Counts of comparisons and differences; those of several processes add up."""

    counts: Counter[str] = field(default_factory=Counter)
    """Tests, transactions, accounts and others that were compared."""
    differences: list[str] = field(default_factory=list)
    different: int = 0
    """Number of differences, those without a text included."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Tests and blocks that were not compared, by the reason."""
    sent: Counter[str] = field(default_factory=Counter)
    """Transactions sent for the recorded paths of each hard fork."""
    replayed: Counter[str] = field(default_factory=Counter)
    """Those of them that were replayed."""

    def differs(self, where: str, what: str) -> None:
        """Note a difference."""
        self.different += 1
        if len(self.differences) < MOST_TEXTS:
            self.differences.append(f"{where}: {what}")

    def expect(self, where: str, what: str, expected: object, got: object) -> bool:
        """Note a difference unless both are equal; returns whether they are."""
        if expected != got:
            self.differs(where, f"{what} must be {shown(expected)}, is {shown(got)}")
        return expected == got

    def add(self, other: Findings) -> None:
        """Add the findings of other tests."""
        self.counts += other.counts
        self.differences += other.differences[: MOST_TEXTS - len(self.differences)]
        self.different += other.different
        self.left_out += other.left_out
        self.sent += other.sent
        self.replayed += other.replayed


def shown(value: object) -> str:
    """Return a value as text: bytes in hex."""
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
