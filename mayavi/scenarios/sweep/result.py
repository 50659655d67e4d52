"""Result of a sweep: all its runs, and statistics of each KPI at each point of its grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.evm.specialise import merged
from mayavi.scenarios.figures.formatting import dollars, percent, shown_number, title_of
from mayavi.scenarios.figures.kpis import WITHOUT_POOL
from mayavi.scenarios.figures.notes import CONSTANT_PRICE, notes_of_many
from mayavi.scenarios.figures.tables import data_frame, html_notes, html_table
from mayavi.scenarios.run.result import Run

if TYPE_CHECKING:
    from mayavi.scenarios.sweep.until import TargetStatus
    from mayavi.statistics.estimate import Estimate
    from mayavi.statistics.summary import Summary

BAD_DEBT, LIQUIDATED = "bad_debt", "liquidated"
SUMMARY_COLUMNS = ("figure", "mean", "p5", "p50", "p95", "95 % interval of p95", "mean of top 5 %")


@dataclass(frozen=True)
class PointSummary:
    """Statistics of all runs at one point of a sweep's grid."""

    overrides: tuple[str, ...]
    figures: Mapping[str, Summary]
    """By KPI: mean, p5, p50, p95 and expected shortfall with their confidence intervals."""
    units: Mapping[str, str]

    @property
    def label(self) -> str:
        """The overrides of the point as text."""
        return ", ".join(self.overrides)

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as JSON data."""
        return {
            "overrides": list(self.overrides),
            "figures": {name: {"unit": self.units[name], **each.to_json()} for name, each in self.figures.items()},
            "VaR": self.value_at_risk.at_risk.to_json() if self.value_at_risk else None,
            "LaR": self.liquidations_at_risk.at_risk.to_json() if self.liquidations_at_risk else None,
            "ES": self.expected_shortfall.to_json() if self.expected_shortfall else None,
            "probability_of_loss": self.probability_of_loss.to_json() if self.probability_of_loss else None,
        }

    @property
    def value_at_risk(self) -> Summary | None:
        """Statistics of bad debt, whose 95th percentile is VaR; None if the scenario has no lending."""
        return self.figures.get(BAD_DEBT)

    @property
    def liquidations_at_risk(self) -> Summary | None:
        """Statistics of liquidated value, whose 95th percentile is LaR; None if the scenario has no lending."""
        return self.figures.get(LIQUIDATED)

    @property
    def expected_shortfall(self) -> Estimate | None:
        """Mean bad debt of the worst 5 % of the runs; None if the scenario has no lending."""
        return self.figures[BAD_DEBT].expected_shortfall if BAD_DEBT in self.figures else None

    @property
    def probability_of_loss(self) -> Estimate | None:
        """Probability of a bad debt above zero; None if the scenario has no lending."""
        return self.figures[BAD_DEBT].probability_above_zero if BAD_DEBT in self.figures else None


@dataclass(frozen=True)
class Sweep:
    """A finished sweep: one run for each seed at each point of the grid, and statistics of them.

    ```python
    sweep = mayavi.sweep("depeg_cascade", seeds=range(100), jobs=2)
    sweep.summary["bad_debt"].p95.value
    sweep.df()
    ```
    """

    sweep_id: str
    scenario: str
    chain: str
    seeds: tuple[int, ...]
    runs: tuple[Run, ...]
    points: tuple[PointSummary, ...]
    seconds: float
    resumed: int
    """Number of runs that were stored before."""
    store_path: Path
    target: TargetStatus | None = None
    """How well the target is known, for a sweep with `until`; `target.reached` says whether well enough."""

    @property
    def summary(self) -> Mapping[str, Summary]:
        """Statistics of the only point; raises `ValueError` for a grid, whose statistics are in `points`."""
        if len(self.points) != 1:
            raise ValueError(
                f"this sweep has {len(self.points)} points; `points[0].figures` is the summary of the first"
            )
        return self.points[0].figures

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of all runs, in the order of the plan."""
        return tuple(run.digest for run in self.runs)

    @property
    def specialise(self) -> dict[str, Any]:
        """What all runs replayed together: calls, hits, paths, misses by guard."""
        return merged(run.specialise for run in self.runs)

    @property
    def notes(self) -> list[str]:
        """Warnings about the KPIs, with the number of runs that have them."""
        return notes_of_many([run.kpis for run in self.runs])

    def df(self) -> Any:
        """Return a pandas data frame with a row for each run: seed, overrides and all KPIs."""
        rows = []
        for index, run in enumerate(self.runs):
            overrides = dict(each.partition("=")[::2] for each in self.points[index % len(self.points)].overrides)
            rows.append({"run_id": run.run_id, "seed": run.seed, **overrides, **run.kpis, "digest": run.digest})
        return data_frame(rows)

    def _repr_html_(self) -> str:
        parts = [f"<b>{escape(f'{self.scenario} · {self.chain} · {len(self.runs):,} runs · {self.sweep_id}')}</b>"]
        for point in self.points:
            parts += [f"<p>{escape(point.label)}</p>"] if point.label else []
            parts.append(html_table(SUMMARY_COLUMNS, summary_rows(point)))
            parts += [f"<p>{escape(line)}</p>" for line in headlines(point)]
        return "".join([*parts, html_notes(self.notes)])


