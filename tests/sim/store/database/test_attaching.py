"""Databases attached to the instance that stays: shared by readers, let go after the last, never shared by forks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from mayavi.sim.store import Store
from mayavi.sim.store.database.attaching import OpenElsewhere, attached
from tests.sim.store.sample_runs import store_run

OPEN_TO_WRITE = "import duckdb, sys; duckdb.connect(sys.argv[1]).close()"


def others_may_write(path: Path) -> bool:
    done = subprocess.run([sys.executable, "-c", OPEN_TO_WRITE, str(path)], capture_output=True, text=True, check=False)
    assert not done.returncode or "Could not set lock" in done.stderr
    return not done.returncode


@pytest.mark.slow(0.4)
def test_readers_share_a_database_that_others_may_write_after_the_last(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("runs.duckdb", 'it\'s "memory".duckdb')]
    ids = [store_run(path).run_id for path in paths]
    with attached(paths[0]) as one, attached(paths[1]) as other:
        with attached(paths[0]) as again:
            again.execute("CREATE TEMP VIEW mine AS SELECT 1")
            assert again.execute("SELECT run_id FROM runs").fetchall() == [(ids[0],)]
        assert one.execute("SELECT run_id FROM runs").fetchall() == [(ids[0],)]
        assert other.execute("SELECT run_id FROM runs").fetchall() == [(ids[1],)]
        with pytest.raises(duckdb.CatalogException):
            one.execute("FROM mine")
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            one.execute("DELETE FROM runs")
        assert not others_may_write(paths[0])
    assert others_may_write(paths[0])


@pytest.mark.slow(0.3)
def test_what_this_process_writes_to_is_not_attached_and_stays_locked(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    run_id = store_run(path).run_id
    with duckdb.connect(str(path)):
        with pytest.raises(OpenElsewhere), attached(path):
            pass
        assert [run.run_id for run in Store(path).runs()] == [run_id]
        assert not others_may_write(path)
    with attached(path) as connection:
        assert connection.execute("SELECT run_id FROM runs").fetchall() == [(run_id,)]


def test_a_fork_attaches_anew(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path)
    with attached(path):
        child = os.fork()
        if not child:
            try:
                os._exit(len(Store(path).runs()))
            finally:
                os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_an_empty_database_beside_one_with_runs_has_none(tmp_path: Path) -> None:
    store_run(tmp_path / "runs.duckdb")
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    with attached(tmp_path / "runs.duckdb"):
        assert list(Store(tmp_path / "empty.duckdb").runs()) == []
