"""Databases of earlier versions go on being used; those of later ones are left alone."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from mayavi.errors import StoreFutureVersion, StoreUnreadable
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.database import opening, schema, segments, views
from tests.sim.store.database.earlier_versions import EARLIER, RUN, make_database, make_segment
from tests.sim.store.processes import open_shell
from tests.sim.store.sample_runs import info_of, store_run


def check_the_run(store: Store) -> None:
    run = store.run(RUN)
    assert (run.seed, run.status, run.digest, run.seconds) == (2**64 - 1, "finished", "the digest", 2.5)
    assert run.started_at.isoformat() == "2025-01-01T00:00:00.000001+00:00"
    first, second = store.actions(RUN)
    assert (first.fee_wei, second.status) == (str(2**256 - 1), "failed")
    fees = store.sql(f"SELECT fee_wei_number FROM actions WHERE run_id = '{RUN}' ORDER BY seq").fetchall()
    assert fees == [(float(2**256 - 1),), (7.0,)]
    assert [row.value for row in store.snapshots(RUN)] == ["9" * 20]
    assert [row.name for row in store.kpis(RUN)] == ["bad_debt"]
    assert list(store.sweeps()) == []


def version_in(path: Path) -> int:
    with duckdb.connect(path, read_only=True) as connection:
        return connection.execute("SELECT version FROM mayavi_schema").fetchall()[0][0]


def add_a_colour_to_every_table(monkeypatch: pytest.MonkeyPatch) -> int:
    """The next version of the schema, as somebody might write it."""
    following = schema.VERSION + 1
    for module in (schema, segments, views, opening):
        monkeypatch.setattr(module, "VERSION", following)
    monkeypatch.setitem(schema.ADDED, following, {table: {"colour": "'grey'"} for table in schema.TABLES})
    for table, columns in schema.TABLES.items():
        monkeypatch.setitem(schema.TABLES, table, {**columns, "colour": "text"})
    return following


def test_every_earlier_version_is_among_the_fixtures() -> None:
    assert set(EARLIER) == set(range(1, schema.VERSION))


@pytest.mark.slow(1)
@pytest.mark.parametrize("version", EARLIER)
def test_a_database_of_an_earlier_version_is_read_as_it_is_and_migrated_by_the_next_run(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "runs.duckdb"
    make_database(path, version)
    content = path.read_bytes()
    store = Store(path)
    check_the_run(store)
    assert path.read_bytes() == content
    info = store_run(path)
    assert version_in(path) == schema.VERSION
    check_the_run(store)
    run = store.run(RUN)
    assert (run.steps_done, run.action_count, run.failed_count, run.raised_count, run.snapshot_count) == (2, 2, 1, 0, 1)
    assert store.run(info.run_id).action_count == 12


@pytest.mark.parametrize("version", EARLIER)
def test_a_migrated_database_is_like_one_made_new(tmp_path: Path, version: int) -> None:
    old, new = tmp_path / "old.duckdb", tmp_path / "new.duckdb"
    make_database(old, version)
    for path in (old, new):
        store_run(path)
    described = []
    for path in (old, new):
        with duckdb.connect(path, read_only=True) as connection:
            query = "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() WHERE NOT internal"
            described.append(sorted(connection.execute(query).fetchall()))
    assert described[0] == described[1]
    assert {row[0] for row in described[0]} >= set(schema.TABLES)


@pytest.mark.slow(1)
@pytest.mark.parametrize("version", EARLIER)
def test_an_earlier_version_is_read_while_a_shell_holds_it(tmp_path: Path, version: int) -> None:
    path = tmp_path / "runs.duckdb"
    make_database(path, version)
    with open_shell(path):
        info = store_run(path)
        check_the_run(Store(path))
        assert Store(path).run(info.run_id).action_count == 12
    assert version_in(path) == version
    Store(path).merge()
    assert version_in(path) == schema.VERSION
    check_the_run(Store(path))


@pytest.mark.slow(1)
@pytest.mark.parametrize("version", EARLIER)
def test_segments_of_an_earlier_version_are_read_and_merged(tmp_path: Path, version: int) -> None:
    path = tmp_path / "runs.duckdb"
    make_segment(path, version)
    check_the_run(Store(path))
    info = store_run(path)
    assert segments.SegmentFolder(path).segments() == []
    check_the_run(Store(path))
    assert Store(path).run(info.run_id).action_count == 12


@pytest.mark.slow(0.5)
def test_a_migration_reaches_every_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.duckdb"
    info = store_run(path)
    with open_shell(path):
        waiting = store_run(path)
        following = add_a_colour_to_every_table(monkeypatch)
        store = Store(path)
        assert {run.run_id for run in store.runs()} == {info.run_id, waiting.run_id}
    assert store.merge().segments == 1
    assert version_in(path) == following
    for table, rows in {"runs": 2, "actions": 24, "market_snapshots": 16, "kpis": 4}.items():
        assert store.sql(f"SELECT count(*), any_value(colour) FROM {table}").fetchall() == [(rows, "grey")]
    assert store.sql("SELECT colour FROM sweeps").fetchall() == []


@pytest.mark.slow(2)
@pytest.mark.parametrize("version", EARLIER)
def test_migrations_follow_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    path = tmp_path / "runs.duckdb"
    make_database(path, version)
    add_a_colour_to_every_table(monkeypatch)
    make_segment(tmp_path / "other.duckdb", version)
    for each in (path, tmp_path / "other.duckdb"):
        store = Store(each)
        check_the_run(store)
        store.merge()
        for table in ("runs", "actions", "market_snapshots", "kpis"):
            assert store.sql(f"SELECT DISTINCT colour FROM {table}").fetchall() == [("grey",)]
        assert store.sql("SELECT colour FROM sweeps").columns == ["colour"]


@pytest.mark.slow(1)
def test_a_migration_that_fails_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.duckdb"
    make_database(path, 1)
    monkeypatch.setitem(schema.ADDED[2], "actions", {"fee_wei_number": "error('no')"})
    store_run(path)
    assert version_in(path) == 1
    monkeypatch.undo()
    assert len(Store(path).runs()) == 2
    check_the_run(Store(path))


def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path)
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE mayavi_schema SET version = 99")
    content = path.read_bytes()
    for refused in (lambda: SegmentRecorder(path).begin(info_of()), lambda: list(Store(path).runs())):
        with pytest.raises(
            StoreFutureVersion, match="has schema version 99, this mayavi knows versions up to"
        ) as caught:
            refused()
        assert "newer mayavi" in (caught.value.hint or "")
    assert path.read_bytes() == content
    assert segments.SegmentFolder(path).live_runs() == []


def test_a_segment_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    (tmp_path / "runs.duckdb.segments" / "rows" / "20250101-000000000-aaaaaaaa.000000.v99").mkdir(parents=True)
    with pytest.raises(StoreFutureVersion, match="v99' has schema version 99"):
        list(Store(path).runs())


def garbage(path: Path) -> None:
    path.write_bytes(b"no database at all" * 1000)


def empty(path: Path) -> None:
    path.touch()


def truncated(path: Path) -> None:
    store_run(path)
    path.write_bytes(path.read_bytes()[:9000])


def damaged(path: Path) -> None:
    store_run(path)
    content = bytearray(path.read_bytes())
    content[4096:12288] = bytes(8192)  # both places where DuckDB says where everything is
    path.write_bytes(content)


def foreign(path: Path) -> None:
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name VARCHAR)")


def folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (garbage, "is not a DuckDB database"),
        (empty, "is not a DuckDB database"),
        (truncated, "cannot open"),
        (damaged, "cannot open"),
        (foreign, "holds no runs of mayavi"),
        (folder, "is a folder"),
    ],
)
def test_what_is_no_database_of_runs_is_refused_before_a_run_starts(tmp_path: Path, make, words: str) -> None:
    path = tmp_path / "runs.duckdb"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for refused in (lambda: SegmentRecorder(path).begin(info_of()), lambda: list(Store(path).runs())):
        with pytest.raises(StoreUnreadable, match=words) as caught:
            refused()
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.hint
    assert before == (path.read_bytes() if path.is_file() else None)


@pytest.mark.slow(0.5)
def test_an_empty_database_that_a_shell_made_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    with open_shell(path):
        info = store_run(path)
        assert Store(path).run(info.run_id).status == "finished"
    Store(path).merge()
    assert version_in(path) == schema.VERSION


@pytest.mark.slow(0.5)
def test_a_damaged_segment_is_named_and_everything_else_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path)
    with open_shell(path):
        lost = store_run(path)
    (segment,) = segments.SegmentFolder(path).segments()
    segment.file("actions").write_bytes(segment.file("actions").read_bytes()[:100])
    with pytest.raises(StoreUnreadable, match="is damaged: rows of run") as caught:
        list(Store(path).actions(lost.run_id))
    assert str(segment.folder) in (caught.value.hint or "")
    third = store_run(path)
    with duckdb.connect(path, read_only=True) as connection:
        assert (third.run_id,) in connection.execute("SELECT run_id FROM runs").fetchall()
    assert [each.run_id for each in segments.SegmentFolder(path).segments()] == [lost.run_id]


def test_a_database_that_was_replaced_since_the_last_merge_is_looked_at_again(tmp_path: Path) -> None:
    path, newer = tmp_path / "runs.duckdb", tmp_path / "newer.duckdb"
    for each in (path, newer):
        store_run(each)
    with duckdb.connect(newer) as connection:
        connection.execute("UPDATE mayavi_schema SET version = 99")
    SegmentRecorder(path).begin(info_of())
    newer.replace(path)
    with pytest.raises(StoreFutureVersion):
        SegmentRecorder(path).begin(info_of())
