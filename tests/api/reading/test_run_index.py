"""The index follows store and queue: at once for jobs, soon for what others change, and without reading in between."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mayavi.api.database import ServiceDatabase
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.reading.runs.details import details_of
from mayavi.api.reading.runs.index import RunIndex, Runs
from mayavi.api.reading.runs.job_mirror import JobMirror
from mayavi.api.reading.runs.listing import Wanted, page_of
from mayavi.api.security.caller import Caller
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.discarding import discard_run
from tests.api.live_server import LiveServer
from tests.sim.store.database.earlier_versions import EARLIER, RUN, make_database
from tests.sim.store.sample_runs import info_of, store_run

CALLER = Caller("aaaaaaaa", "the team", "full")
BEGAN = 1_700_000_000.0


class Indexed:
    """A store, a queue, and the index over both."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "runs.duckdb")
        self.queue = JobQueue(ServiceDatabase(folder / "service"))
        self.index = RunIndex(self.store, JobMirror(self.queue))

    def now(self) -> Runs:
        found = self.index.current(at_once=True)
        return self.index.refreshed() if found is None else found

    def submit(self, job_id: str, kind: Any = "run", seed: str = "7", world: str | None = None) -> None:
        submission = json.dumps({"seed": seed, "steps": 4, "world": world, "text": "name: own"})
        self.queue.submit(kind, job_id, "own", "ethereum", submission, CALLER, None, total=4)

    def status(self, run_id: str) -> str:
        return self.now().by_id[run_id].summary.status


@pytest.fixture
def indexed(tmp_path: Path) -> Indexed:
    return Indexed(tmp_path)


@pytest.mark.slow(0.3)
def test_runs_name_their_world_and_are_found_by_it(indexed: Indexed) -> None:
    texts = ("name: own\nworld: base@2025-12\n", "name: own\nworld: null\n", "name: own\n")
    stored = [store_run(indexed.store.path, scenario_text=text).run_id for text in texts]
    indexed.submit("queued", world="ethereum@2025-12")
    indexed.submit("plain")
    runs = indexed.now()
    worlds = {run_id: run.summary.world for run_id, run in runs.by_id.items()}
    names = ["base@2025-12", "base", "base", "ethereum@2025-12", "ethereum"]
    assert worlds == dict(zip([*stored, "queued", "plain"], names, strict=True))
    assert page_of(runs, Wanted(chain="base")).total == 3
    assert [run.run_id for run in page_of(runs, Wanted(chain="ethereum@2025-12")).runs] == ["queued"]
    assert [run.run_id for run in page_of(runs, Wanted(search="BASE@")).runs] == stored[:1]
    ordered = [run.summary.world for run in page_of(runs, Wanted(sort="chain", order="asc")).runs]
    assert ordered == sorted(names)
    assert json.loads(runs.by_id[stored[0]].body)["world"] == "base@2025-12"


def settle(indexed: Indexed) -> Runs:
    """Wait until the clock of the file system has moved on, after which nothing is read without a change."""
    time.sleep(0.06)
    return indexed.now()


def test_an_empty_store_has_no_runs(indexed: Indexed) -> None:
    assert indexed.now().by_id == {}
    assert page_of(indexed.now(), Wanted()).body() == b'{"items":[],"total":0,"next":null}'
    assert not indexed.store.path.exists()


def test_nothing_is_read_again_without_a_change(indexed: Indexed) -> None:
    store_run(indexed.store.path, run_id="one")
    settle(indexed)
    first, reads = settle(indexed), indexed.index.reads
    for _ in range(5):
        assert indexed.now() is first
    assert indexed.index.reads == reads


@pytest.mark.slow(0.3)
def test_a_run_of_the_command_line_appears_and_is_gone_when_it_is_removed(indexed: Indexed) -> None:
    indexed.now()
    store_run(indexed.store.path, run_id="one")
    assert set(indexed.now().by_id) == {"one"}
    store_run(indexed.store.path, run_id="two")
    assert set(indexed.now().by_id) == {"one", "two"}
    indexed.store.remove("one")
    assert set(indexed.now().by_id) == {"two"}


def test_what_did_not_change_keeps_its_entry(indexed: Indexed) -> None:
    store_run(indexed.store.path, run_id="one")
    before = indexed.now().by_id["one"]
    store_run(indexed.store.path, run_id="two")
    assert indexed.now().by_id["one"] is before


