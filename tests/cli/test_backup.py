"""`mayavi backup`: queue, keys and runs of a service in one folder."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mayavi.api.database import ServiceDatabase
from tests.sim.store.sample_runs import store_run


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """A service with one key and one run, whose database is open and has a log."""
    database = ServiceDatabase(tmp_path / "service")
    with database.writing() as connection:
        connection.execute(
            "INSERT INTO keys (key_id, name, scope, secret_hash, created_at, requests_per_minute, concurrent_jobs)"
            " VALUES ('0badcafe', 'team', 'full', X'00', 1.0, 10, 1)"
        )
    store_run(tmp_path / "runs.duckdb", steps=1)
    assert database.path.with_name("service.sqlite-wal").exists()
    return tmp_path


def back_up(run_mayavi, service: Path, *more: str):
    places = ["--data", str(service / "service"), "--store", str(service / "runs.duckdb")]
    return run_mayavi("backup", str(service / "backup"), *places, *more)


@pytest.mark.slow(0.3)
def test_a_backup_has_keys_queue_and_runs(run_mayavi, service: Path) -> None:
    finished = back_up(run_mayavi, service, "--json")
    assert finished.returncode == 0, finished.stderr
    made = json.loads(finished.stdout)
    assert (made["jobs"], made["runs"]) == (0, 1)
    assert sorted(each.name for each in (service / "backup").iterdir()) == ["runs.duckdb", "service.sqlite"]
    assert Path(made["database"]).stat().st_mode & 0o077 == 0
    assert Path(made["store"]).stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(made["database"])) as copy:
        assert copy.execute("SELECT name FROM keys WHERE key_id = '0badcafe'").fetchall() == [("team",)]


def test_a_backup_replaces_nothing(run_mayavi, service: Path) -> None:
    assert back_up(run_mayavi, service).returncode == 0
    before = {each: each.read_bytes() for each in (service / "backup").iterdir()}
    again = back_up(run_mayavi, service)
    assert again.returncode == 2
    assert "is not empty" in again.stderr
    assert {each: each.read_bytes() for each in (service / "backup").iterdir()} == before


def test_a_folder_without_a_service_is_named(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("backup", str(tmp_path / "backup"), "--data", str(tmp_path / "service"))
    assert finished.returncode == 2
    assert "holds no service" in finished.stderr
    assert not (tmp_path / "backup").exists()
