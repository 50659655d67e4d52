"""Store of runs: a DuckDB database, segment files beside it, and one view over both.

`SegmentRecorder` writes a run, `Store` reads what was written, `new_run_id` names a run.
"""

from __future__ import annotations

from mayavi.runs.run_id import new_run_id as new_run_id
from mayavi.sim.store.location import store_path as store_path
from mayavi.sim.store.recorder import SegmentRecorder as SegmentRecorder
from mayavi.sim.store.relation import Rows as Rows
from mayavi.sim.store.store import RunRecord as RunRecord
from mayavi.sim.store.store import Store as Store
from mayavi.sim.store.store import SweepRecord as SweepRecord

__all__ = ["Rows", "RunRecord", "SegmentRecorder", "Store", "SweepRecord", "new_run_id", "store_path"]
