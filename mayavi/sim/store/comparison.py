"""Compare two stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from mayavi.sim.rows import ActionRow, KpiRow, SnapshotRow, row_fields

if TYPE_CHECKING:
    from mayavi.sim.store.store import RunRecord, Store

Recorded = ActionRow | SnapshotRow

FIELDS = (
    "scenario",
    "seed",
    "steps",
    "chain",
    "source",
    "world_digest",
    "versions",
    "status",
    "steps_done",
    "action_count",
    "failed_count",
    "raised_count",
    "snapshot_count",
    "digest",
    "final_world_digest",
)


@dataclass(frozen=True, slots=True)
class RowDifference:
    """First differing row of two runs: its table, its place there, and the differing fields."""

    table: str
    place: int
    step: int
    before: Recorded | None
    after: Recorded | None
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Differences between two runs. `equal`: their rows are equal, bit for bit."""

    before: RunRecord
    after: RunRecord
    equal: bool
    fields: dict[str, tuple[object, object]]
    scenario_lines: list[str]
    """Unified diff of the scenario texts; empty if they are equal."""
    kpis: dict[str, tuple[KpiRow | None, KpiRow | None]]
    """KPIs that differ, or that only one run has."""
    first: RowDifference | None


def compare(store: Store, a: str, b: str) -> RunDiff:
    """Compare the runs `a` and `b` row by row."""
    before, after = store.run(a), store.run(b)
    fields = {
        name: (getattr(before, name), getattr(after, name))
        for name in FIELDS
        if getattr(before, name) != getattr(after, name)
    }
    left, right = ({row.name: row for row in store.kpis(run.run_id)} for run in (before, after))
    kpis = {
        name: (left.get(name), right.get(name))
        for name in [*left, *(each for each in right if each not in left)]
        if left.get(name) != right.get(name)
    }
    first = _first_difference(store, before.run_id, after.run_id)
    equal = first is None and not kpis
    return RunDiff(before, after, equal, fields, _text_diff(before, after), kpis, first)


def _text_diff(before: RunRecord, after: RunRecord) -> list[str]:
    from difflib import unified_diff

    left, right = before.scenario_text.splitlines(), after.scenario_text.splitlines()
    return list(unified_diff(left, right, before.run_id, after.run_id, lineterm="", n=1))


def _first_difference(store: Store, a: str, b: str) -> RowDifference | None:
    found: list[RowDifference] = []
    tables: dict[str, tuple[Sequence[Recorded], Sequence[Recorded]]] = {
        "actions": (store.actions(a).records(), store.actions(b).records()),
        "market_snapshots": (store.snapshots(a).records(), store.snapshots(b).records()),
    }
    for table, rows in tables.items():
        for place, (left, right) in enumerate(zip_longest(*rows)):
            if left != right:
                there: Recorded = left or right
                unequal = tuple(
                    name for name in row_fields(there) if getattr(left, name, None) != getattr(right, name, None)
                )
                found.append(RowDifference(table, place, there.step, left, right, unequal))
                break
    return min(found, key=lambda each: each.step, default=None)
