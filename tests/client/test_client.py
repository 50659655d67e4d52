"""The client submits, follows and reads; its errors say what to do and never show the key."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mayavi.api.models.runs import RunDetails
from mayavi.client import Client
from mayavi.errors import MayaviError, ServiceError, ServiceUnreachable, SimulationError, UnknownRun, UsageError
from mayavi.sim.store import Store
from mayavi.sim.store.artifact import read_artifact
from tests.api.queue.service_process import KEY, LONG, ServiceProcess, until_running


@pytest.fixture(scope="module")
def run(service: ServiceProcess) -> RunDetails:
    with service.client() as client:
        return client.run("aave_borrower", seed=4, steps=5)


@pytest.mark.slow(0.6)
def test_rows_are_those_of_the_store_page_by_page(
    client: Client, service: ServiceProcess, run: RunDetails, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = list(Store(service.store).actions(run.run_id))
    monkeypatch.setattr("mayavi.client.client._ROWS", 2)
    rows = client.rows(run.run_id, "actions", sort="seq")
    assert [(row["step"], row["kind"], row["fee_wei"]) for row in rows] == [
        (row.step, row.kind, row.fee_wei) for row in stored
    ]
    assert len(rows) > 2
    table = client.arrow(run.run_id, "actions", sort="seq", columns=("step", "kind"))
    assert table.to_pylist() == [{"step": row.step, "kind": row.kind} for row in stored]
    first = client.rows(run.run_id, "actions", where=["step:eq:0"], columns=("step",))
    assert {row["step"] for row in first} == {0}


@pytest.mark.slow(2)
def test_report_and_bundle_are_written_to_files(client: Client, run: RunDetails, tmp_path: Path) -> None:
    page = client.report(run.run_id, tmp_path / "report.html").read_text()
    assert run.run_id in page
    _, bundled = read_artifact(client.artifact(run.run_id, tmp_path / "run.zip"))
    assert bundled.digest == run.digest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "run.zip"]


def test_runs_are_listed_over_pages(client: Client, run: RunDetails, monkeypatch: pytest.MonkeyPatch) -> None:
    again = client.run("aave_borrower", seed=5, steps=2)
    monkeypatch.setattr("mayavi.client.client._PAGE", 1)
    found = [each.run_id for each in client.runs(scenario="aave_borrower", status="finished")]
    assert found[:2] == [again.run_id, run.run_id]
    assert "depeg_cascade" in {each.name for each in client.scenarios()}


@pytest.mark.slow(0.4)
def test_a_failed_and_a_cancelled_run_raise_with_the_reason(client: Client) -> None:
    with pytest.raises(SimulationError, match="NOSUCH") as failed:
        client.run("aave_borrower", overrides={"agents.borrower.debt": "1 NOSUCH"})
    assert " failed: " in str(failed.value)
    submitted = client.submit_run(yaml=LONG)
    until_running(client, submitted.run_id)
    client.cancel(submitted.run_id)
    assert client.wait(submitted.run_id).status == "cancelled"


REFUSALS = [
    (lambda client: client.submit_run("../x.yaml"), UsageError, "path of a file"),
    (lambda client: client.submit_run("aave_borrower", seed=-1), UsageError, "'seed'"),
    (lambda client: client.submit_run(yaml="steps: x"), UsageError, "line 1"),
    (lambda client: client.show("nothing"), UnknownRun, "unknown run 'nothing'"),
    (lambda client: client.show("../keys"), UsageError, "cannot name a run"),
    (lambda client: client.wait("nothing"), UnknownRun, "unknown run"),
    (lambda client: client.cancel("nothing"), UnknownRun, "unknown run"),
    (lambda client: client.cancel("sweep-nothing"), UnknownRun, "unknown sweep"),
    (lambda client: client.rows("nothing", "actions"), UnknownRun, "unknown run"),
    (lambda client: client.report("nothing", "/tmp/x.html"), UnknownRun, "unknown run"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSALS)
def test_refusals_are_errors_of_mayavi_with_a_hint(
    client: Client, call: object, kind: type[MayaviError], message: str
) -> None:
    with pytest.raises(kind, match=message) as refused:
        call(client)  # type: ignore[operator]
    assert KEY not in f"{refused.value!r}{refused.value.hint}"


def test_a_wrong_key_is_refused_and_no_key_is_shown(service: ServiceProcess) -> None:
    secret = "mvk_wrong-key-0123456789"
    with Client(service.url, secret) as client, pytest.raises(ServiceError) as refused:
        client.check()
    assert refused.value.status == 401
    shown = f"{client!r}{refused.value}{refused.value.hint}{vars(client)!r}"
    assert secret not in shown


@pytest.mark.parametrize("url", ["127.0.0.1:8420", "ftp://x", "http://", "", "http://user:pass@host"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not the address of a service"):
        Client(url, KEY)


@pytest.mark.parametrize("key", ["", "a b", "é", "a\nb"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_repeated(key: str) -> None:
    with pytest.raises(UsageError, match="missing or unreadable") as refused:
        Client("http://127.0.0.1:1", key)
    assert not key or key not in str(refused.value)


def test_a_service_that_is_not_there_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with Client(f"http://127.0.0.1:{taken.getsockname()[1]}", KEY, patience_s=0.3) as client:
            for call in (client.check, lambda: client.submit_run("aave_borrower"), lambda: client.wait("a-run")):
                with pytest.raises(ServiceUnreachable, match="does not answer"):
                    call()


EVENT = 'id: {0}\nevent: {1}\ndata: {{"id": {0}, "at": "2026-01-01T00:00:00Z", "kind": "{1}"}}\n\n'


@contextmanager
def broken_service(answers: list[tuple[int, str]]) -> Iterator[tuple[str, list[str | None]]]:
    """A server that gives each answer once and then closes the connection; the `Last-Event-ID`s of its requests."""
    asked: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("Last-Event-ID"))
            status, text = answers.pop(0)
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_a_broken_stream_is_opened_again_after_the_last_event_and_nothing_comes_twice() -> None:
    answers = [
        (200, EVENT.format(1, "queued") + ": waiting\n\n" + EVENT.format(2, "started")),
        (503, "{}"),
        (200, ""),
        (200, EVENT.format(2, "started") + EVENT.format(3, "retried") + "id: 4\ndata: {"),
        (200, EVENT.format(4, "started") + EVENT.format(5, "finished")),
    ]
    with broken_service(answers) as (url, asked), Client(url, KEY) as client:
        assert [event.id for event in client.events("a-run")] == [1, 2, 3, 4, 5]
    assert asked == [None, "2", "2", "2", "3"]


def test_a_stream_that_always_ends_at_once_is_given_up() -> None:
    with broken_service([(200, "")] * 20) as (url, asked), Client(url, KEY, patience_s=0.5) as client:
        with pytest.raises(ServiceUnreachable, match="ended the events"):
            list(client.events("a-run"))
        assert 1 < len(asked) < 20


def test_a_long_silent_stream_that_breaks_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mayavi.client.following._LASTING_S", 0.0)
    answers = [(200, "")] * 4 + [(200, EVENT.format(1, "queued") + EVENT.format(2, "finished"))]
    with broken_service(answers) as (url, _), Client(url, KEY, patience_s=0.21) as client:
        assert [event.id for event in client.events("a-run")] == [1, 2]


def test_a_refusal_in_the_middle_of_a_stream_ends_it() -> None:
    answers = [(200, EVENT.format(1, "queued")), (401, '{"message": "the key is revoked"}')]
    with (
        broken_service(answers) as (url, _),
        Client(url, KEY) as client,
        pytest.raises(ServiceError, match="the key is revoked"),
    ):
        list(client.events("a-run"))
