"""Read a sweep: the outcomes of its runs at every point of the grid, the worst runs, and those that failed."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mayavi.errors import UsageError
from mayavi.report.sources.parameter_names import parameter_name, value_name
from mayavi.report.sources.quoting import quoted, quoted_list
from mayavi.scenarios.document_kind import SCENARIO
from mayavi.scenarios.figures.limits import PREFIX
from mayavi.scenarios.sweep.result import PointSummary, headline_figures
from mayavi.scenarios.sweep.until import CONFIDENCE_AT_LOOKS
from mayavi.settings.document import Document
from mayavi.sim.store import RunRecord, Store, SweepRecord
from mayavi.sim.store.store import run_record
from mayavi.statistics.estimate import CONFIDENCE
from mayavi.statistics.summary import summarise_all

OUTCOMES = """
WITH own AS (
    SELECT run_id, seed, scenario_text FROM runs WHERE sweep_id = {sweep} AND status = 'finished'
    QUALIFY row_number() OVER (PARTITION BY scenario_text, seed ORDER BY run_id) = 1
)
SELECT scenario_text, name, any_value(unit) AS unit,
       list(number ORDER BY seed) AS numbers, list(seed ORDER BY seed) AS seeds, list(run_id ORDER BY seed) AS run_ids,
       min(seq) AS place
FROM own JOIN kpis USING (run_id) GROUP BY scenario_text, name ORDER BY place, name
"""
RUNS = """
SELECT scenario_text, list(seed ORDER BY seed) AS seeds, list(run_id ORDER BY seed) AS run_ids FROM (
    SELECT run_id, seed, scenario_text FROM runs WHERE sweep_id = {sweep} AND status = 'finished'
    QUALIFY row_number() OVER (PARTITION BY scenario_text, seed ORDER BY run_id) = 1
) GROUP BY scenario_text
"""
FIRST = "SELECT * FROM runs WHERE run_id IN {runs} ORDER BY run_id"
FACTS = "SELECT chain, source, world_digest FROM runs WHERE sweep_id = {sweep} ORDER BY run_id LIMIT 1"
FAILED = """
SELECT run_id, seed, status, error, steps_done, scenario_text FROM runs
WHERE sweep_id = {sweep} AND status <> 'finished' ORDER BY run_id
"""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """One KPI of all finished runs of a point, in the order of their seeds."""

    unit: str
    numbers: tuple[float, ...]
    seeds: tuple[int, ...]
    run_ids: tuple[str, ...]

    @property
    def finite(self) -> list[float]:
        """Outcomes that are finite numbers."""
        return [number for number in self.numbers if math.isfinite(number)]


@dataclass(frozen=True)
class SweepPoint:
    """A point of the grid: its overrides, its runs and their KPIs."""

    overrides: tuple[str, ...]
    scenario_text: str
    """Scenario of its runs; empty if it has none."""
    seeds: tuple[int, ...]
    run_ids: tuple[str, ...]
    kpis: Mapping[str, Outcomes]
    confidence: float
    record: RunRecord | None
    """Its first run; None if it has none."""

    def value_of(self, path: str) -> str:
        """The value of a parameter that varies; empty if the point does not set it."""
        for override in self.overrides:
            key, _, value = override.partition("=")
            if key.strip() == path:
                return value.strip()
        return ""

    @property
    def label(self) -> str:
        """The overrides as text."""
        return ", ".join(self.overrides)

    @cached_property
    def summary(self) -> PointSummary:
        """Statistics of every KPI; outcomes that are not finite numbers are left out."""
        columns = {name: each.finite for name, each in self.kpis.items()}
        found = summarise_all({name: each for name, each in columns.items() if each}, confidence=self.confidence)
        return PointSummary(self.overrides, found, {name: each.unit for name, each in self.kpis.items()})


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run of a sweep that did not finish."""

    run_id: str
    seed: int
    status: str
    error: str
    steps_done: int | None
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class SweepData:
    """A stored sweep with all its runs."""

    record: SweepRecord
    points: tuple[SweepPoint, ...]
    failed: tuple[FailedRun, ...]
    chain: str
    source: str
    world_digest: str

    @property
    def planned(self) -> int:
        """Number of runs that the sweep was to make."""
        return len(self.record.plan.get("seeds", ())) * max(1, len(self.points))

    @property
    def finished(self) -> int:
        """Number of finished runs."""
        return sum(len(point.run_ids) for point in self.points)

    @cached_property
    def with_runs(self) -> tuple[SweepPoint, ...]:
        """Points that have KPIs of finished runs."""
        return tuple(point for point in self.points if point.summary.figures)

    @cached_property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """Values of each parameter that varies, in the order of the plan."""
        found: dict[str, dict[str, None]] = {}
        for point in self.points:
            for override in point.overrides:
                path, _, value = override.partition("=")
                found.setdefault(path.strip(), {})[value.strip()] = None
        return {path: tuple(values) for path, values in found.items() if len(values) > 1}

    def name_of(self, point: SweepPoint) -> str:
        """A point by what varies, in words: `price shock of WETH −45 %, number of liquidators 1`."""
        return ", ".join(f"{parameter_name(path)} {value_name(point.value_of(path))}" for path in self.axes)

    def values_of(self, point: SweepPoint) -> str:
        """A point by the values of what varies alone: `−45 % · 1`."""
        return " · ".join(value_name(point.value_of(path)) or "base" for path in self.axes)

    @cached_property
    def headline(self) -> str | None:
        """The KPI that the page is about: bad debt, else a price move, else the first; None without runs."""
        if not self.with_runs:
            return None
        found = headline_figures([point.summary for point in self.with_runs])
        return found[0] if found else None

    @property
    def not_finite(self) -> int:
        """Number of outcomes that are not finite numbers, and so part of no statistic."""
        every = (each for point in self.points for each in point.kpis.values())
        return sum(len(each.numbers) - len(each.finite) for each in every)


