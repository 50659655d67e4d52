from __future__ import annotations

from pathlib import Path

import duckdb

from mayavi.sim.store.database.opening import open_to_write
from tests.sim.store.sample_runs import store_run


def test_a_connection_of_this_process_keeps_no_run_from_being_merged(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    first = store_run(path)
    with duckdb.connect(str(path)) as notebook:  # with DuckDB's own settings
        second = store_run(path)
        found = notebook.execute("SELECT run_id FROM runs ORDER BY started_at").fetchall()
    assert [run_id for (run_id,) in found] == [first.run_id, second.run_id]


def test_a_small_merge_starts_one_thread_and_a_new_database_has_small_blocks(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    with open_to_write(path, small=True) as connection:
        assert connection.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
    with duckdb.connect(str(path)) as shell:
        assert shell.execute("SELECT block_size FROM pragma_database_size()").fetchall() == [(65_536,)]


def test_a_small_merge_tries_fewer_compression_methods_and_leaves_connections_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    query = "SELECT current_setting('disabled_compression_methods')"
    with open_to_write(path, small=True) as connection:
        ((left_out,),) = connection.execute(query).fetchall()
        assert {"fsst", "zstd"} <= set(left_out.lower().split(","))
    with open_to_write(path) as connection:
        assert connection.execute(query).fetchall() == [("",)]
    with duckdb.connect(str(path)) as notebook:
        store_run(path)
        assert notebook.execute(query).fetchall() == [("",)]


def test_a_database_with_other_blocks_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    duckdb.connect(str(path)).close()
    run = store_run(path)
    with duckdb.connect(str(path)) as shell:
        assert shell.execute("SELECT run_id FROM runs").fetchall() == [(run.run_id,)]
        assert shell.execute("SELECT block_size FROM pragma_database_size()").fetchall() == [(262_144,)]