def test_changes_of_others_are_looked_for_a_few_times_a_second_only(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mayavi.api.reading.runs.index.MOST_STALE_S", 3600.0)
    monkeypatch.setattr("mayavi.api.reading.runs.index.LEAST_PAUSE_S", 3600.0)
    store_run(indexed.store.path, run_id="one")
    found = settle(indexed)
    store_run(indexed.store.path, run_id="two")
    assert indexed.index.current() is found  # just checked
    assert not indexed.index.is_due()
    monkeypatch.setattr("mayavi.api.reading.runs.index.LEAST_PAUSE_S", 0.0)
    monkeypatch.setattr("mayavi.api.reading.runs.index._SHARE", 0)
    assert indexed.index.is_due()  # and nobody waits for it
    assert indexed.index.current() is found
    monkeypatch.setattr("mayavi.api.reading.runs.index.MOST_STALE_S", -1.0)
    assert indexed.index.current() is None  # long ago: a reader waits
    assert set(indexed.now().by_id) == {"one", "two"}


def test_a_job_is_listed_from_its_submission_on_and_its_changes_count_at_once(indexed: Indexed) -> None:
    assert indexed.now().by_id == {}
    indexed.submit("first")
    indexed.submit("second")
    current = indexed.index.current()
    assert current is not None  # without a look into the store
    runs = current.by_id
    assert [runs[name].summary.queued_ahead for name in ("first", "second")] == [0, 1]
    assert (runs["first"].summary.seed, runs["first"].summary.owner) == ("7", "the team")
    indexed.queue.claim()
    assert indexed.status("first") == "running"
    assert indexed.now().by_id["second"].summary.queued_ahead == 0
    indexed.queue.report("first", 2, 4, "running")
    progress = indexed.now().by_id["first"].summary.progress
    assert progress is not None
    assert (progress.done, progress.total, progress.phase) == (2, 4, "running")
    indexed.queue.cancel("second")
    assert indexed.status("second") == "cancelled"
    assert indexed.now().by_id["second"].summary.progress is None


def test_a_run_that_is_queued_and_stored_is_listed_once_and_the_store_knows_its_end(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    with SegmentRecorder(indexed.store.path) as recorder:
        recorder.begin(info_of("one"))
        assert indexed.status("one") == "running"
        indexed.queue.cancel("one")
        assert indexed.status("one") == "cancelling"
    indexed.queue.requeue("one", "the worker died")
    store = indexed.now().by_id
    assert list(store) == ["one"]
    assert store["one"].summary.status == "queued"


def test_details_of_a_run_that_begins_again_are_those_of_its_job(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    with SegmentRecorder(indexed.store.path) as recorder:
        recorder.begin(info_of("one"))
        seen = indexed.now().by_id["one"]
    assert seen.in_store
    discard_run(indexed.store.path, "one")  # by the next attempt, after the list was read
    found = details_of(indexed.store, indexed.queue, seen)
    assert found is not None
    assert (found.run_id, found.scenario_text, found.kpis) == ("one", "name: own", [])
    indexed.queue.end("one", "finished")
    assert details_of(indexed.store, indexed.queue, seen) is None  # removed


def test_the_end_in_the_store_counts_before_the_queue_knows_it(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    store_run(indexed.store.path, run_id="one")
    found = indexed.now().by_id["one"].summary
    assert (found.status, found.progress, found.owner) == ("finished", None, "the team")
    indexed.queue.end("one", "finished")
    assert indexed.status("one") == "finished"


def test_a_finished_job_whose_run_was_removed_is_not_listed(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    store_run(indexed.store.path, run_id="one")
    indexed.queue.end("one", "finished")
    assert set(indexed.now().by_id) == {"one"}
    indexed.store.remove("one")
    assert indexed.now().by_id == {}


def test_a_failed_job_without_a_run_keeps_its_error(indexed: Indexed) -> None:
    indexed.submit("one")
    indexed.queue.claim()
    indexed.queue.end("one", "failed", "no such chain")
    found = indexed.now().by_id["one"].summary
    assert (found.status, found.error) == ("failed", "no such chain")


def test_a_run_whose_process_is_gone_becomes_interrupted(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mayavi.api.reading.runs.index._LIVE_PAUSE_S", -1.0)
    recorder = SegmentRecorder(indexed.store.path)
    recorder.begin(info_of("one"))
    settle(indexed)
    assert indexed.status("one") == "running"
    recorder.close()  # as the end of its process would: no file changes
    assert indexed.status("one") == "interrupted"


def test_sweeps_of_the_queue_are_no_runs(indexed: Indexed) -> None:
    indexed.submit("sweep-1", kind="sweep")
    assert indexed.now().by_id == {}


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("version", EARLIER)
def test_a_store_of_an_earlier_version_is_read_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    make_database(tmp_path / "runs.duckdb", version)
    content = (tmp_path / "runs.duckdb").read_bytes()
    with LiveServer(tmp_path) as server:
        client = server.client(server.read)
        (run,) = client.get("/runs").json()["items"]
        assert (run["run_id"], run["seed"], run["seconds"]) == (RUN, str(2**64 - 1), 2.5)
        rows = client.get(f"/runs/{RUN}/rows/actions", params={"columns": "fee_wei,fee_wei_number"}).json()["rows"]
        assert rows == [[str(2**256 - 1), float(2**256 - 1)], ["7", 7.0]]
        accounts = client.get(f"/runs/{RUN}/rows/accounts").json()["rows"]
        assert len(accounts) == (1 if version >= 3 else 0)  # versions before 3 kept no accounts
        assert client.get("/sweeps").json()["total"] == 0
    assert (tmp_path / "runs.duckdb").read_bytes() == content


@pytest.mark.slow(1)
def test_pages_stay_the_same_while_runs_are_added(indexed: Indexed) -> None:
    for number in range(6):
        store_run(indexed.store.path, run_id=f"run-{number}", started_at=BEGAN + number)

    def add_another(turn: int) -> None:
        store_run(indexed.store.path, run_id=f"new-{turn}", started_at=BEGAN + 100 + turn)

    seen, cursor = pages_with(indexed, add_another)
    assert seen == [f"run-{number}" for number in (5, 4, 3, 2, 1, 0)]
    assert cursor is None


def pages_with(indexed: Indexed, between: Callable[[int], object]) -> tuple[list[str], str | None]:
    seen: list[str] = []
    cursor: str | None = None
    for turn in range(3):
        page = json.loads(page_of(indexed.now(), Wanted(limit=2, cursor=cursor)).body())
        seen += [run["run_id"] for run in page["items"]]
        cursor = page["next"]
        between(turn)
    return seen, cursor


def test_runs_without_a_value_come_last_in_both_orders(indexed: Indexed) -> None:
    store_run(indexed.store.path, run_id="stored")
    for name in ("queued-a", "queued-b"):
        indexed.submit(name)
    runs = indexed.now()
    for order, last in (("asc", ["queued-a", "queued-b"]), ("desc", ["queued-b", "queued-a"])):
        seen: list[str] = []
        cursor = None
        while True:
            wanted = Wanted(sort="seconds", order=order, limit=1, cursor=cursor)  # type: ignore[arg-type]
            page = json.loads(page_of(runs, wanted).body())
            seen += [run["run_id"] for run in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert seen == ["stored", *last]


def test_an_answer_from_memory_is_another_one_after_a_change_and_needs_a_key(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.duckdb")
    store_run(store.path, run_id="one")
    with LiveServer(tmp_path) as server:
        client = server.client(server.read)
        first = [client.get("/runs").json() for _ in range(3)]
        assert [page["total"] for page in first] == [1, 1, 1]
        shown = [client.get("/runs/one") for _ in range(3)]
        assert {answer.text for answer in shown} == {shown[0].text}
        assert {answer.headers["content-type"] for answer in shown} == {"application/json"}
        assert server.client().get("/runs").status_code == 401
        assert server.client("mvk_00000000_wrong").get("/runs/one").status_code == 401
        server.service.queue.submit(
            "run", "two", "own", "ethereum", '{"seed": "1", "steps": 2, "text": "name: own"}', CALLER, None, total=2
        )
        assert client.get("/runs").json()["total"] == 2
        assert client.get("/runs/two").json()["scenario_text"] == "name: own"
        store.remove("one")
        deadline = time.monotonic() + 300
        while client.get("/runs/one").status_code != 404:
            assert time.monotonic() < deadline


@pytest.mark.slow(10)
def test_a_run_of_the_service_is_complete_at_the_moment_its_end_is_told(tmp_path: Path) -> None:
    with LiveServer(tmp_path, workers=1) as server:
        client = server.client(server.full)
        run_id = client.post("/runs", json={"scenario": "aave_borrower", "seed": 5, "steps": 2}).json()["run_id"]
        assert client.get(f"/runs/{run_id}").json()["status"] in {"queued", "running"}
        with client.stream("GET", f"/runs/{run_id}/events") as events:
            for line in events.iter_lines():
                if line == "event: finished":
                    break
        found = client.get(f"/runs/{run_id}").json()
        assert (found["status"], found["seed"], found["owner"]) == ("finished", "5", "full")
        assert found["digest"] == server.service.store.run(run_id).digest
        assert found["kpis"]
        (listed_run,) = client.get("/runs").json()["items"]
        assert (listed_run["status"], listed_run["actions"]) == ("finished", found["actions"])
        sweep = client.post("/sweeps", json={"scenario": "aave_borrower", "steps": 2, "seeds": "0:2"}).json()
        with client.stream("GET", f"/sweeps/{sweep['sweep_id']}/events") as events:
            for line in events.iter_lines():
                if line == "event: finished":
                    break
        details = client.get(f"/sweeps/{sweep['sweep_id']}").json()
        assert (details["status"], details["runs"], details["owner"]) == ("finished", 2, "full")
        assert details["command"] == "mayavi sweep aave_borrower --chain ethereum --steps 2 --seeds 0:2"
        assert details["summary"]["points"]
        assert client.get("/runs", params={"sweep_id": sweep["sweep_id"]}).json()["total"] == 2
        assert client.get(f"/sweeps/{sweep['sweep_id']}/page").status_code == 200
