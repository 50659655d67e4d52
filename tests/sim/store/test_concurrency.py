"""Eight writers, a reader that never stops asking, a shell left open: nothing waits, is lost or counts twice."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest

from mayavi.sim.rows import RunEnd
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.database.merging import Merged
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.views import reading
from tests.sim.store.processes import open_shell, start_writer
from tests.sim.store.sample_runs import KPIS, actions_of, info_of, snapshots_of, store_run

COUNTS = "SELECT run_id, count(*) FROM {} GROUP BY run_id"


def everything(path: Path) -> dict[str, tuple[str, int, int, int]]:
    """Run → status and how many rows of each table, all of one moment."""
    query = """
        SELECT run_id, status,
            (SELECT count(*) FROM actions a WHERE a.run_id = runs.run_id),
            (SELECT count(*) FROM market_snapshots s WHERE s.run_id = runs.run_id),
            (SELECT count(*) FROM kpis k WHERE k.run_id = runs.run_id)
        FROM runs
    """
    rows = Store(path).sql(query).fetchall()
    assert len({row[0] for row in rows}) == len(rows), "a run is there twice"
    return {row[0]: tuple(row[1:]) for row in rows}


@pytest.mark.parametrize("shell", ["read-write", "read-only", "none"])
@pytest.mark.slow
def test_eight_writers_a_reader_and_a_shell_lose_nothing(tmp_path: Path, shell: str) -> None:
    path = tmp_path / "runs.duckdb"
    first = store_run(path)  # so that there is a database for the shell to open
    runs, steps, rows = 3, 6, 20
    whole = ("finished", steps * rows, steps * 2, len(KPIS))

    def write_and_watch() -> set[str]:
        writers = [start_writer(path, runs, steps, rows) for _ in range(8)]
        seen: dict[str, tuple] = {}
        looks = 0
        stop = path.with_name(path.name + ".stop")
        try:
            while any(writer.poll() is None for writer in writers):
                now = everything(path)
                looks += 1
                assert set(seen) <= set(now), "a run was there and is gone"
                for run_id, found in now.items():
                    if run_id == first.run_id:
                        continue
                    assert found[0] in {"running", "finished"}
                    assert found == whole or found[0] == "running"
                    before = seen.get(run_id, ("running", 0, 0, 0))
                    assert found[1:] >= before[1:], "rows were there and are gone"
                    assert not (before[0] == "finished" and found[0] == "running")
                seen = now
                if looks == 4:
                    stop.touch()
        finally:
            stop.touch()
            answers = [writer.communicate() for writer in writers]
        assert [writer.returncode for writer in writers] == [0] * 8, answers
        assert looks >= 4
        return {line for out, _ in answers for line in out.split()}

    if shell == "none":
        written = write_and_watch()
    else:
        with open_shell(path, shell):
            written = write_and_watch()
    assert len(written) >= 8 * runs
    assert everything(path) == dict.fromkeys(written, whole) | {first.run_id: ("finished", 12, 8, len(KPIS))}

    store = Store(path)
    while store.merge(patience_s=5).waiting:
        pass
    assert SegmentFolder(path).segments() == []
    with duckdb.connect(path, read_only=True) as alone:
        assert dict(alone.execute(COUNTS.format("actions")).fetchall()) == {
            **dict.fromkeys(written, steps * rows),
            first.run_id: 12,
        }
        assert alone.execute("SELECT count(*) FROM runs").fetchone() == (len(written) + 1,)
        assert alone.execute("SELECT count(*) FROM merged_segments").fetchone() is not None
    for run in store.runs():
        assert store.digest(run.run_id) == run.digest


@pytest.mark.slow(1)
@pytest.mark.parametrize("shell", ["read-write", "read-only"])
def test_a_run_is_stored_and_read_while_a_shell_holds_the_database(tmp_path: Path, shell: str) -> None:
    path = tmp_path / "runs.duckdb"
    first = store_run(path)
    store = Store(path)
    with open_shell(path, shell):
        second = store_run(path)
        assert [run.run_id for run in store.runs()] == [second.run_id, first.run_id]
        assert list(store.actions(second.run_id)) == list(store.actions(first.run_id))
        assert store.merge().waiting == 1
        store.remove(first.run_id)
        assert [run.run_id for run in store.runs()] == [second.run_id]
    assert store.merge().segments == 1
    with duckdb.connect(path, read_only=True) as alone:
        assert alone.execute("SELECT run_id FROM runs").fetchall() == [(second.run_id,)]
        assert alone.execute(COUNTS.format("actions")).fetchall() == [(second.run_id, 12)]


@pytest.mark.slow(1)
def test_nothing_is_merged_under_the_eyes_of_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path)
    count = "SELECT count(*) FROM actions"
    with ExitStack() as reader:
        with open_shell(path):  # so that the reader looks at a copy, which holds no lock on the database
            store_run(path)
            connection = reader.enter_context(reading(path))
        assert Store(path).merge(patience_s=0) == Merged(waiting=1, why="others are reading")
        assert connection.execute(count).fetchall() == [(24,)]
    assert Store(path).merge().segments == 1
    assert Store(path).sql(count).fetchall() == [(24,)]


@pytest.mark.slow(0.3)
def test_a_merge_leaves_a_run_that_is_under_way_alone(tmp_path: Path) -> None:
    path, info = tmp_path / "runs.duckdb", info_of()
    with SegmentRecorder(path, flush_rows=1) as recorder:
        recorder.begin(info)
        recorder.record(actions_of(0), snapshots_of(0))
        other = store_run(path)  # ends, and merges what it finds
        assert SegmentFolder(path).segments() == []
        assert {run.run_id: run.status for run in Store(path).runs()} == {
            info.run_id: "running",
            other.run_id: "finished",
        }
        recorder.record(actions_of(1), snapshots_of(1))
        recorder.end(RunEnd("finished", "00" * 32, KPIS, "cd" * 32, {"total": 1.0}))
    assert everything(path)[info.run_id] == ("finished", 6, 4, len(KPIS))
    assert list(Store(path).actions(info.run_id)) == [*actions_of(0), *actions_of(1)]


def test_what_the_shell_itself_changes_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    info = store_run(path)
    mine = duckdb.connect(path)  # of this very process
    mine.execute("UPDATE runs SET scenario = 'renamed'")
    assert Store(path).run(info.run_id).scenario == "renamed"
    second = store_run(path)
    assert mine.execute("SELECT count(*) FROM runs").fetchone() == (2,)
    mine.close()
    with duckdb.connect(path, read_only=True):
        third = store_run(path)
        assert {run.run_id for run in Store(path).runs()} == {info.run_id, second.run_id, third.run_id}


@pytest.mark.slow
def test_a_killed_run_is_interrupted_and_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    before = store_run(path)
    writer = start_writer(path, 0, 0, 5)
    assert writer.stdout is not None
    run_id = writer.stdout.readline().strip()
    for _ in range(7):
        writer.stdout.readline()
    store = Store(path)
    assert store.run(run_id).status == "running"
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()

    assert store.run(run_id).status == "interrupted"  # seen before anything is merged
    rows = list(store.actions(run_id))
    assert rows[: 7 * 5] == [row for step in range(7) for row in actions_of(step, 5)]
    store.merge(patience_s=5)
    killed = store.run(run_id)
    assert (killed.status, killed.digest, killed.action_count) == ("interrupted", "", len(rows))
    assert killed.steps_done == len(rows) // 5
    assert killed.seed == 7
    assert list(store.actions(run_id)) == rows
    assert list(store.snapshots(run_id))[:2] == snapshots_of(0)
    assert store.digest(before.run_id) == store.run(before.run_id).digest
    assert SegmentFolder(path).live_runs() == []


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_a_database_that_opens_and_counts_right(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    for _ in range(6):
        writer = start_writer(path, 1000, 3, 10)
        assert writer.stdout is not None
        for _ in range(4):
            writer.stdout.readline()  # killed somewhere in the run after: writing, merging, deleting
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        for status, actions, snapshots, kpis in everything(path).values():
            assert status in {"finished", "interrupted"}
            assert (actions, snapshots, kpis) == (30, 6, 2) or status == "interrupted"
    store = Store(path)
    found = everything(path)
    assert len(found) >= 24
    store.merge(patience_s=5)
    assert everything(path) == found


def test_a_crash_between_commit_and_clean_up_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.duckdb"

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SegmentFolder, "drop", crash)
        with pytest.raises(KeyboardInterrupt):
            store_run(path)
    assert len(SegmentFolder(path).segments()) == 1
    (found,) = everything(path).values()
    assert found == ("finished", 12, 8, 2)
    Store(path).merge()
    assert SegmentFolder(path).segments() == []
    assert list(everything(path).values()) == [found]


def test_a_crash_before_the_commit_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mayavi.sim.store.database import merging

    path = tmp_path / "runs.duckdb"

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(merging, "_delete", crash)
        with pytest.raises(KeyboardInterrupt):
            store_run(path)
    (found,) = everything(path).values()
    assert found == ("finished", 12, 8, 2)
    assert Store(path).merge().segments == 1
    assert list(everything(path).values()) == [found]


def test_an_exception_in_the_middle_leaves_an_interrupted_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    info = store_run(path, finish=False)
    assert everything(path) == {info.run_id: ("interrupted", 12, 8, 0)}
    Store(path).merge()
    assert everything(path) == {info.run_id: ("interrupted", 12, 8, 0)}
