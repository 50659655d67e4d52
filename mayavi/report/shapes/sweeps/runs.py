"""Runs of a sweep on its page: the worst paths with the command that repeats each, and the runs that failed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from mayavi.report.figure_formats import worst_is_low
from mayavi.report.page import Cell, Column, Section, Table
from mayavi.report.run.parameters import command_of, differences
from mayavi.report.shapes.sweeps.risk import format_in
from mayavi.report.sources.parameter_names import parameter_name, value_name
from mayavi.report.sources.sweep import SweepData, SweepPoint
from mayavi.scenarios.sweep.result import BAD_DEBT, LIQUIDATED

WORST = 10
Differences = list[tuple[str, Any, Any]] | None


def worst_section(data: SweepData) -> Section | None:
    """The worst runs of all points, each with its id and the command that repeats it."""
    name = data.headline
    if name is None:
        return None
    shown, low = format_in(data, name), worst_is_low(name)
    found: list[tuple[float, SweepPoint, int, str]] = []
    for point in data.with_runs:
        if (each := point.kpis.get(name)) is not None:
            runs = zip(each.numbers, each.seeds, each.run_ids, strict=True)
            found += [(number, point, seed, run_id) for number, seed, run_id in runs if math.isfinite(number)]
    found.sort(key=lambda each: (each[0] if low else -each[0], each[3]))
    other = format_in(data, LIQUIDATED) if name == BAD_DEBT else None
    known_of: dict[str, Differences] = {}
    rows = []
    for number, point, seed, run_id in found[:WORST]:
        cells: list[Cell] = [shown.value(number)]
        if other is not None:
            kpi = point.kpis.get(LIQUIDATED)
            known = dict(zip(kpi.run_ids, kpi.numbers, strict=True)) if kpi else {}
            cells.append(other.value(known.get(run_id)))
        cells.append(seed)
        cells += [value_name(point.value_of(path)) for path in data.axes]
        rows.append((*cells, run_id, _run_line(point, seed, known_of)))
    columns = [Column(shown.title, shown.exact_format, shown.unit)]
    columns += [Column("liquidated value", other.exact_format, other.unit)] if other is not None else []
    columns += [Column("seed", "count")]
    columns += [Column(parameter_name(path), "text") for path in data.axes]
    columns += [Column("run", "code"), Column("run it again", "code")]
    table = Table(
        tuple(columns),
        tuple(rows),
        title=f"The worst {len(rows):,} of {len(found):,} runs" if len(found) > 1 else "The only run",
        note="`mayavi report RUN` opens a run: its steps, accounts and transactions.",
        command=f"mayavi runs list --sweep {data.record.sweep_id} --all",
    )
    return Section("worst", "The worst paths", (table,))


def _run_line(point: SweepPoint, seed: int, known: dict[str, Differences]) -> str | None:
    """The `mayavi run` line that repeats the run of a point with `seed`; `known` keeps what points differ in."""
    if point.record is None:
        return None
    if point.label not in known:
        known[point.label] = differences(point.record)
    return command_of(replace(point.record, seed=seed), known[point.label])[0]


def failed_section(data: SweepData) -> Section | None:
    """Runs that did not finish, with the reason; None if all did."""
    if not data.failed:
        return None
    rows = []
    for each in data.failed:
        reason = (each.error.strip().splitlines() or [""])[0]
        rows.append((each.run_id, each.seed, ", ".join(each.overrides), each.status, each.steps_done, reason))
    columns = (
        Column("run", "code"),
        Column("seed", "count"),
        Column("point"),
        Column("status"),
        Column("steps", "count"),
        Column("reason"),
    )
    table = Table(columns, tuple(rows), command=f"mayavi runs show {data.failed[0].run_id}")
    lead = f"{len(data.failed):,} runs did not finish. Statistics are over the other {data.finished:,} runs."
    return Section("failed", "Runs that failed", (table,), lead=lead)
