"""Readers are quick while runs execute, and never see less than what was true when they asked."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from mayavi.api.database import ServiceDatabase
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.queue.stored_runs import FoundRuns, written_run
from mayavi.api.reading.reading import Reading
from mayavi.api.reading.runs.details import details_of
from mayavi.api.reading.runs.listing import Wanted, page_of
from mayavi.api.reading.runs.orders import SORTS, RunOrder
from mayavi.api.reading.runs.stored import read_contents
from mayavi.sim.rows import RunCounts, RunEnd
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.store import SegmentRecorder, Store
from tests.api.live_server import LiveServer
from tests.api.reading.test_run_index import BEGAN, CALLER, Indexed
from tests.sim.store.sample_runs import info_of, store_run

UNMERGED = {"merge": False}


@pytest.fixture
def indexed(tmp_path: Path) -> Indexed:
    return Indexed(tmp_path)


def end_of(indexed: Indexed, run_id: str) -> FoundRuns:
    """Store a run to its end as a worker does, and return what the worker hands over."""
    store_run(indexed.store.path, run_id=run_id, options=UNMERGED)
    found = written_run(indexed.store.path, run_id)
    assert found is not None
    return found


def test_a_worker_hands_over_what_the_store_has(indexed: Indexed) -> None:
    found = end_of(indexed, "one")
    assert found == read_contents(indexed.store.path, {}).found
    assert found.whole["one"].kpis
    indexed.store.merge()
    assert written_run(indexed.store.path, "one") is None  # the store has it now
    assert read_contents(indexed.store.path, {}).found == found


def test_the_end_of_a_run_is_shown_without_reading_the_store(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    indexed.now()
    reads = indexed.index.reads
    indexed.index.offer(end_of(indexed, "one"))
    indexed.queue.end("one", "finished")
    shown = indexed.index.known().by_id["one"]
    assert (shown.status, shown.actions) == ("finished", indexed.store.run("one").action_count)
    whole = indexed.index.whole(shown)
    assert whole is not None
    assert details_of(indexed.store, indexed.queue, shown, whole) == details_of(indexed.store, indexed.queue, shown)
    assert indexed.index.reads == reads


def test_what_was_read_before_the_end_of_a_run_does_not_undo_it(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    indexed.now()
    recorder = SegmentRecorder(indexed.store.path, merge=False)
    recorder.begin(info_of("one"))
    running = indexed.index.reader()()  # by another thread, which is slow to come back
    recorder.end(RunEnd("finished", RowsDigest().hexdigest(), (), "00", {}, "", RunCounts(0, 0, 0, 0, 0)))
    recorder.close()
    found = written_run(indexed.store.path, "one")
    assert found is not None
    indexed.index.offer(found)
    indexed.queue.end("one", "finished")
    assert indexed.index.known().by_id["one"].status == "finished"
    assert indexed.index.take(running).by_id["one"].status == "finished"
    assert indexed.now().by_id["one"].status == "finished"


def test_an_ended_run_whose_figures_are_missing_is_shown_as_before_until_they_are_read(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    indexed.now()
    store_run(indexed.store.path, run_id="one", options=UNMERGED)
    indexed.queue.end("one", "finished")
    assert indexed.index.current() is None  # who asks now, waits for the figures
    assert indexed.index.known().by_id["one"].status == "running"
    shown = indexed.now().by_id["one"]
    assert (shown.status, shown.summary.digest) == ("finished", indexed.store.run("one").digest)


def test_a_run_that_was_removed_after_its_end_is_gone(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    indexed.index.offer(end_of(indexed, "one"))
    indexed.queue.end("one", "finished")
    assert set(indexed.now().by_id) == {"one"}
    indexed.store.remove("one")
    assert indexed.now().by_id == {}
    assert indexed.index.current() is not None  # and nobody waits for it any more


@pytest.mark.slow(0.4)
def test_a_sweep_of_the_command_line_is_gone_when_it_is_removed(indexed: Indexed) -> None:
    from mayavi.scenarios.sweep.sweep import sweep

    indexed.now()
    swept = sweep("aave_borrower", seeds="0:2", steps=1, jobs=1, store=indexed.store.path)
    assert list(indexed.now().sweeps) == [swept.sweep_id]
    indexed.store.remove_sweep(swept.sweep_id)
    assert (dict(indexed.now().sweeps), indexed.now().by_id) == ({}, {})


@pytest.mark.slow(1)
def test_orders_that_follow_changes_are_those_of_all_runs(indexed: Indexed) -> None:
    lists = [Wanted(sort=sort) for sort in SORTS]
    lists += [Wanted(status=("queued", "running")), Wanted(single=True), Wanted(search="run-1"), Wanted(scenario="own")]
    draw = random.Random(7)
    for turn in range(40):
        name = f"run-{turn:02}"
        action = draw.choice(["submit", "submit", "claim", "store", "end"])
        if action == "submit":
            indexed.submit(name, seed=str(draw.randrange(5)))
        elif action == "claim":
            indexed.queue.claim()
        elif action == "store":
            store_run(indexed.store.path, run_id=name, started_at=BEGAN + draw.randrange(9), seed=draw.randrange(5))
        else:
            for job in indexed.queue.unfinished()[:1]:
                indexed.index.offer(end_of(indexed, job.job_id))
                indexed.queue.end(job.job_id, "finished")
        runs = indexed.now()
        for wanted in lists:
            followed, anew = runs.orders.get(wanted, ()), RunOrder(wanted, runs.by_id.values())
            assert (followed.keys, followed.without) == (anew.keys, anew.without), (turn, wanted)
    page = page_of(indexed.now(), Wanted(limit=1000))
    assert page.total == len(page.runs) == len(indexed.now().by_id)


def test_readers_who_come_at_the_same_time_share_a_reading_of_the_store(tmp_path: Path) -> None:
    store, queue = Store(tmp_path / "runs.duckdb"), JobQueue(ServiceDatabase(tmp_path / "service"))
    store_run(store.path, run_id="one")
    reading = Reading(store, queue, tmp_path / "models")

    async def ask() -> None:
        found = await asyncio.gather(*(reading.runs() for _ in range(50)))
        assert {tuple(runs.by_id) for runs in found} == {("one",)}
        assert reading.index.reads == 1
        store_run(store.path, run_id="two")
        found = await asyncio.gather(*(reading.runs(at_once=True) for _ in range(50)))
        assert {frozenset(runs.by_id) for runs in found} == {frozenset({"one", "two"})}
        assert reading.index.reads <= 3
        before = reading.index.reads
        for number in range(20):  # changes of the queue need no reading
            submission = '{"seed": "1", "steps": 2, "text": "name: own"}'
            queue.submit("run", f"job-{number}", "own", "ethereum", submission, CALLER, None, total=2)
            assert f"job-{number}" in (await reading.runs()).by_id
        assert reading.index.reads <= before + 1  # of the background

    try:
        asyncio.run(ask())
    finally:
        reading.close()


@pytest.mark.slow(0.4)
def test_an_ended_run_has_an_etag_which_changes_with_its_rows(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.duckdb")
    store_run(store.path, run_id="one")
    with LiveServer(tmp_path) as server:
        client = server.client(server.read)
        first, kept = client.get("/runs/one"), client.get("/runs/one")
        etag = first.headers["etag"]
        assert (first.status_code, kept.headers["etag"], kept.content) == (200, etag, first.content)
        assert first.headers["cache-control"] == kept.headers["cache-control"] == "private, no-cache"
        same = client.get("/runs/one", headers={"If-None-Match": f'"other", W/{etag}'})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
        assert server.client().get("/runs/one", headers={"If-None-Match": etag}).status_code == 401
        submission = '{"seed": "1", "steps": 2, "text": "name: own"}'
        server.service.queue.submit("run", "waits", "own", "ethereum", submission, CALLER, None, total=2)
        for _ in range(2):
            assert "etag" not in client.get("/runs/waits").headers
        store.remove("one")
        until(client, etag, 404)
        store_run(store.path, run_id="one", steps=2)  # restored from elsewhere
        again = until(client, etag, 200)
        assert (again.headers["etag"] != etag, again.json()["digest"]) == (True, store.run("one").digest)
    with LiveServer(tmp_path) as server:
        assert server.client(server.read).get("/runs/one").content == again.content


def until(client: httpx.Client, etag: str, status: int) -> httpx.Response:
    """Ask for the run until the answer has a status."""
    deadline = time.monotonic() + 300
    while True:
        answer = client.get("/runs/one", headers={"If-None-Match": etag})
        if answer.status_code == status:
            return answer
        assert time.monotonic() < deadline, answer.text


def test_two_servers_show_the_runs_of_the_store_they_share(tmp_path: Path) -> None:
    one, other = LiveServer(tmp_path), LiveServer(tmp_path, data=tmp_path / "other")
    with one, other:
        clients = [server.client(server.read) for server in (one, other)]
        assert [client.get("/runs").json()["total"] for client in clients] == [0, 0]
        store_run(tmp_path / "runs.duckdb", run_id="one")
        for client in clients:
            until(client, "", 200)
            deadline = time.monotonic() + 300
            while client.get("/runs").json()["total"] != 1:
                assert time.monotonic() < deadline


@pytest.mark.slow(2)
def test_lists_and_details_import_no_pandas(tmp_path: Path) -> None:
    store_run(tmp_path / "runs.duckdb", run_id="one")
    program = f"""
