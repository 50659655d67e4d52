"""Results of a benchmark: rows of figures, and targets with measured values."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.measuring.timing import Timing
from mayavi.errors import MayaviError

SCALES = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0}


class Unavailable(MayaviError):  # noqa: N818
    """Measurement that is impossible here; the message says why and what would change that."""


def require_packages(*names: str) -> None:
    """Raise `Unavailable` if a package of the extra `rl` is not installed."""
    for name in names:
        try:
            import_module(name)
        except ModuleNotFoundError as missing:
            hint = "`pip install 'mayavi-sim[rl]'` installs it"
            raise Unavailable(f"{missing.name} is not installed", hint) from None


class Quantity(NamedTuple):
    """Number with its unit."""

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
        """Return JSON data; percentages are fractions."""
        return {"value": self.value, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a table."""

    what: str
    figures: dict[str, Quantity]

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        return {"what": self.what, **{name: figure.to_json() for name, figure in self.figures.items()}}


def timed(what: str, timing: Timing, unit: str, **beside: Quantity) -> Row:
    """Return a row for a timing, with further figures; from six rounds on with the interval of the median."""
    scale = SCALES[unit]
    figures = {
        "median": Quantity(timing.median * scale, unit),
        "fastest": Quantity(timing.fastest * scale, unit),
        "spread": Quantity(timing.spread, "%"),
    }
    if interval := timing.median_interval:
        low, high = (Quantity(each * scale, unit) for each in interval)
        figures |= {"median_low": low, "median_high": high}
    return Row(what, figures | beside)


@dataclass(frozen=True, slots=True)
class Target:
    """Promised figure and its measured value."""

    what: str
    limit: Quantity
    measured: Quantity
    at_most: bool = True

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.measured.value <= self.limit.value if self.at_most else self.measured.value >= self.limit.value

    @property
    def wanted(self) -> str:
        """Target as text."""
        return f"{'≤' if self.at_most else '≥'} {self.limit}"

    def to_json(self) -> dict[str, Any]:
        """Return the target as JSON data."""
        return {
            "what": self.what,
            "wanted": self.wanted,
            "limit": self.limit.to_json(),
            "measured": self.measured.to_json(),
            "met": self.met,
        }


@dataclass(slots=True)
class Section:
    """Results of one benchmark."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the section as JSON data."""
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
    """Duration of the measurement. A quick run only shows that everything works."""

    quick: bool = False

    def rounds(self, usual: int) -> int:
        """Return the number of rounds in place of the usual one."""
        return 1 if self.quick else usual

    @property
    def round_seconds(self) -> float:
        """Seconds of one round of short operations; many short rounds are less often disturbed."""
        return 0.001 if self.quick else 0.01
