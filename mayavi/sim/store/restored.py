"""A temporary store with one run from a bundle: the same rows, under a fixed id and without times."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mayavi.sim.rows import AccountRow, ActionRow, KpiRow, Row, RunCounts, RunEnd, RunInfo, RunStatus, SnapshotRow
from mayavi.sim.store.database.row_conversion import MADE
from mayavi.sim.store.recorder import SegmentRecorder

if TYPE_CHECKING:
    from mayavi.sim.store.artifact import BundledRun
    from mayavi.sim.store.store import Store

RUN_ID = "RUN"
"""Id of the run in its temporary store, the same for every bundle."""

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows of each table by column name."""


@contextmanager
def restored(run: BundledRun, tables: Tables) -> Iterator[Store]:
    """Yield a store that holds the run as `RUN_ID`, until the context ends."""
    from mayavi.sim.store.store import Store

    with tempfile.TemporaryDirectory(prefix="mayavi-restored-") as folder:
        path = Path(folder) / "runs.duckdb"
        _write(path, run, tables)
        yield Store(path)


def _write(path: Path, run: BundledRun, tables: Tables) -> None:
    rows: list[tuple[int, Row]] = sorted(
        ((row["seq"], MADE[table](row)) for table, found in tables.items() for row in found), key=lambda each: each[0]
    )
    with SegmentRecorder(path) as recorder:
        recorder.begin(
            RunInfo(
                RUN_ID, run.scenario, run.scenario_text, run.seed, run.steps, run.chain, run.source, run.world_digest,
                run.versions, 0.0,
            )
        )  # fmt: skip
        steps = [row for _, row in rows if isinstance(row, ActionRow | SnapshotRow)]
        for _, group in groupby(steps, key=lambda row: row.step):
            found = list(group)
            recorder.record(
                [row for row in found if isinstance(row, ActionRow)],
                [row for row in found if isinstance(row, SnapshotRow)],
            )
        kinds = [row for row in steps if isinstance(row, ActionRow)]
        counts = RunCounts(
            steps_done=max((row.step + 1 for row in steps), default=0),
            actions=len(kinds),
            failed=sum(row.status == "failed" for row in kinds),
            raised=sum(row.status == "raised" for row in kinds),
            snapshots=len(steps) - len(kinds),
        )
        recorder.end(
            RunEnd(
                cast(RunStatus, run.status),
                run.digest,
                tuple(row for _, row in rows if isinstance(row, KpiRow)),
                run.final_world_digest,
                {},
                counts=counts,
                accounts=tuple(row for _, row in rows if isinstance(row, AccountRow)),
            )
        )
