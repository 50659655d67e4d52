"""Run gates one after the other and collect their verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mayavi.errors import MayaviError, SetupError
from mayavi.validation.gate import Gate, GateContext, GateReport, GateSkipped, Progress


@dataclass(frozen=True, slots=True)
class GateResult:
    """Report of one gate, and the seconds it took."""

    name: str
    report: GateReport
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {"gate": self.name, **self.report.to_json(), "seconds": round(self.seconds, 2)}


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Results of all gates."""

    results: tuple[GateResult, ...]

    @property
    def exit_code(self) -> int:
        """1 if a gate failed, else 0."""
        return int(self.count("failed") > 0)

    def count(self, verdict: str) -> int:
        """Number of gates with this verdict."""
        return sum(each.report.verdict == verdict for each in self.results)

    def to_json(self) -> dict[str, Any]:
        """Return totals and gates as JSON data."""
        return {
            "exit_code": self.exit_code,
            **{verdict: self.count(verdict) for verdict in ("passed", "failed", "skipped")},
            "gates": [each.to_json() for each in self.results],
        }


ProgressOf = Callable[[Gate], Progress]
"""Make the progress callback of a gate that is about to run."""


def run_gates(
    gates: Sequence[Gate], context: GateContext, *, require_all: bool = False, progress_of: ProgressOf | None = None
) -> ValidationReport:
    """Run `gates` in their order. A gate without its data is skipped; with `require_all` it fails."""
    return ValidationReport(
        tuple(
            run_gate(each, context, require=require_all, progress=progress_of(each) if progress_of else _silent)
            for each in gates
        )
    )


def run_gate(
    gate: Gate, context: GateContext, *, require: bool = False, progress: Progress | None = None
) -> GateResult:
    """Run one gate. An error inside it is a failed gate, so that the others still run."""
    began = time.monotonic()
    try:
        report = gate.run(context, progress or _silent)
    except (GateSkipped, SetupError) as error:
        reason = f"{error}; {error.hint}" if error.hint else str(error)
        report = GateReport("skipped", gate.what, reason=reason)
    except MayaviError as error:
        report = GateReport("failed", gate.what, first_difference=str(error))
    except Exception as error:
        report = GateReport("failed", gate.what, first_difference=f"unexpected {type(error).__name__}: {error}")
    if require and report.verdict == "skipped":
        report = replace(report, verdict="failed")  # the reason says what is missing
    return GateResult(gate.name, report, time.monotonic() - began)


def _silent(done: int, total: int) -> None:
    """Report nothing."""
