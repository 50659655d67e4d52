"""Runs written row by row, for pages of runs that no scenario makes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from mayavi.sim.rows import AccountRow, ActionRow, KpiRow, RunCounts, RunEnd, RunInfo, RunStatus, SnapshotRow
from mayavi.sim.store import SegmentRecorder, Store, new_run_id

GENESIS = 1_700_000_000


def action(step: int, kind: str = "trade", status: str = "success", **details: str) -> ActionRow:
    """An action of the agent `alice`."""
    return ActionRow(
        step=step,
        block="b",
        position=0,
        agent="alice",
        account="alice",
        kind=kind,
        status=status,  # type: ignore[arg-type]
        reason="" if status == "success" else "the pool pays 0.5, and nothing is sold below 0.75",
        transactions=1,
        gas_used=21_000,
        fee_wei="0",
        block_number=100 + step,
        timestamp=GENESIS + 12 * step,
        details=json.dumps(details, sort_keys=True),
    )


def figure(step: int, subject: str, metric: str, number: float, unit: str = "usd_e8") -> SnapshotRow:
    """A market figure after a step."""
    return SnapshotRow(step, 100 + step, GENESIS + 12 * step, subject, metric, "1", number, unit)


def stored(
    path: Path,
    actions: Sequence[ActionRow] = (),
    figures: Iterable[SnapshotRow] = (),
    kpis: Sequence[KpiRow] = (),
    accounts: Sequence[AccountRow] = (),
    *,
    scenario: str = "own",
    text: str = "name: own\n",
    status: RunStatus = "finished",
    error: str = "",
    steps: int = 4,
) -> tuple[Store, str]:
    """Store a run; return the store and the id."""
    run_id = new_run_id()
    info = RunInfo(run_id, scenario, text, 0, steps, "ethereum", "replica", "ab" * 32, {"mayavi": "0"}, GENESIS)
    recorder = SegmentRecorder(path)
    recorder.begin(info)
    recorder.record(list(actions), list(figures))
    failed = sum(row.status == "failed" for row in actions)
    done = 1 + max((row.step for row in actions), default=-1)
    counts = RunCounts(done, len(actions), failed, 0, 0)
    recorder.end(RunEnd(status, "cd" * 32, tuple(kpis), "ef" * 32, {"total": 1.0}, error, counts, tuple(accounts)))
    return Store(path), run_id
