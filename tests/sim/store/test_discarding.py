"""A run that did not end can be recorded again under its id, and then has its rows once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mayavi.errors import StoreError
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.database.merging import merge
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.discarding import discard_run, hide_run, run_status
from tests.sim.store.sample_runs import actions_of, info_of, snapshots_of, store_run


def half_a_run(path: Path, run_id: str) -> None:
    recorder = SegmentRecorder(path, flush_rows=1)
    recorder.begin(info_of(run_id))
    recorder.record(actions_of(0, 5), snapshots_of(0))
    recorder.close()


@pytest.mark.slow(0.4)
@pytest.mark.parametrize("where", ["in segments", "in the database", "in both"])
def test_a_run_recorded_again_has_the_rows_of_the_second_attempt_alone(tmp_path: Path, where: str) -> None:
    path, run_id = tmp_path / "runs.duckdb", "a-run"
    half_a_run(path, run_id)
    shutil.copytree(SegmentFolder(path).rows, tmp_path / "rows")
    if where != "in segments":
        merge(path)
    if where == "in both":  # the merging process died before it deleted the segments
        shutil.copytree(tmp_path / "rows", SegmentFolder(path).rows, dirs_exist_ok=True)
    assert run_status(path, run_id) == ("interrupted", "")
    discard_run(path, run_id)
    assert run_status(path, run_id) is None
    info = store_run(path, run_id=run_id, options={"first_segment": 1_000_000})
    store = Store(path)
    store.merge()
    assert [run.status for run in store.runs()] == ["finished"]
    assert store.digest(info.run_id) == store.run(run_id).digest
    assert list(store.actions(run_id)) == [row for step in range(4) for row in actions_of(step)]


def test_a_run_that_nobody_recorded_is_discarded_without_trace(tmp_path: Path) -> None:
    discard_run(tmp_path / "runs.duckdb", "never")
    assert SegmentFolder(tmp_path / "runs.duckdb").removed_runs() == []
    assert list(Store(tmp_path / "runs.duckdb").runs()) == []


def test_a_run_that_is_recorded_now_is_not_discarded(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    with SegmentRecorder(path) as recorder:
        recorder.begin(info_of("a-run"))
        with pytest.raises(StoreError, match="still running"):
            discard_run(path, "a-run")


def test_what_a_process_left_while_it_began_a_run_does_not_hinder_the_next(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    folder = SegmentFolder(path)
    folder.create()
    (folder.live / ".a-run.123").write_text("{")
    discard_run(path, "a-run")
    assert list(folder.live.iterdir()) == []


def test_a_store_that_others_read_all_the_time_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    half_a_run(path, "a-run")
    with SegmentFolder(path).shared(), pytest.raises(StoreError, match="cannot be discarded: others are reading"):
        discard_run(path, "a-run", patience_s=0.01)


def test_a_hidden_run_is_in_no_listing_and_gone_after_the_next_merge(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path, run_id="a-run")
    hide_run(path, "a-run")
    assert list(Store(path).runs()) == []
    merge(path)
    assert SegmentFolder(path).removed_runs() == []
    assert list(Store(path).runs()) == []
