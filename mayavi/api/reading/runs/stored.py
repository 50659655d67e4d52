"""Read from the store what has changed of its runs and sweeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from mayavi.api.queue.stored_runs import COLUMNS, STATE, FoundRuns, StoredRun, read_runs
from mayavi.sim.store.database.views import reading

StoredSweep = tuple[str, str, int, str, datetime, datetime]
"""Id, scenario, number of runs, status, start and last change."""

_FEW = 64
"""Changed runs up to which details are read along with what lists need."""
_SWEEPS = "SELECT sweep_id, scenario, plan, status, started_at, updated_at FROM sweeps"


@dataclass(frozen=True, slots=True)
class StoreContents:
    """New and changed runs, the ids of all, and all sweeps."""

    found: FoundRuns
    run_ids: frozenset[str]
    sweeps: dict[str, StoredSweep] = field(default_factory=dict)


def read_contents(path: Path, known: Mapping[str, StoredRun]) -> StoreContents:
    """Return all that has changed in the store since `known` was read."""
    with reading(path) as connection:
        states = connection.execute(f"SELECT {', '.join(COLUMNS[:STATE])} FROM runs").fetchall()
        wanted = [each[0] for each in states if known.get(each[0], ())[:STATE] != each]
        found = read_runs(connection, wanted if len(wanted) <= _FEW else None) if wanted else FoundRuns()
        rows = connection.execute(_SWEEPS).fetchall()
    changed = set(wanted)
    runs = {run_id: run for run_id, run in found.runs.items() if run_id in changed}
    sweeps = {each[0]: (each[0], each[1], _planned(each[2]), *each[3:]) for each in rows}
    return StoreContents(FoundRuns(runs, found.whole), frozenset(each[0] for each in states), sweeps)


def _planned(plan: str) -> int:
    """Number of runs of a stored plan."""
    found = json.loads(plan)
    points, seeds = found.get("points"), found.get("seeds")
    return len(points) * len(seeds) if isinstance(points, list) and isinstance(seeds, list) else 0
