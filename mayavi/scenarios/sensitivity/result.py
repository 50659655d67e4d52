"""Result of a sensitivity analysis: the effect of each assumption on one figure, the largest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from mayavi.scenarios.figures.formatting import percent, shown_number, title_of
from mayavi.scenarios.figures.tables import data_frame, html_notes, html_table
from mayavi.scenarios.sensitivity.paired_difference import PairedDifference
from mayavi.scenarios.sensitivity.plan import Skipped

COLUMNS = ("assumption", "base", "moved to", "difference", "of base", "95 % interval", "less │ more", "")
HALF_BAR = 10
"""Characters of a bar on each side of zero."""


@dataclass(frozen=True, slots=True)
class MoveEffect:
    """Effect of one value of an assumption: the paired difference of the figure to the base."""

    value: str
    overrides: tuple[str, ...]
    mean: float
    """Mean of the figure over the paired seeds with the assumption moved."""
    difference: PairedDifference

    def to_json(self) -> dict[str, Any]:
        """Return the effect as JSON data."""
        return {
            "value": self.value,
            "overrides": list(self.overrides),
            "mean": self.mean,
            "difference": self.difference.to_json(),
        }


@dataclass(frozen=True, slots=True)
class AssumptionEffect:
    """Effects of all values of an assumption."""

    path: str
    base: str
    moves: tuple[MoveEffect, ...]

    @property
    def largest(self) -> float:
        """Largest absolute difference."""
        return max(abs(move.difference.value) for move in self.moves)

    def to_json(self) -> dict[str, Any]:
        """Return the effect as JSON data."""
        return {"assumption": self.path, "base": self.base, "moves": [move.to_json() for move in self.moves]}


@dataclass(frozen=True)
class Sensitivity:
    """Effects of the assumptions of a scenario on the mean of one figure, the largest first.

    ```python
    found = mayavi.sensitivity("depeg_cascade", figure="bad_debt", seeds="0:20")
    found.effects[0].path, found.effects[0].moves[0].difference
    found.df()
    ```
    """

    sweep_id: str
    scenario: str
    chain: str
    figure: str
    unit: str
    seeds: tuple[int, ...]
    base_mean: float
    """Mean of the figure over the runs of the scenario as it is."""
    effects: tuple[AssumptionEffect, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    """Warnings about the KPIs of the scenario as it is."""
    runs: int
    resumed: int
    """Number of runs that were stored before."""
    seconds: float
    store_path: Path

    def df(self) -> Any:
        """Return a pandas data frame with a row for each move, in the order of the effects."""
        rows = [
            {
                "assumption": effect.path,
                "base": effect.base,
                "moved_to": move.value,
                "mean": move.mean,
                "difference": move.difference.value,
                "low": move.difference.low,
                "high": move.difference.high,
                "pairs": move.difference.pairs,
                "verdict": move.difference.verdict,
            }
            for effect in self.effects
            for move in effect.moves
        ]
        return data_frame(rows)

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {
            "sweep_id": self.sweep_id,
            "scenario": self.scenario,
            "chain": self.chain,
            "figure": self.figure,
            "unit": self.unit,
            "seeds": [str(seed) for seed in self.seeds],
            "base": {"mean": self.base_mean},
            "assumptions": [effect.to_json() for effect in self.effects],
            "skipped": [each.to_json() for each in self.skipped],
            "notes": list(self.notes),
            "runs": self.runs,
            "resumed": self.resumed,
            "seconds": self.seconds,
            "store": str(self.store_path),
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return the lines of the tornado table under `COLUMNS`, formatted for readers."""
        largest = max((effect.largest for effect in self.effects), default=0.0)
        lines: list[tuple[str, ...]] = []
        for effect in self.effects:
            for index, move in enumerate(effect.moves):
                head = ("", "") if index else (effect.path, effect.base)
                found = move.difference
                low, high = found.low, found.high
                interval = "–"
                if low is not None and high is not None and found.verdict != "no_effect":
                    interval = f"{self._difference(low)} to {self._difference(high)}"
                shown = "0" if found.verdict == "no_effect" else self._difference(found.value)
                share = self._share(found)
                lines.append((*head, move.value, shown, share, interval, bar(found.value, largest), words(found)))
        return lines

    def _share(self, found: PairedDifference) -> str:
        """Format a difference as a share of the base's mean; empty if that is zero."""
        if found.verdict == "no_effect" or not self.base_mean:
            return ""
        return percent(found.value / abs(self.base_mean), sign=True)

    def headline(self) -> str:
        """Return the base line: the mean of the figure before anything is moved."""
        mean = shown_number(self.base_mean, self.unit, self.figure, self.chain)
        return f"{title_of(self.figure)}: mean {mean} over {len(self.seeds):,} seeds as the scenario is"

    def skipped_lines(self) -> list[str]:
        """Return a line for each reason with the assumptions that were skipped for it."""
        by_reason: dict[str, list[str]] = {}
        for each in self.skipped:
            by_reason.setdefault(each.reason, []).append(f"{each.path}={each.value}" if each.value else each.path)
        return [f"skipped {', '.join(names)}: {reason}" for reason, names in by_reason.items()]

    def _difference(self, number: float) -> str:
        """Format a difference with its sign; percentages as points."""
        text = shown_number(abs(number), self.unit, self.figure, self.chain).lstrip("+").replace(" %", " points")
        if number and not any(digit in text for digit in "123456789"):
            return "≈ 0"
        return ("−" if number < 0 else "+" if number else "") + text

    def _repr_html_(self) -> str:
        head = f"{self.scenario} · {self.chain} · {self.headline()}"
        skipped = "".join(f"<p>{escape(line)}</p>" for line in self.skipped_lines())
        return f"<b>{escape(head)}</b>{html_table(COLUMNS, self.rows())}{skipped}{html_notes(self.notes)}"


def ranked(effects: Iterable[AssumptionEffect]) -> tuple[AssumptionEffect, ...]:
    """Sort effects, the largest first; equal ones by name."""
    return tuple(sorted(effects, key=lambda each: (-each.largest, each.path)))


def words(found: PairedDifference) -> str:
    """Say what the difference shows; empty if its interval excludes 0."""
    texts: Mapping[str, str] = {
        "no_effect": "no effect",
        "not_distinguishable": f"not distinguishable from 0 with {found.pairs} seeds",
        "no_interval": f"no interval with {found.pairs} seeds"
        + (f"; {found.pairs_needed} are needed" if found.pairs_needed else ""),
    }
    return texts.get(found.verdict, "")


def bar(value: float, largest: float) -> str:
    """Draw `value` as a bar left or right of zero; `largest` fills one side."""
    halves = round(2 * HALF_BAR * abs(value) / largest) if largest else 0
    full, half = divmod(halves, 2)
    if value < 0:
        return f"{('▐' * half + '█' * full).rjust(HALF_BAR)}│{' ' * HALF_BAR}"
    return f"{' ' * HALF_BAR}│{('█' * full + '▌' * half).ljust(HALF_BAR)}"
