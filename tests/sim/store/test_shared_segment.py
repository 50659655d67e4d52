"""Runs that are written together: in one segment, each a run of its own for every reader."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mayavi.errors import StoreError
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.views import reading
from mayavi.sim.store.shared_segment import SharedSegment
from tests.sim.store.sample_runs import info_of, store_run


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
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
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


def begin_together(path: Path, runs: int, *, end: int) -> list[str]:
    """Begin runs as a sweep does, and end the first of them."""
    with SharedSegment(path) as together:
        ids = [store_run(path, options={"merge": False, "together": together}).run_id for _ in range(end)]
        for number in range(end, runs):
            ids.append(f"begun-{number}")
            SegmentRecorder(path, merge=False, together=together).begin(info_of(ids[-1]))
        assert {run.run_id for run in SegmentFolder(path).live_runs() if run.alive} == set(ids)
    return ids


def test_runs_of_one_process_are_noted_in_one_file_which_is_gone_when_all_have_ended(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    folder = SegmentFolder(path)
    with SharedSegment(path) as together:
        for number in range(3):
            store_run(path, options={"merge": False, "together": together})
            (note,) = folder.live.iterdir()
            assert len(note.read_text().splitlines()) == number + 1
    assert list(folder.live.iterdir()) == []


def test_a_run_that_does_not_end_is_interrupted_and_the_others_are_not(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    ids = begin_together(path, 4, end=2)
    for _ in range(2):  # before and after the merge
        statuses = {run.run_id: run.status for run in Store(path).runs()}
        assert statuses == dict.fromkeys(ids[:2], "finished") | dict.fromkeys(ids[2:], "interrupted")
        Store(path).merge()
    assert list(SegmentFolder(path).live.iterdir()) == []


def test_runs_of_a_dead_process_are_forgotten_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    folder = SegmentFolder(path)
    ids = begin_together(path, 3, end=0)
    first, *others = folder.live_runs()
    folder.end_dead([first])
    assert [run.run_id for run in folder.live_runs()] == ids[1:]
    folder.end_dead(others)
    assert list(folder.live.iterdir()) == []


def test_a_line_that_is_not_written_to_its_end_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    folder = SegmentFolder(path)
    ids = begin_together(path, 2, end=0)
    (note,) = folder.live.iterdir()
    with note.open("a") as file:
        file.write('{"run_id": "half')
    assert [run.run_id for run in folder.live_runs()] == ids
    note.write_text('{"run_id"\n')
    with pytest.raises(StoreError, match="is damaged"):
        folder.live_runs()


def test_a_run_that_begins_changes_the_time_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    folder = SegmentFolder(path)
    with SharedSegment(path) as together:
        store_run(path, options={"merge": False, "together": together})
        os.utime(folder.live, (1, 1))
        together.begin("second", {"run_id": "second"})
        assert folder.live.stat().st_mtime > 1
