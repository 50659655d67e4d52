"""`SegmentRecorder`: the recorder that writes a run to the DuckDB store."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Self

from mayavi.records.figures import SnapshotColumns
from mayavi.records.parquet import Table, Value
from mayavi.runs.run_id import check_id
from mayavi.runs.run_id import new_run_id as new_run_id
from mayavi.sim.rows import AccountRow, ActionRow, RunEnd, RunInfo, SnapshotRow
from mayavi.sim.snapshot_rows import FigureRows, SnapshotRows
from mayavi.sim.store.database.merging import Merged, merge
from mayavi.sim.store.database.opening import refuse_unusable
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.shared_segment import SharedSegment
from mayavi.sim.world_state import checked_seed


class SegmentRecorder:
    """Write the rows of one run, or of several sequential runs, to the store at `path`.

        with SegmentRecorder("data/runs/runs.duckdb") as recorder:
            Runner(world, scheduler, steps=100, recorder=recorder, info=info).run()

    Rows reach the disk every `flush_rows` rows or `flush_seconds` seconds, and at the end. Written rows survive a crash
    of the process, and a run without an end is `interrupted`. Raises `StoreFull` when no space is left and another
    `StoreError` when the store cannot be used; the constructor raises what it can detect. Segments are numbered from
    `first_segment`: to record a run again after `discard_run`, give a number never used for it. With `together`, the
    last rows of a run are written with those of other runs; until then the run counts as running.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        flush_rows: int = 50_000,
        flush_seconds: float = 5.0,
        merge_patience_s: float = 0.25,
        merge: bool = True,
        first_segment: int = 0,
        together: SharedSegment | None = None,
    ) -> None:
        self.path = Path(path)
        refuse_unusable(self.path)
        self.merged: Merged | None = None
        """Result of the merge at the end of the run: rows are in the database, or still in segments beside it."""
        self._folder = SegmentFolder(self.path)
        self._flush_rows, self._flush_seconds = flush_rows, flush_seconds
        self._merge_patience_s = merge_patience_s
        self._merges = merge
        self._together = together
        self._info: RunInfo | None = None
        self._live: int | None = None
        self._first_segment = first_segment
        self._segments = 0
        self._seq = 0
        self._actions: list[tuple[int, ActionRow]] = []
        self._snapshots = SnapshotColumns()
        self._flushed_at = 0.0

    def begin(self, info: RunInfo) -> None:
        """Start a run; readers of the store see it as `running` from here on."""
        if self._info is not None:
            raise RuntimeError(f"run '{self._info.run_id}' is not over")
        check_id(info.run_id)
        checked_seed(info.seed)
        self._segments, self._seq = self._first_segment, 0
        if self._together is not None:
            self._together.begin(info.run_id, _as_json(info))
        else:
            self._folder.create()
            self._live = self._folder.open_live(info.run_id, _as_json(info))
        if self._merges:  # import it in the background: it is slow, and needed at the end only
            threading.Thread(target=import_module, args=("_duckdb",)).start()
        self._info = info
        self._flushed_at = time.monotonic()

    def record(self, actions: list[ActionRow], snapshots: Sequence[SnapshotRow]) -> None:
        """Store the rows of one step."""
        self._actions += zip(range(self._seq, self._seq + len(actions)), actions, strict=True)
        self._seq += len(actions)
        self._add_snapshots(SnapshotRows.of(snapshots))
        waiting = len(self._actions) + len(self._snapshots)
        if waiting >= self._flush_rows or (waiting and time.monotonic() - self._flushed_at >= self._flush_seconds):
            self._write(self._pending())

    def _add_snapshots(self, rows: SnapshotRows) -> None:
        run_id = self._begun().run_id
        for part in rows.parts:
            if isinstance(part, FigureRows):
                self._snapshots.add(run_id, self._seq, part.moment, part.table.encoded)
            else:
                self._snapshots.add_rows(run_id, self._seq, part)
            self._seq += len(part)

    def end(self, end: RunEnd) -> None:
        """Finish the run: write its remaining rows, and merge them into the database if no other process holds it."""
        run = self._begun()
        tables = self._pending()
        if end.kpis:
            numbers: list[Value] = list(range(self._seq, self._seq + len(end.kpis)))
            self._seq += len(end.kpis)
            tables["kpis"] = [
                [run.run_id] * len(end.kpis),
                numbers,
                [kpi.name for kpi in end.kpis],
                [kpi.value for kpi in end.kpis],
                [kpi.number for kpi in end.kpis],
                [kpi.unit for kpi in end.kpis],
            ]
        if end.accounts:
            tables["accounts"] = [
                [run.run_id] * len(end.accounts),
                list(range(self._seq, self._seq + len(end.accounts))),
                *map(list, zip(*(_account_values(row) for row in end.accounts), strict=True)),
            ]
            self._seq += len(end.accounts)
        tables["runs"] = [[value] for value in run_row(run, end)]
        if self._together is not None:
            self._together.add(run.run_id, tables)
            self._info = None
            self._forget()
            return
        try:
            self._write(tables)
            self._folder.close_live(run.run_id)
        finally:
            self._info = None
            self._release()
        if self._merges:
            self.merged = merge(self.path, patience_s=self._merge_patience_s)

    def close(self) -> None:
        """Write the remaining rows and stop; a run without an end is then `interrupted`."""
        try:
            if self._info is not None and (self._actions or self._snapshots):
                self._write(self._pending())
        finally:
            self._info = None
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begun(self) -> RunInfo:
        if self._info is None:
            raise RuntimeError("the run has not begun, or is over")
        return self._info

    def _write(self, tables: dict[str, Table]) -> None:
        self._folder.write(self._begun().run_id, self._segments, tables)
        self._segments += 1
        self._forget()
        self._flushed_at = time.monotonic()

    def _forget(self) -> None:
        self._actions, self._snapshots = [], SnapshotColumns()

    def _pending(self) -> dict[str, Table]:
        """Return the rows not written yet, by table and column."""
        run_id = self._begun().run_id
        tables: dict[str, Table] = {}
        if self._actions:
            tables["actions"] = [
                [run_id] * len(self._actions),
                [seq for seq, _ in self._actions],
                *map(list, zip(*(_action_values(row) for _, row in self._actions), strict=True)),
            ]
        if self._snapshots:
            tables["market_snapshots"] = self._snapshots
        return tables

    def _release(self) -> None:
        if self._live is not None:
            os.close(self._live)
            self._live = None


