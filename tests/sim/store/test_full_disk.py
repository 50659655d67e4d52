"""A disk that is full: said clearly, and what was stored before is intact."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi.errors import StoreFull
from mayavi.sim.store import Store
from mayavi.sim.store.database.segments import SegmentFolder
from tests.sim.store.processes import open_shell
from tests.sim.store.sample_runs import store_run

SIZE = 6 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here: that needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, leave: int = 0) -> Path:
    """Take all the space there is but for `leave` bytes."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        size = shutil.disk_usage(folder).free - leave
        file.write(bytes(max(size, 0)))
    return ballast


def intact(store: Store, run_id: str) -> bool:
    return store.digest(run_id) == store.run(run_id).digest


@pytest.mark.slow(0.3)
def test_a_full_disk_is_an_error_that_says_so_and_keeps_what_was_stored(small_disk: Path) -> None:
    path = small_disk / "runs.duckdb"
    before = store_run(path)
    ballast = fill(small_disk, leave=64 * 1024)
    with pytest.raises(StoreFull, match="no space is left in") as caught:
        store_run(path, steps=400, count=100, options={"flush_rows": 400})
    assert "what was stored before is intact" in (caught.value.hint or "")
    store = Store(path)
    assert intact(store, before.run_id)
    statuses = {run.run_id: run.status for run in store.runs()}
    assert statuses[before.run_id] == "finished"
    assert set(statuses.values()) <= {"finished", "interrupted"}

    ballast.unlink()
    after = store_run(path)
    assert all(intact(store, run_id) for run_id in (before.run_id, after.run_id))
    assert statuses.items() <= {run.run_id: run.status for run in store.runs()}.items()


@pytest.mark.slow
def test_a_disk_too_full_for_a_merge_keeps_the_rows_where_they_are(small_disk: Path) -> None:
    path = small_disk / "runs.duckdb"
    first = store_run(path)
    with open_shell(path):
        waiting = [store_run(path, steps=20, count=100) for _ in range(3)]
    for leave in (0, 4096, 40_000, 200_000, 700_000):
        ballast = fill(small_disk, leave)
        Store(path).merge()
        ballast.unlink()
        assert all(intact(Store(path), info.run_id) for info in (first, *waiting))
    Store(path).merge()
    assert SegmentFolder(path).segments() == []
    assert all(intact(Store(path), info.run_id) for info in (first, *waiting))


@pytest.mark.slow
def test_duckdb_itself_running_out_of_space_in_a_merge_loses_nothing(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mayavi.sim.store.database import merging

    monkeypatch.setattr(merging, "_SPARE_BYTES", -(1 << 40))  # no look at the free space before
    path = small_disk / "runs.duckdb"
    first = store_run(path)
    with open_shell(path):
        waiting = [store_run(path, steps=20, count=100) for _ in range(3)]
    refused = 0
    for leave in (0, 4096, 20_000, 60_000, 150_000, 300_000):
        ballast = fill(small_disk, leave)
        result = Store(path).merge()
        refused += bool(result.waiting)
        ballast.unlink()
        assert all(intact(Store(path), info.run_id) for info in (first, *waiting)), (leave, result)
    assert refused
    assert len(list(Store(path).runs())) == 4


def test_a_run_is_not_begun_where_nothing_can_be_written(small_disk: Path) -> None:
    fill(small_disk)
    for number in range(10_000):  # the last inodes and bytes
        try:
            (small_disk / str(number)).mkdir()
        except OSError:
            break
    with pytest.raises(StoreFull, match="no space is left"):
        store_run(small_disk / "below" / "runs.duckdb")
    assert not (small_disk / "below" / "runs.duckdb").exists()
