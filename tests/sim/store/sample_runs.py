"""Runs made of rows that no simulation computed, with everything that could go wrong on the way to a disk and back."""

from __future__ import annotations

import time
from pathlib import Path

from mayavi.sim.rows import ActionRow, KpiRow, RunCounts, RunEnd, RunInfo, SnapshotRow, canonical
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.store import SegmentRecorder, new_run_id

MAX = 2**256 - 1


LIQUIDATION = {
    "borrower": "borrower-1",
    "borrower_health_factor_wad": 98 * 10**16,
    "borrower_health_factor_after_wad": 105 * 10**16,
    "collateral": "WETH",
    "debt": "USDC",
    "covered": 1_700_000_000,
    "seized": 10**18,
}


def info_of(run_id: str | None = None, **changes) -> RunInfo:
    values = {
        "run_id": run_id or new_run_id(),
        "scenario": "depeg_cascade",
        "scenario_text": "name: depeg_cascade\nchain: base\n",
        "seed": 7,
        "steps": 4,
        "chain": "base",
        "source": "replica",
        "world_digest": "ab" * 32,
        "versions": {"mayavi": "0.1.0", "kernel": "0.1.0"},
        "started_at": time.time(),
    }
    return RunInfo(**values | changes)


def actions_of(step: int, count: int = 3) -> list[ActionRow]:
    return [
        ActionRow(
            step=step,
            block="borrowers",
            position=position,
            agent=f"borrower-{position % 5}",
            account=f"borrower-{position % 5}",
            kind=("repay", "borrow", "liquidate")[position % 3],
            status="failed" if position == 1 else "success",
            reason="health factor below 1: '35'\n«ünïcode»" if position == 1 else "",
            transactions=2,
            gas_used=212_345 + step,
            fee_wei=str(10**30 + position),
            block_number=19_000_000 + step,
            timestamp=1_700_000_000 + 12 * step,
            details=canonical({"amount_wei": MAX - step, "note": 'a "quote", a comma', **LIQUIDATION}),
        )
        for position in range(count)
    ]


def snapshots_of(step: int) -> list[SnapshotRow]:
    return [
        SnapshotRow(
            step, 19_000_000 + step, 1_700_000_000 + 12 * step, "AaveV3.USDC", "utilisation", str(MAX), 0.5, "ray"
        ),
        SnapshotRow(
            step,
            19_000_000 + step,
            1_700_000_000 + 12 * step,
            "borrower-1",
            "health_factor",
            str(10**18 + step),
            1.1,
            "wad",
        ),
    ]


KPIS = (KpiRow("bad_debt", str(MAX), float(MAX), "usd_e8"), KpiRow("liquidations", "12", 12.0, "count"))


def store_run(
    path: Path, *, steps: int = 4, count: int = 3, finish: bool = True, options: dict | None = None, **changes
) -> RunInfo:
    """A whole run, with the digest a runner would give it; without `finish` it stops where it is."""
    info = info_of(steps=steps, **changes)
    digest = RowsDigest()
    with SegmentRecorder(path, **options or {}) as recorder:
        recorder.begin(info)
        for step in range(steps):
            rows = actions_of(step, count), snapshots_of(step)
            for each in rows:
                digest.add(each)
            recorder.record(*rows)
        if finish:
            digest.add(KPIS)
            timings = {"total": 1.5, "kernel": 1.0}
            counts = RunCounts(steps, steps * count, steps if count > 1 else 0, 0, 2 * steps)
            recorder.end(RunEnd("finished", digest.hexdigest(), KPIS, "cd" * 32, timings, counts=counts))
    return info