def _action_values(row: ActionRow) -> tuple[Value, ...]:
    return (
        row.step,
        row.block,
        row.position,
        row.agent,
        row.account,
        row.kind,
        row.status,
        row.reason,
        row.transactions,
        row.gas_used,
        row.fee_wei,
        row.block_number,
        row.timestamp,
        row.details,
        float(row.fee_wei),
    )


def _account_values(row: AccountRow) -> tuple[Value, ...]:
    exact = (row.collateral, row.debt, row.liquidated, row.bad_debt)
    return (
        row.agent,
        row.account,
        row.market,
        row.unit,
        row.collateral,
        row.debt,
        row.health_factor,
        row.liquidations,
        row.liquidated,
        row.bad_debt,
        row.reason,
        *(int(value) / 10**8 for value in exact),
    )


def run_row(info: RunInfo, end: RunEnd) -> list[Value]:
    """Return the values of a run for the table `runs`."""
    counts = end.counts
    return [
        info.run_id,
        info.sweep_id or "",
        info.scenario,
        info.scenario_text,
        info.seed,
        info.steps,
        info.chain,
        info.source,
        info.world_digest,
        _json(info.versions),
        round(info.started_at * 1_000_000),
        end.status,
        end.digest,
        end.final_world_digest,
        _json(end.timings),
        end.error,
        float(end.timings.get("total", 0.0)),
        counts.steps_done,
        counts.actions,
        counts.failed,
        counts.raised,
        counts.snapshots,
        _json(end.specialise),
    ]


def _as_json(info: RunInfo) -> dict[str, object]:
    return {name: getattr(info, name) for name in RunInfo.__dataclass_fields__}


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
