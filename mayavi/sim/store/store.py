"""`Store`: read, compare, export and remove stored runs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mayavi.errors import StoreError
from mayavi.records.parquet import Value
from mayavi.runs.run_id import LATEST, check_id, resolve
from mayavi.sim.rows import AccountRow, ActionRow, KpiRow, Row, RunStatus, SnapshotRow
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.store.comparison import RunDiff, compare
from mayavi.sim.store.database.merging import Merged, merge
from mayavi.sim.store.database.opening import refuse_unusable
from mayavi.sim.store.database.row_conversion import MADE, account_row, action_row, kpi_row, snapshot_row
from mayavi.sim.store.database.schema import TABLES, literal
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.views import reading
from mayavi.sim.store.explanation import Explanation, explain
from mayavi.sim.store.export import export_runs
from mayavi.sim.store.location import store_path
from mayavi.sim.store.recorder import SegmentRecorder
from mayavi.sim.store.relation import Rows

_WORLD_KEYS = re.compile(r"^(world|block): (\S+)$", re.MULTILINE)  # of a scenario as it is stored


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A stored run. `digest` identifies its rows; it is empty for running and interrupted runs."""

    run_id: str
    sweep_id: str | None
    scenario: str
    scenario_text: str
    seed: int
    steps: int
    chain: str
    source: str
    world_digest: str
    versions: dict[str, str]
    started_at: datetime
    status: RunStatus
    digest: str
    final_world_digest: str
    timings: dict[str, float]
    error: str
    seconds: float | None
    steps_done: int | None
    action_count: int | None
    failed_count: int | None
    raised_count: int | None
    snapshot_count: int | None
    specialise: dict[str, Any] = field(default_factory=dict)
    """What was replayed: calls, hits, paths, misses by guard; empty for runs of earlier versions."""

    @property
    def start(self) -> str:
        """World that the run started from, in words: `replica ethereum@2025-12`, `replica at block 17666333`."""
        named = dict(_WORLD_KEYS.findall(self.scenario_text))
        if named.get("world", "null") != "null":
            return f"{self.source} {named['world']}"
        return self.source if named.get("block", "null") == "null" else f"{self.source} at block {named['block']}"

    @property
    def world(self) -> str:
        """Name of its world: a market, `ethereum@2025-12`, or the chain."""
        named = dict(_WORLD_KEYS.findall(self.scenario_text)).get("world", "null")
        return self.chain if named == "null" else named


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """A stored sweep. `plan` holds seeds and grid, `summary` the statistics; both are JSON data."""

    sweep_id: str
    scenario: str
    scenario_text: str
    plan: dict[str, Any]
    status: RunStatus
    started_at: datetime
    summary: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    updated_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Store:
    """The database of runs at `path`, by default that of MAYAVI_STORE or the configuration file.

        store = Store("data/runs/runs.duckdb")
        for run in store.runs():
            print(run.run_id, run.scenario, run.status)
        store.actions("latest").df()

    A run may be named by its id, a unique beginning or end of it, or `latest`. Reading works while runs are written and
    while other processes, a DuckDB shell for instance, have the database open.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = store_path(path)

    def runs(
        self, *, sweep_id: str | None = None, scenario: str | None = None, status: str | None = None
    ) -> Rows[RunRecord]:
        """Return all runs, newest first, or those of one sweep, scenario or status."""
        wanted = {"sweep_id": sweep_id, "scenario": scenario, "status": status}
        where = [f"{column} = {literal(value)}" for column, value in wanted.items() if value is not None]
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        query = f"SELECT * FROM runs{condition} ORDER BY run_id DESC"
        return Rows(self.path, query, run_record, tables=["runs"])

    def run(self, run_id: str) -> RunRecord:
        """Return one run; raise `UnknownRun` with the nearest ids if none fits."""
        found = self._runs_named(run_id) if run_id != LATEST else []
        return (found or self._runs_named(self.resolve(run_id)))[0]

    def _runs_named(self, run_id: str) -> list[RunRecord]:
        query = f"SELECT * FROM runs WHERE run_id = {literal(run_id)}"
        return Rows(self.path, query, run_record, tables=["runs"]).records()

    def resolve(self, run_id: str) -> str:
        """Return the full id of the run that `run_id` names."""
        known = Rows(self.path, "SELECT run_id FROM runs", lambda row: str(row["run_id"]), tables=["runs"])
        return resolve(run_id, known.records())

    def actions(self, run_id: str) -> Rows[ActionRow]:
        """Return all actions of a run in order of execution."""
        return self._rows_of("actions", run_id, action_row)

    def snapshots(self, run_id: str) -> Rows[SnapshotRow]:
        """Return the market figures of a run, one per row."""
        return self._rows_of("market_snapshots", run_id, snapshot_row)

    def kpis(self, run_id: str) -> Rows[KpiRow]:
        """Return the KPIs of a run."""
        return self._rows_of("kpis", run_id, kpi_row)

    def accounts(self, run_id: str) -> Rows[AccountRow]:
        """Return the borrowing accounts of a run after its last step."""
        return self._rows_of("accounts", run_id, account_row)

    def sql(
        self, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None
    ) -> Rows[dict[str, Any]]:
        """Run a SELECT over `runs`, `actions`, `market_snapshots`, `kpis` and `accounts`, unmerged rows included."""
        text = query.lower()
        return Rows(self.path, query, dict, parameters, tables=[table for table in TABLES if table in text] or TABLES)

    def digest(self, run_id: str) -> str:
        """Recompute the digest from stored rows; equals `run(run_id).digest` if no row was lost or changed."""
        run_id = self.resolve(run_id)
        digest = RowsDigest()
        with reading(self.path) as connection:
            rows: list[tuple[int, Row]] = []
            for table, make in MADE.items():
                answer = connection.execute(f"SELECT * FROM {table} WHERE run_id = {literal(run_id)}")
                names = [column[0] for column in answer.description or ()]
                for values in answer.fetchall():
                    row = dict(zip(names, values, strict=True))
                    rows.append((row["seq"], make(row)))
        digest.add(row for _, row in sorted(rows, key=lambda each: each[0]))
        return digest.hexdigest()

    def remove(self, *run_ids: str) -> list[str]:
        """Remove runs with all their rows and return the full ids; raise `StoreError` for a running run."""
        statuses = dict(self.sql("SELECT run_id, status FROM runs").fetchall())
        found = [resolve(each, list(statuses)) for each in run_ids]
        running = [run_id for run_id in found if statuses[run_id] == "running"]
        if running:
            raise StoreError(f"run '{running[0]}' is still running", "end it first")
        folder = SegmentFolder(self.path)
        for run_id in found:
            folder.mark_removed(run_id)
        self.merge()
        return found

    def export(
        self,
        run_id: str | Sequence[str] | None,
        folder: str | Path,
        format: str = "parquet",
        *,
        overwrite: bool = False,
    ) -> list[Path]:
        """Write one run, several, or all (None) to `folder`: one file per table, as `parquet` or `csv`."""
        known = [str(each) for (each,) in self.sql("SELECT run_id FROM runs").fetchall()]
        named = known if run_id is None else [run_id] if isinstance(run_id, str) else run_id
        found = [resolve(each, known) for each in named]
        return export_runs(self.path, found, Path(folder), format, overwrite=overwrite)

    def diff(self, a: str, b: str) -> RunDiff:
        """Compare two runs: settings, KPIs, and the first differing row."""
        return compare(self, a, b)

    def explain(self, run_id: str, agent: str) -> Explanation:
        """Explain what an agent did in a run, what others did to it, and why it was liquidated."""
        return explain(self, run_id, agent)

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever stored here."""
        return not (self.path.exists() or SegmentFolder(self.path).root.exists())

    def save_sweep(self, sweep: SweepRecord, *, merge: bool = True) -> None:
        """Store a sweep, replacing one with the same id. Without `merge` it waits in a segment; readers see it."""
        folder = SegmentFolder(self.path)
        refuse_unusable(self.path)
        folder.create()
        moment = time.time_ns()
        values: list[Value] = [
            check_id(sweep.sweep_id),
            sweep.scenario,
            sweep.scenario_text,
            _json(sweep.plan),
            sweep.status,
            _json(sweep.summary),
            _json(sweep.versions),
            _micros(sweep.started_at),
            moment // 1000,
        ]
        folder.forget_removed([sweep.sweep_id])
        folder.write(sweep.sweep_id, moment, {"sweeps": [[value] for value in values]})
        if merge:
            self.merge()

    def sweeps(self) -> Rows[SweepRecord]:
        """Return all sweeps, newest first."""
        query = "SELECT * FROM sweeps ORDER BY started_at DESC, sweep_id"
        return Rows(self.path, query, sweep_record, tables=["sweeps"])

    def sweep(self, sweep_id: str) -> SweepRecord:
        """Return one sweep, by its id, a unique part of it, or `latest`."""
        known = {sweep.sweep_id: sweep for sweep in self.sweeps()}
        if sweep_id == LATEST and known:
            return next(iter(known.values()))
        return known[resolve(sweep_id, list(known), "sweep")]

    def remove_sweep(self, sweep_id: str) -> list[str]:
        """Remove a sweep and all its runs; return the ids of the runs."""
        sweep = self.sweep(sweep_id)
        gone = self.remove(*(run.run_id for run in self.runs(sweep_id=sweep.sweep_id)))
        SegmentFolder(self.path).mark_removed(sweep.sweep_id)
        self.merge()
        return gone

    def merge(self, patience_s: float = 0.25) -> Merged:
        """Move segments into the database, if no other process holds it for longer than `patience_s`."""
        return merge(self.path, patience_s=patience_s)

    def recorder(self, **options: Any) -> SegmentRecorder:
        """Return a `SegmentRecorder` for this store; `options` are passed to it."""
        return SegmentRecorder(self.path, **options)

    def __repr__(self) -> str:
        return f"<Store {self.path}>"

    def _rows_of(self, table: str, run_id: str, make: Any) -> Rows[Any]:
        named = literal(self.resolve(run_id))
        return Rows(self.path, f"SELECT * FROM {table} WHERE run_id = {named} ORDER BY seq", make, tables=[table])


def run_record(row: Mapping[str, Any]) -> RunRecord:
    """Convert a row of `runs`."""
    values = dict(row)
    for name in ("versions", "timings", "specialise"):
        values[name] = json.loads(row[name])
    values["started_at"] = row["started_at"].replace(tzinfo=UTC)
    return RunRecord(**{name: values[name] for name in RunRecord.__dataclass_fields__})


def sweep_record(row: Mapping[str, Any]) -> SweepRecord:
    """Convert a row of `sweeps`."""
    values = dict(row)
    for name in ("plan", "summary", "versions"):
        values[name] = json.loads(row[name])
    for name in ("started_at", "updated_at"):
        values[name] = row[name].replace(tzinfo=UTC)
    return SweepRecord(**{name: values[name] for name in SweepRecord.__dataclass_fields__})


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)