import asyncio, sys
from pathlib import Path
from mayavi.api.database import ServiceDatabase
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.reading.reading import Reading
from mayavi.api.reading.runs.listing import Wanted, page_of
from mayavi.sim.store import Store

async def ask(folder):
    reading = Reading(Store(folder / "runs.duckdb"), JobQueue(ServiceDatabase(folder / "service")), folder)
    runs = await reading.runs()
    await runs.parameters.read_soon(page_of(runs, Wanted()).runs)
    assert (await reading.run_details("one")).etag
    reading.close()

asyncio.run(ask(Path({str(tmp_path)!r})))
sys.exit(" ".join({{"pandas", "pyarrow"}} & set(sys.modules)) or 0)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (found.returncode, found.stderr) == (0, "")


def test_a_queued_job_keeps_its_place_when_another_one_is_claimed(indexed: Indexed) -> None:
    for name in ("a", "b", "c"):
        indexed.submit(name)
    before = indexed.now()
    first = {name: before.by_id[name] for name in "abc"}
    indexed.queue.claim()
    runs = indexed.now()
    assert [runs.by_id[name].summary.queued_ahead for name in "abc"] == [None, 0, 1]
    assert runs.by_id["b"].job == replace(first["b"].job, ahead=0)  # type: ignore[type-var]
    assert (indexed.queue.waiting(), runs.number) == (["b", "c"], before.number + 1)
