"""The sides of a comparison: runs of one scenario, or a point of a sweep, with their KPIs by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mayavi.errors import UnknownRun, UsageError
from mayavi.report.sources.price_moves import price_moves
from mayavi.report.sources.quoting import quoted_list
from mayavi.report.sources.sweep import read_sweep
from mayavi.sim.store import RunRecord, Store
from mayavi.sim.store.store import run_record

RUNS = "SELECT * FROM runs WHERE run_id IN {runs} ORDER BY run_id"
KPIS = "SELECT run_id, name, number, unit FROM kpis WHERE run_id IN {runs} ORDER BY run_id, seq"
MOST_SIDES = 8


@dataclass
class Side:
    """One side: its runs by seed, their KPIs, and a record of its first run."""

    label: str
    record: RunRecord
    runs: dict[int, str] = field(default_factory=dict)
    """Run id by seed."""
    kpis: dict[str, dict[int, float]] = field(default_factory=dict)
    """Numbers by KPI and seed."""
    units: dict[str, str] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)

    def mean(self, name: str) -> float | None:
        """Mean of a KPI over the runs that have it; None if none has."""
        values = list(self.kpis.get(name, {}).values())
        return sum(values) / len(values) if values else None


def read_sides(store: Store, named: Sequence[str]) -> list[Side]:
    """Read the runs and sweeps `named`; the first side is the baseline.

    Runs of one scenario text with several seeds are one side, unless all named runs are of that scenario: then each
    run is a side. A sweep gives a side for each point of its grid.
    """
    if len(named) < 2:
        raise UsageError("a comparison needs at least two runs", "name another: `mayavi report compare RUN OTHER`")
    groups: list[tuple[str, list[str]]] = []
    single: list[str] = []
    for name in named:
        run_id = _run_id(store, name)
        if run_id is not None:
            if run_id in single:
                raise UsageError(f"run '{run_id}' is named twice", "a comparison needs different runs")
            single.append(run_id)
            groups.append((run_id, [run_id]))
            continue
        data = read_sweep(store, name)
        for point in data.points:
            if point.run_ids:
                short = data.record.sweep_id.removeprefix("sweep-")[:8]
                groups.append((f"{short} {point.label}".strip(), list(point.run_ids)))
    every = [run_id for _, own in groups for run_id in own]
    records = {each.run_id: each for each in map(run_record, store.sql(RUNS.format(runs=quoted_list(every))))}
    sides = _joined(groups, records, single)
    if len(sides) < 2:
        raise UsageError("there is only one side to compare", "name runs of another scenario or seed, or another sweep")
    if len(sides) > MOST_SIDES:
        raise UsageError(f"{len(sides):,} sides are too many for one page", f"compare at most {MOST_SIDES}")
    _add_kpis(store, sides)
    return sides


def _run_id(store: Store, name: str) -> str | None:
    """The full id of a run, or None if `name` is that of a sweep; `UnknownRun` if it is neither."""
    try:
        return store.resolve(name)
    except UnknownRun as unknown:
        try:
            store.sweep(name)
        except UnknownRun:
            raise unknown from None
        return None


def _joined(
    groups: Sequence[tuple[str, list[str]]], records: Mapping[str, RunRecord], single: Sequence[str]
) -> list[Side]:
    texts = {records[run_id].scenario_text for run_id in single}
    apart = len(texts) == 1 and len(single) == len(groups)
    sides: dict[Any, Side] = {}
    for label, run_ids in groups:
        first = records[run_ids[0]]
        key: Any = label if apart or run_ids[0] not in single else (first.scenario_text, first.world_digest)
        if key in sides and first.seed in sides[key].runs:
            key = label  # the same scenario and seed twice: versions or worlds differ
        side = sides.setdefault(key, Side(_label(label, first, apart), first))
        for run_id in run_ids:
            side.runs[records[run_id].seed] = run_id
            side.digests[records[run_id].seed] = records[run_id].digest
    found = list(sides.values())
    labels = [side.label for side in found]
    for side in found:
        if labels.count(side.label) > 1:
            side.label = f"{side.label} ({next(iter(side.runs.values()))[-8:]})"
    return found


def _label(label: str, record: RunRecord, apart: bool) -> str:
    if apart:
        return f"seed {record.seed}"
    return f"{record.scenario} {record.run_id[-8:]}" if label == record.run_id else label


def _add_kpis(store: Store, sides: Sequence[Side]) -> None:
    owners = {run_id: (side, seed) for side in sides for seed, run_id in side.runs.items()}
    for run_id, name, number, unit in store.sql(KPIS.format(runs=quoted_list(owners))).fetchall():
        side, seed = owners[run_id]
        side.kpis.setdefault(name, {})[seed] = number
        side.units[name] = unit
    for run_id, name, share in price_moves(store, owners):
        side, seed = owners[run_id]
        side.kpis.setdefault(name, {})[seed] = share
        side.units[name] = "share"
