"""The service under load, in small: no error, no lost run, whatever is killed. How fast it is, is not tested."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.load import kill_and_resume, load, memory, percentiles
from benchmarks.subjects.service import ServiceProcess
from benchmarks.subjects.stored_runs import not_once
from tests.sim.store.sample_runs import store_run

pytestmark = pytest.mark.slow(3)


def test_readers_and_queued_runs_meet_no_error_and_lose_no_run(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path / "service", "--workers", "2") as service:
        found = asyncio.run(load(service, readers=30, queued=4, seconds=2.0))
    assert found.errors == []
    assert found.lost == []
    assert len(found.submitted) >= 4
    assert {"/runs", "/scenarios", "POST /runs"} <= found.latencies.keys()


def test_a_killed_worker_and_a_killed_server_lose_no_run_and_repeat_none(tmp_path: Path) -> None:
    assert kill_and_resume(tmp_path / "service", count=5) == []


def test_memory_is_read_at_every_mark(tmp_path: Path) -> None:
    found = memory(tmp_path / "service", 4, marks=(0, 2))
    assert list(found) == [0, 2, 4]
    assert all(10 < each < 2000 for each in found.values())


def test_a_run_that_is_missing_or_was_never_submitted_is_found(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    stored = store_run(path, steps=1).run_id
    assert not_once(path, [stored]) == []
    assert not_once(path, [stored, "lost"]) == ["run lost is stored 0 times"]
    assert not_once(path, []) == [f"run {stored} was never submitted"]


def test_percentiles_are_in_milliseconds() -> None:
    figures = percentiles([each / 1000 for each in range(1, 102)])
    assert {name: str(figure) for name, figure in figures.items()} == {
        "count": "101.00 ",
        "p50": "51.00 ms",
        "p95": "96.00 ms",
        "slowest": "101.00 ms",
    }
