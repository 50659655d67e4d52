"""The page of a sweep: risk with intervals, distributions, grid, worst paths, failed runs, sensitivity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.report.figure_formats import figure_format
from mayavi.report.page import Block, Cell, Chart, Column, Page, Provenance, Section, Table, Text
from mayavi.report.run.parameters import differences, repeatability
from mayavi.report.shapes.sweeps.distributions import distribution_section, headline_distribution
from mayavi.report.shapes.sweeps.grid import grid_charts
from mayavi.report.shapes.sweeps.risk import (
    at_risk,
    at_risk_name,
    extremes,
    format_in,
    missing_evidence,
    risk_figures,
    tiles,
    verdict,
)
from mayavi.report.shapes.sweeps.runs import failed_section, worst_section
from mayavi.report.shapes.sweeps.sensitivity import sensitivity_section, sensitivity_verdict, tornado
from mayavi.report.shapes.sweeps.worst import how_told_apart
from mayavi.report.sources.parameter_names import parameter_name, value_name
from mayavi.report.sources.parameters import seeds_text, sweep_command, written
from mayavi.report.sources.sweep import SweepData, read_sweep
from mayavi.scenarios.figures.notes import notes_of_many
from mayavi.sim.store import Store

_SENSITIVITY = "sensitivity"
_FEW_POINTS = 4
"""Points whose figures are all listed; of more, only the worst one's."""


def sweep_page(store: Store, named: str) -> Page:
    """Build the page of a stored sweep or sensitivity analysis; raises `UnknownRun` for an unknown id."""
    data = read_sweep(store, named)
    own: Mapping[str, Any] | None = data.record.summary.get(_SENSITIVITY)
    return _sensitivity_page(data, own) if own else _page(data, _stored_sensitivity(store, data))


def _page(data: SweepData, analysis: Mapping[str, Any] | None) -> Page:
    charts = grid_charts(data)
    hero = charts[0] if charts else headline_distribution(data)
    sections = (
        _grid(data, charts[1:]) if charts else None,
        distribution_section(data, hero),
        sensitivity_section(analysis) if analysis else None,
        worst_section(data),
        _figures(data),
        failed_section(data),
        _parameters(data),
    )
    return Page(
        title=f"{data.record.scenario}: sweep {data.record.sweep_id}",
        subject=f"Sweep of {_what(data)}",
        verdict=verdict(data),
        tiles=tiles(data),
        summary=tuple(_summary(data)),
        hero=hero,
        sections=tuple(each for each in sections if each is not None),
        provenance=_provenance(data, "sweep"),
        notes=tuple(_notes(data)),
    )


def _sensitivity_page(data: SweepData, found: Mapping[str, Any]) -> Page:
    sections = (sensitivity_section(found), failed_section(data), _parameters(data))
    seeds = len(found["seeds"])
    text = f"Each of {len(found['assumptions']):,} assumptions moved alone, with the same {seeds:,} seeds."
    return Page(
        title=f"{data.record.scenario}: sensitivity {data.record.sweep_id}",
        subject=f"Sensitivity of {_what(data)}",
        verdict=sensitivity_verdict(found),
        tiles=(),
        summary=(text,),
        hero=tornado(found),
        sections=tuple(each for each in sections if each is not None),
        provenance=_provenance(data, "sensitivity"),
        notes=tuple(found.get("notes", ())),
    )


def _what(data: SweepData) -> str:
    first = next((point.record for point in data.points if point.record is not None), None)
    where = f" on {first.world if first else data.chain}" if data.chain else ""
    return f"{data.record.scenario}{where}, {data.finished:,} runs"


def _stored_sensitivity(store: Store, data: SweepData) -> Mapping[str, Any] | None:
    """Return the newest sensitivity analysis of the same scenario, if one is stored."""
    texts = {point.scenario_text for point in data.points} | {data.record.scenario_text}
    for record in store.sweeps():
        if _SENSITIVITY in record.summary and record.scenario_text in texts:
            found: Mapping[str, Any] = record.summary[_SENSITIVITY]
            return found
    return None


def _summary(data: SweepData) -> list[str]:
    if not data.with_runs:
        return [f"The sweep is {data.record.status}, and no run of it has figures."]
    worst, _ = extremes(data)
    place = f"At the point with the worst tail, {data.name_of(worst)} ({len(worst.run_ids):,} runs):"
    found = [place] if len(data.with_runs) > 1 else []
    for each in risk_figures(data, worst):
        interval = each.format.interval(each.estimate)
        known = "" if interval == "no interval" else f", 95 % interval {interval}"
        short = each.short[:1].upper() + each.short[1:]
        found.append(f"{short}: {each.format.write(each.estimate.value)}{known} ({each.what}).")
    if data.axes and len(data.with_runs) > 1:
        axes = " and ".join(
            f"{parameter_name(path)} ({', '.join(map(value_name, values))})" for path, values in data.axes.items()
        )
        found.append(f"Parameters that vary: {axes}. Every combination ran with the same seeds.")
        found += [how_told_apart(data, data.headline)] if data.headline is not None else []
    return found


