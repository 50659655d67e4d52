"""Interface of a validation gate: what it compares, on which data, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from mayavi.errors import MayaviError

Verdict = Literal["passed", "failed", "skipped"]


class GateSkipped(MayaviError):  # noqa: N818  (a name says what happened)
    """Gate without the data or the packages it needs. The message is the reason."""


class Progress(Protocol):
    """Callback that reports the cases compared so far."""

    def __call__(self, done: int, total: int) -> None:
        """Report `done` of `total` cases."""


@dataclass(frozen=True, slots=True)
class GateContext:
    """Data that gates may read."""

    cases: Path | None = None
    """Folder of recorded chain data; None if there is none."""
    cache_dir: Path | None = None
    """Folder of the caches; None for the default one."""

    def case_folder(self, *parts: str) -> Path:
        """Return a folder below `cases`; raise `GateSkipped` if it does not exist."""
        if self.cases is None:
            raise GateSkipped("no folder of recorded chain data", "name it with --cases DIR or MAYAVI_CASES")
        folder = self.cases.joinpath(*parts)
        if not folder.is_dir():
            raise GateSkipped(f"there is no folder '{folder}'", "name the data with --cases DIR or MAYAVI_CASES")
        return folder


@dataclass(frozen=True, slots=True)
class GateReport:
    """Result of one gate. `cases` counts comparisons; `first_difference` is empty if there is none."""

    verdict: Verdict
    compared: str
    cases: int = 0
    first_difference: str = ""
    reason: str = ""
    """Why the gate compared nothing; empty if it did."""
    notes: tuple[str, ...] = ()
    parts: dict[str, int] = field(default_factory=dict)
    """Number of comparisons of each part of the gate."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "verdict": self.verdict,
            "compared": self.compared,
            "cases": self.cases,
            "first_difference": self.first_difference or None,
            "reason": self.reason or None,
            "notes": list(self.notes),
            "parts": self.parts,
        }


class Gate(Protocol):
    """One claim and its check."""

    @property
    def name(self) -> str:
        """Name on the command line."""

    @property
    def what(self) -> str:
        """What is compared with what, in a few words."""

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Compare; raise `GateSkipped` if the data is missing."""


class Tally:
    """Counter of comparisons that remembers the first difference."""

    def __init__(self) -> None:
        self.cases = 0
        self.differences = 0
        self.first_difference = ""
        self.notes: list[str] = []
        self.skips: Counter[str] = Counter()
        self.parts: dict[str, int] = {}

    def check(self, equal: bool, difference: Callable[[], str] | str, *, part: str = "", cases: int = 1) -> bool:
        """Count a comparison; `difference` describes it if `equal` is false. Returns `equal`."""
        self.cases += cases
        if part:
            self.parts[part] = self.parts.get(part, 0) + cases
        if not equal:
            self.differences += 1
            if not self.first_difference:
                self.first_difference = difference if isinstance(difference, str) else difference()
        return equal

    def skip(self, reason: str) -> None:
        """Count a comparison that was not possible."""
        self.skips[reason] += 1

    def report(self, compared: str) -> GateReport:
        """Return the report of the gate; a gate that compared nothing is skipped."""
        verdict: Verdict = "failed" if self.differences else "passed" if self.cases else "skipped"
        notes = [*self.notes, *(f"{count:,} not compared: {reason}" for reason, count in self.skips.items())]
        if self.differences > 1:
            notes.append(f"{self.differences:,} differences in all")
        return GateReport(
            verdict,
            compared,
            self.cases,
            self.first_difference,
            "" if self.cases else "there is nothing to compare",
            tuple(notes),
            dict(self.parts),
        )