def summary_rows(point: PointSummary, chain: str = "") -> list[tuple[str, ...]]:
    """Return a line for each KPI that is not zero in every run; bad debt and liquidated value are always shown."""
    rows = []
    for name, found in point.figures.items():
        named = name.partition(".")[0] in (WITHOUT_POOL, CONSTANT_PRICE)  # a note has them
        if named or not (found.minimum or found.maximum or name in (BAD_DEBT, LIQUIDATED)):
            continue

        def show(number: float, name: str = name) -> str:
            return shown_number(number, point.units[name], name, chain)

        cells = [show(each.value) for each in (found.mean, found.p5, found.p50, found.p95)]
        rows.append((title_of(name), *cells, found.p95.interval(show), show(found.expected_shortfall.value)))
    return rows


def headlines(point: PointSummary) -> list[str]:
    """Return a sentence each for VaR, expected shortfall, P(loss), mean bad debt and LaR, with their intervals."""
    lines = []
    if loss := point.value_at_risk:
        lines += [
            _headline("VaR", loss.p95, dollars, "the bad debt that 95 % of the runs stay below"),
            _headline("ES", loss.expected_shortfall, dollars, "the mean bad debt of the worst 5 % of the runs"),
            _headline("mean", loss.mean, dollars, "the mean bad debt"),
            _headline("P(loss)", loss.probability_above_zero, percent, "the share of runs with bad debt"),
        ]
    if liquidated := point.liquidations_at_risk:
        what = "the liquidated value that 95 % of the runs stay below"
        lines.append(_headline("LaR", liquidated.p95, dollars, what))
    return lines


def _headline(short: str, found: Estimate, show: Callable[[float], str], what: str) -> str:
    interval = "no interval" if found.low is found.high is None else found.interval(show)
    if found.complete:
        interval = f"95 % interval {interval}"
    return f"{short}  {show(found.value)}  {what} ({'; '.join(each for each in (interval, found.missing()) if each)})"


def headline_figures(points: Sequence[PointSummary], most: int = 2) -> list[str]:
    """Return the most important KPIs that all points have: bad debt and liquidated value, else price moves."""
    shared = [name for name in points[0].figures if all(name in point.figures for point in points)]
    lending = [name for name in (BAD_DEBT, LIQUIDATED) if name in shared]
    moves = [
        name
        for name in shared
        if name.partition(".")[0] in {"price_impact", "pool_change", "oracle_change", "average_price"}
    ]
    return (lending or moves or shared)[:most]