def _notes(data: SweepData) -> list[str]:
    found = missing_evidence(data)
    if data.not_finite:
        found.append(f"{data.not_finite:,} outcomes are not finite numbers, and are part of no statistic.")
    if data.failed:
        found.append(f"{len(data.failed):,} runs did not finish; they are listed below, and part of no statistic.")
    if data.record.status != "finished":
        found.append(f"The sweep is {data.record.status}: {data.finished:,} of {data.planned:,} runs are here.")
    kpis: list[Mapping[str, float]] = []
    for point in data.points:
        rows: dict[str, dict[str, float]] = {run_id: {} for run_id in point.run_ids}
        for name, each in point.kpis.items():
            for run_id, number in zip(each.run_ids, each.numbers, strict=True):
                rows[run_id][name] = number
        kpis += rows.values()
    return [*found, *notes_of_many(kpis)]


def _grid(data: SweepData, charts: list[Chart]) -> Section:
    name = data.headline or ""
    shown = format_in(data, name)
    exact = shown.exact_format
    rows: list[tuple[Cell, ...]] = []
    for point in data.with_runs:
        if name in point.summary.figures:
            found, tail = point.summary.figures[name], at_risk(point, name)
            values = (value_name(point.value_of(path)) for path in data.axes)
            rows.append((*values, shown.value(found.mean.value), *shown.bounds(tail), found.count))
    columns = (
        *(Column(parameter_name(path), "text") for path in data.axes),
        Column(f"mean {shown.title}", exact),
        Column(at_risk_name(name), exact),
        Column("low", exact),
        Column("high", exact),
        Column("runs", "count"),
    )
    return Section("grid", "What the parameters do", (*charts, Table(columns, tuple(rows), "Every point of the grid")))


def _figures(data: SweepData) -> Section | None:
    blocks: list[Block] = []
    points = data.with_runs if len(data.with_runs) <= _FEW_POINTS else (extremes(data)[0],)
    for point in points:
        rows: list[tuple[Cell, ...]] = []
        for name, found in point.summary.figures.items():
            shown = figure_format(name, point.kpis[name].unit, data.chain)
            estimates = (found.mean, found.p5, found.p50, found.p95)
            row = [shown.title, *(shown.write(each.value) for each in estimates)]
            row += [shown.interval(found.p95), shown.write(found.minimum), shown.write(found.maximum)]
            rows.append((*row, found.count))
        labels = ("mean", "p5", "median", "p95", "95 % interval of p95", "minimum", "maximum")
        columns = (Column("figure"), *(Column(label, "text") for label in labels), Column("runs", "count"))
        blocks.append(Table(columns, tuple(rows), title=data.name_of(point)))
    if not blocks:
        return None
    lead = (
        "" if len(points) == len(data.with_runs) else "The point with the worst tail; `mayavi sweep … --json` has all."
    )
    return Section("figures", "All figures", tuple(blocks), lead=lead)


def _parameters(data: SweepData) -> Section:
    blocks: list[Block] = []
    if data.axes:
        axes = tuple((path, ", ".join(values), len(values)) for path, values in data.axes.items())
        columns = (Column("parameter", "code"), Column("values", "code"), Column("number", "count"))
        blocks.append(Table(columns, axes, title="Parameters that vary"))
    record = next((point.record for point in data.points if point.record is not None), None)
    known = None if record is None else differences(record)
    if known is None:
        blocks.append(Text((f"The defaults of '{data.record.scenario}' are not known here.",)))
    else:
        rows: list[tuple[Cell, ...]] = []
        for key, default, value in known:
            if key not in data.axes:
                rows.append((key, *(None if each is None else written(each)[:200] for each in (value, default))))
        columns = (Column("parameter", "code"), Column("value", "code"), Column("default", "code"))
        empty = "Every other parameter has its default." if data.axes else "Every parameter has its default."
        title = "Different from the scenario's defaults"
        blocks.append(Table(columns, tuple(rows), title=title, empty=empty))
    return Section("parameters", "Parameters", tuple(blocks))


def _provenance(data: SweepData, verb: str) -> Provenance:
    record = data.record
    seeds = [int(each) for each in record.plan.get("seeds", ())]
    first = next((point.record for point in data.points if point.record is not None), None)
    command = f"mayavi {verb} {record.scenario} --seeds {seeds_text(seeds)}"
    if first is not None:
        command = sweep_command(first, seeds, data.axes if verb == "sweep" else {}, verb)
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
    shown = tuple((name, value) for name, value in facts if value)
    return Provenance(shown, command, summary if data.chain else "", repeatability(data.source))
