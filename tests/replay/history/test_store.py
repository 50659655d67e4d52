"""The database of replays: unusable files are named."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from mayavi.errors import StoreError, StoreUnreadable
from mayavi.replay.history.store import HistoryStore, Scan

SCAN = Scan(1, bytes(32), "", "touched")


def test_an_empty_database_has_done_nothing(tmp_path: Path) -> None:
    with HistoryStore(tmp_path / "new" / "h.duckdb") as store:
        assert store.done(SCAN, 0, 10**9) == {}
        assert store.differences(SCAN, 0, 10**9) == []
        assert set(store.totals(SCAN, 0, 10**9).values()) == {0}


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "h.duckdb"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreUnreadable, match=str(path)):
        HistoryStore(path)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.duckdb"
    HistoryStore(path).close()
    with duckdb.connect(str(path)) as database:
        database.execute("UPDATE replay_version SET version = 99")
    with pytest.raises(StoreError, match="has format 99"):
        HistoryStore(path)
