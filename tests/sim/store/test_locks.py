"""Readers and merges keep each other out, and merges let waiting readers go first."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mayavi.sim.store.database.locks import MergeLocks


def test_readers_share_and_keep_merges_out(tmp_path: Path) -> None:
    one, two = MergeLocks(tmp_path), MergeLocks(tmp_path)
    with one.shared(0) as first, two.shared(0) as second:
        assert first
        assert second
        with two.exclusive(0.01) as merging:
            assert not merging
    with two.exclusive(0) as merging:
        assert merging
        with one.shared(0.01) as locked:
            assert not locked
        with one.exclusive(0.01) as another:
            assert not another


def test_a_store_nobody_wrote_is_readable_and_has_nothing_to_merge(tmp_path: Path) -> None:
    locks = MergeLocks(tmp_path / "nothing")
    with locks.shared(0) as locked, locks.exclusive(0) as merging:
        assert locked
        assert not merging


def test_no_merge_begins_while_a_reader_waits(tmp_path: Path) -> None:
    begun, release, may_end = threading.Event(), threading.Event(), threading.Event()

    def merge_first() -> None:
        with MergeLocks(tmp_path).exclusive(0) as merging:
            assert merging
            begun.set()
            assert release.wait(60)

    def read_once() -> None:
        with MergeLocks(tmp_path).shared(60) as locked:
            assert locked
            assert may_end.wait(60)

    merge, reader = threading.Thread(target=merge_first), threading.Thread(target=read_once)
    merge.start()
    assert begun.wait(60)
    reader.start()
    deadline = time.monotonic() + 60
    with _opened(tmp_path / "readers.lock") as readers:
        while _free(readers):
            assert time.monotonic() < deadline, "the waiting reader does not say that it waits"
            time.sleep(0.001)
    release.set()
    merge.join()
    may_end.set()
    reader.join()


def test_a_merge_lets_a_waiting_reader_go_first(tmp_path: Path) -> None:
    with _opened(tmp_path / "readers.lock") as readers:
        fcntl.flock(readers, fcntl.LOCK_SH)
        with MergeLocks(tmp_path).exclusive(0.01) as merging:
            assert not merging
    with MergeLocks(tmp_path).exclusive(0) as merging:
        assert merging


@contextmanager
def _opened(file: Path) -> Iterator[int]:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True
