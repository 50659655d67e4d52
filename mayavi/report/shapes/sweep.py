"""The page of a sweep: risk with intervals, distributions, grid, worst paths, failed runs, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.distributions import FEW, distribution, ecdf
from mayavi.report.charts.intervals import intervals
from mayavi.report.figure_formats import figure_format, worst_is_low
from mayavi.report.page import Chart, Column, Page, Provenance, Section, Table, Text
from mayavi.report.shapes.sensitivity import sensitivity_section, sensitivity_verdict, tornado
from mayavi.report.shapes.sweep_grid import grid_charts
from mayavi.report.shapes.sweep_risk import (
    at_risk,
    at_risk_name,
    extremes,
    format_in,
    missing_evidence,
    risk_figures,
    tiles,
    verdict,
)
from mayavi.report.sources.parameters import changed_parameters, run_command, seeds_text, sweep_command
from mayavi.report.sources.sweep import SweepData, SweepPoint, read_sweep
from mayavi.scenarios.figures.notes import notes_of_many
from mayavi.scenarios.sweep.result import BAD_DEBT, LIQUIDATED
from mayavi.sim.store import Store

WORST = 10
MOST_POINTS = 40
_SENSITIVITY = "sensitivity"


def sweep_page(store: Store, named: str) -> Page:
    """Build the page of a stored sweep or sensitivity analysis."""
    data = read_sweep(store, named)
    own = data.record.summary.get(_SENSITIVITY)
    analysis = own or _stored_sensitivity(store, data)
    charts = [] if own else grid_charts(data)
    hero = tornado(own) if own else charts[0] if charts else _headline_distribution(data)
    subject = f"{'Sensitivity of' if own else 'Sweep of'} {data.record.scenario}"
    if data.chain:
        subject += f" on {data.chain}"
    subject += f", {data.finished:,} runs"
    sections = [
        _grid(data, charts[1:]) if charts else None,
        None if own else _distributions(data, skip=hero),
        sensitivity_section(analysis) if analysis and not own else None,
        _worst(data),
        _figures(data),
        _failed(data),
        sensitivity_section(analysis) if own else None,
        _parameters(data),
    ]
    return Page(
        title=f"{data.record.scenario}: {'sensitivity' if own else 'sweep'} {data.record.sweep_id}",
        subject=subject,
        verdict=sensitivity_verdict(own) if own else verdict(data),
        tiles=() if own else tiles(data),
        summary=tuple(_summary(data, own)),
        hero=hero,
        sections=tuple(each for each in sections if each is not None),
        provenance=_provenance(data, bool(own)),
        notes=tuple(_notes(data)),
    )


def _stored_sensitivity(store: Store, data: SweepData) -> Mapping[str, Any] | None:
    """Return the newest sensitivity analysis of the same scenario, if one is stored."""
    texts = {point.scenario_text for point in data.points} | {data.record.scenario_text}
    for record in store.sweeps():
        if _SENSITIVITY in record.summary and record.scenario_text in texts:
            found: Mapping[str, Any] = record.summary[_SENSITIVITY]
            return found
    return None


def _summary(data: SweepData, sensitivity: Mapping[str, Any] | None) -> list[str]:
    if not data.with_runs:
        return [f"The sweep is {data.record.status}, and no run of it has figures."]
    worst, _ = extremes(data)
    where = f"At the worst point, {worst.label}: " if len(data.with_runs) > 1 and not sensitivity else ""
    found = []
    for each in risk_figures(data, worst):
        text = f"{where}{each.short} is {each.format.write(each.estimate.value)} ({each.what}"
        if each.estimate.complete or each.estimate.low is not None or each.estimate.high is not None:
            text += f"; 95 % interval {each.format.interval(each.estimate)}"
        found.append(f"{text}).")
        where = ""
    if data.axes and len(data.with_runs) > 1 and not sensitivity:
        axes = ", ".join(f"{path} ({len(values)} values)" for path, values in data.axes.items())
        found.append(f"Parameters that vary: {axes}. Every combination ran with the same seeds.")
    return found


def _notes(data: SweepData) -> list[str]:
    found = missing_evidence(data)
    if data.not_finite:
        found.append(f"{data.not_finite:,} outcomes are no finite numbers, and are part of no statistic.")
    if data.failed:
        found.append(f"{len(data.failed):,} runs did not finish; they are listed below, and part of no statistic.")
    if data.record.status != "finished":
        found.append(f"The sweep is {data.record.status}: {data.finished:,} of {data.planned:,} runs are here.")
    kpis = [
        {name: each.numbers[at] for name, each in point.kpis.items() if len(each.numbers) == len(point.run_ids)}
        for point in data.points
        for at in range(len(point.run_ids))
    ]
    return [*found, *notes_of_many(kpis)]  # type: ignore[arg-type]


def _headline_distribution(data: SweepData) -> Chart | None:
    name = data.headline
    if name is None:
        return None
    return _distribution(data, extremes(data)[0], name)


def _distribution(data: SweepData, point: SweepPoint, name: str) -> Chart:
    shown, found = format_in(data, name), point.summary.figures[name]
    values = [value for value in (shown.value(each) for each in point.kpis[name].finite) if value is not None]
    tail = at_risk(point, name)
    marks = (
        []
        if found.count == 1
        else [(shown.value(tail.value) or 0.0, f"{at_risk_name(name)} {shown.write(tail.value)}")]
    )
    if found.count == 1:
        title = f"One run: {shown.title} is {shown.write(found.mean.value)}"
    elif found.minimum == found.maximum:
        title = f"Every run has a {shown.title} of {shown.write(found.minimum)}"
    else:
        title = f"{shown.title.capitalize()} lies between {shown.write(found.minimum)} and {shown.write(found.maximum)}"
        title += f", half of the runs below {shown.write(found.p50.value)}"
    how = "one dot a run" if len(values) < FEW else "histogram"
    where = f" at {point.label}" if point.label else ""
    return distribution(
        title,
        f"{shown.title} of {found.count:,} runs{where}, {how}",
        values,
        Axis(shown.title + (f", {shown.unit}" if shown.unit else ""), shown.format),
        marks=marks,
        source=f"sweep {data.record.sweep_id}",
    )


def _distributions(data: SweepData, skip: Chart | None) -> Section | None:
    """Distributions of bad debt and liquidated value; of a grid the medians with p5 to p95 by point."""
    name = data.headline
    if name is None:
        return None
    blocks: list[Any] = []
    if len(data.with_runs) == 1:
        point = data.with_runs[0]
        others = [each for each in (name, LIQUIDATED, "liquidator_profit") if each in point.summary.figures]
        for each in others:
            chart = _distribution(data, point, each)
            if skip is None or chart.title != skip.title:
                blocks.append(chart)
            count = point.summary.figures[each].count
            if count >= FEW:
                blocks.append(_ecdf(data, point, each))
    else:
        blocks.append(_by_point(data, name))
        blocks.append(_distribution(data, extremes(data)[0], name))
    return Section("distribution", "How the outcomes are distributed", tuple(blocks)) if blocks else None


def _ecdf(data: SweepData, point: SweepPoint, name: str) -> Chart:
    shown, found = format_in(data, name), point.summary.figures[name]
    values = [value for value in (shown.value(each) for each in point.kpis[name].finite) if value is not None]
    zero = sum(1 for each in values if not each) / len(values)
    title = (
        f"{zero:.0%} of the runs have no {shown.title}".replace("%", " %")
        if zero
        else f"Median {shown.title}: {shown.write(found.p50.value)}"
    )
    tail = at_risk(point, name).value
    return ecdf(
        title,
        f"Share of {found.count:,} runs at or below each {shown.title}",
        values,
        Axis(shown.title, shown.format),
        marks=[(shown.value(tail) or 0.0, f"{at_risk_name(name)} {shown.write(tail)}")],
        source=f"sweep {data.record.sweep_id}",
    )


def _by_point(data: SweepData, name: str) -> Chart:
    shown = format_in(data, name)
    points = [point for point in data.with_runs if name in point.summary.figures]
    rows = []
    for point in points[:MOST_POINTS]:
        found = point.summary.figures[name]
        rows.append((point.label or "base", *(shown.value(each.value) for each in (found.p50, found.p5, found.p95))))
    medians = [point.summary.figures[name].p50.value for point in points]
    title = f"Median {shown.title} lies between {shown.write(min(medians))} and {shown.write(max(medians))}"
    return intervals(
        title,
        f"Median of {shown.title} with its range from p5 to p95 at each point"
        + (f"; the first {MOST_POINTS} of {len(points):,}" if len(points) > MOST_POINTS else ""),
        rows,
        Axis(shown.title, shown.format),
        source=f"sweep {data.record.sweep_id}",
        wide=True,
    )


def _grid(data: SweepData, charts: list[Chart]) -> Section | None:
    columns = [Column(path, "code") for path in data.axes]
    name = data.headline or ""
    shown = format_in(data, name)
    exact = shown.exact_format
    columns += [
        Column(f"mean {shown.title}", exact), Column(f"{at_risk_name(name)}", exact), Column("low", exact),
        Column("high", exact), Column("runs", "count"),
    ]  # fmt: skip
    rows = []
    for point in data.with_runs:
        if name not in point.summary.figures:
            continue
        found, tail = point.summary.figures[name], at_risk(point, name)
        at = dict(each.partition("=")[::2] for each in point.overrides)
        numbers = (shown.value(each) for each in (found.mean.value, tail.value, tail.low, tail.high))
        rows.append((*(at.get(path, "") for path in data.axes), *numbers, found.count))
    table = Table(tuple(columns), tuple(rows), title="Every point of the grid")
    return Section("grid", "What the parameters do", (*charts, table))


def _worst(data: SweepData) -> Section | None:
    """The worst runs of all points, each with its id and the command that repeats it."""
    name = data.headline
    if name is None:
        return None
    shown, low = format_in(data, name), worst_is_low(name)
    found: list[tuple[float, SweepPoint, int, int, str]] = []
    for point in data.with_runs:
        if name not in point.kpis:
            continue
        each = point.kpis[name]
        found += [
            (number, point, at, seed, run_id)
            for at, (number, seed, run_id) in enumerate(zip(each.numbers, each.seeds, each.run_ids, strict=True))
            if math.isfinite(number)
        ]
    found.sort(key=lambda each: (each[0] if low else -each[0], each[4]))
    second = LIQUIDATED if name == BAD_DEBT else ""
    other = format_in(data, second) if second else None
    rows = []
    for number, point, _, seed, run_id in found[:WORST]:
        cells: list[Any] = [shown.value(number)]
        if other is not None:
            kpi = point.kpis.get(second)
            known = dict(zip(kpi.run_ids, kpi.numbers, strict=True)) if kpi else {}
            cells.append(other.value(known.get(run_id)))
        command = run_command(data.record.scenario, data.chain, point.scenario_text, seed)
        rows.append((*cells, seed, point.label, run_id, command))
    columns = [Column(shown.title, shown.exact_format)]
    columns += [Column(f"{other.title} value", other.exact_format)] if other is not None else []
    columns += [Column("seed", "count"), Column("point"), Column("run", "code"), Column("run it again", "code")]
    keep = [column.label != "point" or bool(data.axes) for column in columns]
    shown_rows = tuple(tuple(cell for cell, kept in zip(row, keep, strict=True) if kept) for row in rows)
    title = f"The worst {len(rows):,} of {len(found):,} runs" if len(found) > 1 else "The only run"
    table = Table(
        tuple(column for column, kept in zip(columns, keep, strict=True) if kept),
        shown_rows,
        title=title,
        note="`mayavi report RUN` opens a run: its steps, accounts and transactions.",
        command=f"mayavi runs list --sweep {data.record.sweep_id} --all",
    )
    return Section("worst", "The worst paths", (table,))


def _figures(data: SweepData) -> Section | None:
    blocks: list[Any] = []
    points = data.with_runs if len(data.with_runs) <= 4 else (extremes(data)[0],)
    for point in points:
        rows = []
        for name, found in point.summary.figures.items():
            shown = figure_format(name, point.kpis[name].unit, data.chain)
            estimates = (found.mean, found.p5, found.p50, found.p95)
            row = [shown.title, *(shown.write(each.value) for each in estimates)]
            row += [shown.interval(found.p95), shown.write(found.minimum), shown.write(found.maximum)]
            rows.append((*row, found.count))
        labels = ("mean", "p5", "median", "p95", "95 % interval of p95", "minimum", "maximum")
        columns = (Column("figure"), *(Column(label, "text") for label in labels), Column("runs", "count"))
        title = point.label or ("" if len(points) == 1 else "base")
        blocks.append(Table(columns, tuple(rows), title=title))
    if not blocks:
        return None
    lead = "" if len(points) == len(data.with_runs) else "The worst point; `mayavi sweep … --json` has all."
    return Section("figures", "All figures", tuple(blocks), lead=lead)


def _failed(data: SweepData) -> Section | None:
    if not data.failed:
        return None
    rows = tuple(
        (
            each.run_id,
            each.seed,
            ", ".join(each.overrides),
            each.status,
            each.steps_done,
            (each.error.strip().splitlines() or [""])[0],
        )
        for each in data.failed
    )
    columns = (
        Column("run", "code"), Column("seed", "count"), Column("point"), Column("status"), Column("steps", "count"),
        Column("reason"),
    )  # fmt: skip
    table = Table(columns, rows, command=f"mayavi runs show {data.failed[0].run_id}")
    lead = f"{len(data.failed):,} runs did not finish. Statistics are over the other {data.finished:,} runs."
    return Section("failed", "Runs that failed", (table,), lead=lead)


def _parameters(data: SweepData) -> Section:
    text = next((point.scenario_text for point in data.points if point.scenario_text), data.record.scenario_text)
    found = changed_parameters(text, data.record.scenario, data.chain)
    blocks: list[Any] = []
    if data.axes:
        rows = tuple((path, ", ".join(values), len(values)) for path, values in data.axes.items())
        columns = (Column("parameter", "code"), Column("values"), Column("number", "count"))
        blocks.append(Table(columns, rows, title="Parameters that vary"))
    if found is None:
        blocks.append(Text((f"'{data.record.scenario}' is no scenario of the library: it has no defaults.",)))
    else:
        fixed = [each for each in found if each.path not in data.axes and each.path not in {"chain", "chains"}]
        rows = tuple((each.path, each.value[:200], each.default) for each in fixed)
        columns = (Column("parameter", "code"), Column("value"), Column("default"))
        empty = "Every other parameter has its default."
        blocks.append(Table(columns, rows, title="Different from the scenario's defaults", empty=empty))
    return Section("parameters", "Parameters", tuple(blocks))


def _provenance(data: SweepData, sensitivity: bool) -> Provenance:
    record = data.record
    seeds = [int(each) for each in record.plan.get("seeds", ())]
    text = next((point.scenario_text for point in data.points if point.scenario_text), record.scenario_text)
    command = sweep_command(record.scenario, data.chain, text, seeds, dict(data.axes))
    if sensitivity:
        command = command.replace("mayavi sweep", "mayavi sensitivity", 1).partition(" --grid ")[0]
    if until := record.plan.get("until"):
        command += f' --until "{until}"'
    facts = [
        ("sweep", record.sweep_id),
        ("scenario", record.scenario),
        ("seeds", seeds_text(seeds)),
        ("chain", data.chain),
        ("world", data.source),
        ("world digest", data.world_digest),
        ("started", record.started_at.strftime("%Y-%m-%d %H:%M:%S UTC")),
        *((f"version of {name}", version) for name, version in record.versions.items()),
    ]
    summary = f"seeds {seeds_text(seeds)} · {data.source} of {data.chain}, digest {data.world_digest[:12]}…"
    return Provenance(tuple((name, value) for name, value in facts if value), command, summary if data.chain else "")