def read_sweep(store: Store, named: str) -> SweepData:
    """Read the sweep `named`, by its id, a unique part of it, or `latest`."""
    record = store.sweep(named)
    sweep = quoted(record.sweep_id)
    runs = {row["scenario_text"]: row for row in store.sql(RUNS.format(sweep=sweep))}
    kpis: dict[str, dict[str, Outcomes]] = {}
    for row in store.sql(OUTCOMES.format(sweep=sweep)):
        each = Outcomes(row["unit"], tuple(row["numbers"]), tuple(row["seeds"]), tuple(row["run_ids"]))
        kpis.setdefault(row["scenario_text"], {})[row["name"]] = each
    failed = store.sql(FAILED.format(sweep=sweep)).records()
    overrides = [tuple(each) for each in record.plan.get("points", [[]])] or [()]
    places = _places([*runs, *(row["scenario_text"] for row in failed)], overrides)
    first = [row["run_ids"][0] for row in runs.values()]
    records = {each.scenario_text: each for each in map(run_record, store.sql(FIRST.format(runs=quoted_list(first))))}
    confidence = CONFIDENCE_AT_LOOKS if "until" in record.plan else CONFIDENCE
    points = []
    for at, point in enumerate(overrides):
        text = next((each for each in runs if places.get(each) == at), "")
        own = runs.get(text, {"seeds": [], "run_ids": []})
        filled = {name: _filled(name, each, own) for name, each in kpis.get(text, {}).items()}
        seeds, run_ids = tuple(own["seeds"]), tuple(own["run_ids"])
        points.append(SweepPoint(point, text, seeds, run_ids, filled, confidence, records.get(text)))
    facts = _facts(store, record.sweep_id)
    left = tuple(
        FailedRun(
            row["run_id"], row["seed"], row["status"], row["error"] or "", row["steps_done"],
            overrides[places[row["scenario_text"]]] if row["scenario_text"] in places else (),
        )
        for row in failed
    )  # fmt: skip
    return SweepData(record, tuple(points), left, *facts)


def _filled(name: str, found: Outcomes, runs: Mapping[str, Any]) -> Outcomes:
    """Count a limit that a run does not report as zero, as sweeps do."""
    if not name.startswith(PREFIX) or len(found.numbers) == len(runs["seeds"]):
        return found
    known = dict(zip(found.run_ids, found.numbers, strict=True))
    numbers = tuple(known.get(run_id, 0.0) for run_id in runs["run_ids"])
    return Outcomes(found.unit, numbers, tuple(runs["seeds"]), tuple(runs["run_ids"]))


def _facts(store: Store, sweep_id: str) -> tuple[str, str, str]:
    for chain, source, digest in store.sql(FACTS.format(sweep=quoted(sweep_id))).fetchall():
        return chain, source, digest
    return "", "", ""


def _places(texts: Sequence[str], points: Sequence[tuple[str, ...]]) -> dict[str, int]:
    """Return the point that each scenario text belongs to: the one whose overrides change nothing in it."""
    if len(points) == 1:
        return dict.fromkeys(texts, 0)
    options = list(dict.fromkeys(option for point in points for option in point))
    found: dict[str, int] = {}
    for text in dict.fromkeys(texts):
        document = Document.parse(text, "scenario", kind=SCENARIO)
        fitting = {option for option in options if _changes_nothing(document, option)}
        known = [at for at, point in enumerate(points) if fitting.issuperset(point)]
        if known:
            found[text] = max(known, key=lambda at: len(points[at]))
    return found


def _changes_nothing(document: Document, option: str) -> bool:
    changed = copy.deepcopy(document)
    try:
        changed.override(option, "--grid")
    except UsageError:
        return False
    return bool(changed.data == document.data)
