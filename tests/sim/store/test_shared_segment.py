"""Runs that are written together: in one segment, each a run of its own for every reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import StoreError
from mayavi.sim.store import Store
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.views import reading
from mayavi.sim.store.shared_segment import SharedSegment
from tests.sim.store.sample_runs import store_run


def write_together(path: Path, runs: int) -> list[str]:
    """Write runs as a sweep does."""
    with SharedSegment(path) as together:
        ids = [store_run(path, options={"merge": False, "together": together}).run_id for _ in range(runs)]
        assert {run.status for run in Store(path).runs()} == {"running"}
    return ids


@pytest.mark.slow(0.7)
def test_runs_that_end_together_are_one_segment_and_runs_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    ids = write_together(path, 3)
    (segment,) = SegmentFolder(path).segments()
    assert segment.run_ids == tuple(ids)
    for _ in range(2):  # before and after the merge
        store = Store(path)
        assert {run.run_id: run.status for run in store.runs()} == dict.fromkeys(ids, "finished")
        assert all(store.digest(run.run_id) == run.digest for run in store.runs())
        store.merge()
    assert SegmentFolder(path).segments() == []


def test_a_run_is_removed_from_a_segment_without_the_others(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    ids = write_together(path, 2)
    SegmentFolder(path).mark_removed(ids[0])
    for _ in range(2):
        with reading(path) as connection:
            for table in ("runs", "actions", "kpis"):
                assert connection.execute(f"SELECT DISTINCT run_id FROM {table}").fetchall() == [(ids[1],)]
        Store(path).merge()


def test_a_process_that_dies_before_its_live_runs_are_closed_ends_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.duckdb"
    monkeypatch.setattr(SegmentFolder, "close_live", lambda *_: None)
    ids = write_together(path, 2)
    monkeypatch.undo()
    for _ in range(2):
        assert sorted((run.run_id, run.status) for run in Store(path).runs()) == [(each, "finished") for each in ids]
        Store(path).merge()
    assert SegmentFolder(path).live_runs() == []


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_cannot_be_written_is_an_error_and_keeps_no_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    before = descriptors()
    together = SharedSegment(path)
    store_run(path, options={"merge": False, "together": together})
    (tmp_path / "runs.duckdb.segments" / "rows").rmdir()
    with pytest.raises(StoreError, match="cannot write to"):
        together.write()
    assert descriptors() == before
    assert [run.status for run in Store(path).runs()] == ["interrupted"]
