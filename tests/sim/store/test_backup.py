"""A backup is one database with every ended run, taken while others are written."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from mayavi.errors import UsageError
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.backup import back_up_store
from tests.sim.store.sample_runs import actions_of, info_of, snapshots_of, store_run


@pytest.mark.slow(0.4)
def test_merged_and_waiting_runs_are_copied_with_their_digests(tmp_path: Path) -> None:
    path, copy = tmp_path / "runs.duckdb", tmp_path / "backup" / "runs.duckdb"
    merged = store_run(path, steps=2).run_id
    with duckdb.connect(path):  # a shell that keeps every merge out
        waiting = store_run(path, steps=3).run_id
        assert back_up_store(path, copy) == 2
    assert [each.name for each in copy.parent.iterdir()] == ["runs.duckdb"]
    store = Store(copy)
    assert {run.run_id for run in store.runs()} == {merged, waiting}
    for run_id in (merged, waiting):
        assert store.digest(run_id) == Store(path).run(run_id).digest
    assert not (tmp_path / "backup" / "runs.duckdb.segments").exists()


def test_a_run_that_goes_on_is_left_out_with_its_rows(tmp_path: Path) -> None:
    path, copy = tmp_path / "runs.duckdb", tmp_path / "copy.duckdb"
    ended = store_run(path, steps=1).run_id
    recorder = SegmentRecorder(path, flush_rows=1)
    recorder.begin(info_of())
    recorder.record(actions_of(0), snapshots_of(0))
    assert len(Store(path).runs().records()) == 2
    assert back_up_store(path, copy) == 1
    owners = Store(copy).sql("SELECT DISTINCT run_id FROM actions").fetchall()
    assert owners == [(ended,)]


def test_an_existing_file_stays(tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_text("precious")
    with pytest.raises(UsageError, match="is there already"):
        back_up_store(tmp_path / "runs.duckdb", copy)
    assert copy.read_text() == "precious"


def test_an_empty_store_has_an_empty_backup(tmp_path: Path) -> None:
    assert back_up_store(tmp_path / "nothing.duckdb", tmp_path / "copy.duckdb") == 0
    assert Store(tmp_path / "copy.duckdb").runs().records() == []
