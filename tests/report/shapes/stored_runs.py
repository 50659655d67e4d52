"""Stored runs without a chain: scenario, seed and KPIs are given, as a sweep would have stored them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.sim.rows import KpiRow, RunCounts, RunEnd, RunInfo, SnapshotRow
from mayavi.sim.store import Store, SweepRecord
from mayavi.sim.store.recorder import SegmentRecorder, run_row

MOMENT = datetime(2025, 3, 14, 9, 26, 53, tzinfo=UTC)
VERSIONS = {"mayavi": "0.1.0", "numpy": "2.4.6", "python": "3.11.7"}
SWEEP = "sweep-0123456789abcdef"
STARTED_AT = 10
"""Place of `started_at` among the columns of `runs`."""


def kpi(name: str, number: float, unit: str = "usd_e8") -> KpiRow:
    """A KPI; its exact value is that of the number with eight decimals."""
    finite = number == number and abs(number) < 1e60
    return KpiRow(name, str(round(number * 10**8)) if finite else "0", number, unit)


def lending(bad_debt: float, liquidated: float) -> list[KpiRow]:
    """The KPIs of a run with loans that pages start with."""
    return [kpi("liquidations", liquidated // 1_000, "count"), kpi("liquidated", liquidated), kpi("bad_debt", bad_debt)]


def store_run(
    path: Path,
    seed: int,
    kpis: Sequence[KpiRow],
    run_id: str,
    *,
    overrides: Sequence[str] = (),
    sweep_id: str | None = None,
    status: str = "finished",
    error: str = "",
    snapshots: Sequence[SnapshotRow] = (),
    **info_changes: Any,
) -> None:
    """Store a run of `depeg_cascade` with the given KPIs and market figures; `info_changes` replace fields of it."""
    info, end = _run(seed, kpis, run_id, tuple(overrides), sweep_id, status, error)
    with SegmentRecorder(path) as recorder:
        recorder.begin(replace(info, **info_changes))
        for row in snapshots:
            recorder.record([], [row])
        recorder.end(end)


def store_sweep(
    path: Path,
    points: Mapping[tuple[str, ...], Mapping[int, Sequence[KpiRow]]],
    *,
    sweep_id: str = SWEEP,
    status: str = "finished",
    seeds: Sequence[int] | None = None,
    summary: Mapping[str, object] | None = None,
) -> Store:
    """Store a sweep: for each point, which is its overrides, the KPIs of each seed."""
    rows = [
        _run(seed, kpis, f"20250314-{seed:09d}-{sweep_id[6:]}{place}", overrides, sweep_id, "finished", "")
        for place, (overrides, runs) in enumerate(points.items())
        for seed, kpis in runs.items()
    ]
    store = Store(path)
    every = seeds if seeds is not None else sorted({seed for runs in points.values() for seed in runs})
    plan: dict[str, Any] = {"seeds": [str(seed) for seed in every], "points": [list(each) for each in points] or [[]]}
    text = _loaded(next(iter(points), ())).text
    given: Any = status
    store.save_sweep(SweepRecord(sweep_id, "depeg_cascade", text, plan, given, MOMENT, dict(summary or {}), VERSIONS))
    store.merge()
    if rows:
        _insert(path, rows)
    return store


def _insert(path: Path, rows: Sequence[tuple[RunInfo, RunEnd]]) -> None:
    """Put runs into the database at once: a segment for each would take seconds."""
    runs = [run_row(info, end) for info, end in rows]
    for each in runs:
        each[STARTED_AT] = MOMENT.replace(tzinfo=None)  # type: ignore[call-overload]
    kpis = [
        (info.run_id, seq, row.name, row.value, row.number, row.unit)
        for info, end in rows
        for seq, row in enumerate(end.kpis)
    ]
    with duckdb.connect(str(path)) as database:
        for table, values in (("runs", runs), ("kpis", kpis)):
            if values:
                row = f"({', '.join('?' * len(values[0]))})"
                every = [value for each in values for value in each]
                database.execute(f"INSERT INTO {table} VALUES {', '.join([row] * len(values))}", every)


def _run(
    seed: int,
    kpis: Sequence[KpiRow],
    run_id: str,
    overrides: tuple[str, ...],
    sweep_id: str | None,
    status: Any,
    error: str,
) -> tuple[RunInfo, RunEnd]:
    scenario = _loaded(overrides)
    steps, chain = scenario.config.steps, scenario.config.chain
    world, moment = "ab" * 32, MOMENT.timestamp()
    info = RunInfo(
        run_id, scenario.name, scenario.text, seed, steps, chain, "replica", world, VERSIONS, moment, sweep_id
    )
    finished = status == "finished"
    digest = f"{seed:064x}" if finished else ""
    counts = RunCounts(steps_done=steps if finished else 2)
    return info, RunEnd(status, digest, tuple(kpis), digest, {"total": 1.0}, error, counts)


@cache
def _loaded(overrides: tuple[str, ...]) -> Scenario:
    return load_scenario("depeg_cascade", overrides=list(overrides))
