"""What a benchmark found: rows of figures, and the targets with what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.timing import Timing
from mayavi.errors import MayaviError

SCALES = {"µs": 1e6, "ms": 1e3, "s": 1.0}


class Unavailable(MayaviError):  # noqa: N818
    """Something cannot be measured here; the message says why and what would change that."""


class Quantity(NamedTuple):
    """A number and its unit."""

    value: float
    unit: str

    def __str__(self) -> str:
        if self.unit == "%":
            return f"{self.value:.1%}".replace("%", " %")
        if self.unit == "×":
            return f"{self.value:.3f}×"
        if self.unit == "gas":
            return f"{self.value:,.0f}"
        return f"{self.value:,.{2 if abs(self.value) < 1000 else 0}f} {self.unit}"

    def to_json(self) -> dict[str, float | str]:
        """The quantity as plain data; percentages are fractions."""
        return {"value": self.value, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    what: str
    figures: dict[str, Quantity]

    def to_json(self) -> dict[str, Any]:
        """The row as plain data."""
        return {"what": self.what, **{name: figure.to_json() for name, figure in self.figures.items()}}


def timed(what: str, timing: Timing, unit: str, **beside: Quantity) -> Row:
    """A row of what something took, with whatever stands beside it."""
    scale = SCALES[unit]
    figures = {
        "median": Quantity(timing.median * scale, unit),
        "fastest": Quantity(timing.fastest * scale, unit),
        "spread": Quantity(timing.spread, "%"),
    }
    return Row(what, figures | beside)


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that was promised, and what it came to."""

    what: str
    limit: Quantity
    measured: Quantity
    at_most: bool = True

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return self.measured.value <= self.limit.value if self.at_most else self.measured.value >= self.limit.value

    @property
    def wanted(self) -> str:
        """The promise in words."""
        return f"{'≤' if self.at_most else '≥'} {self.limit}"

    def to_json(self) -> dict[str, Any]:
        """The target as plain data."""
        return {
            "what": self.what,
            "wanted": self.wanted,
            "limit": self.limit.to_json(),
            "measured": self.measured.to_json(),
            "met": self.met,
        }


@dataclass(slots=True)
class Section:
    """All that one benchmark found."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The section as plain data."""
        return {
            "name": self.name,
            "title": self.title,
            "rows": [row.to_json() for row in self.rows],
            "targets": [target.to_json() for target in self.targets],
            "notes": self.notes,
            "skipped": self.skipped,
        }


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure. A quick run shows that everything works; its figures mean little."""

    quick: bool = False

    def rounds(self, usual: int) -> int:
        """Rounds instead of the usual number."""
        return min(2, usual) if self.quick else usual

    @property
    def round_seconds(self) -> float:
        """How long one round of short operations lasts: many short rounds find the machine undisturbed more often."""
        return 0.001 if self.quick else 0.01
