"""The frame of the service: errors, headers, health, metrics, its OpenAPI document."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mayavi import __version__
from mayavi.api.errors import ApiError
from mayavi.api.openapi import EVERYWHERE, operations
from mayavi.api.security.caller import Reader
from mayavi.api.security.headers import report_headers
from mayavi.errors import SetupError, StoreFull, UnknownRun, UsageError
from tests.api.live_server import LiveServer

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A service with routes that fail."""
    server = LiveServer(tmp_path_factory.mktemp("service"))
    failures: dict[str, Exception] = {
        "bug": RuntimeError("the secret is mvk_01234567_abcdefghijkl"),
        "api": ApiError(409, "it exists", "take another", headers={"X-Extra": "1"}),
        "usage": UsageError("a wrong value", "give another"),
        "run": UnknownRun("unknown run 'x'"),
        "full": StoreFull("no space left"),
        "setup": SetupError("not built", "build it"),
    }

    @server.app.get("/fails/{how}", include_in_schema=False)
    def fails(how: str) -> None:
        raise failures[how]

    @server.app.get("/read", include_in_schema=False)
    async def read(caller: Reader) -> dict[str, int]:
        return {"concurrent_jobs": caller.concurrent_jobs}

    with server:
        yield server


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [
        ("api", 409, "conflict"),
        ("usage", 422, "invalid"),
        ("run", 404, "not_found"),
        ("full", 503, "unavailable"),
        ("setup", 503, "unavailable"),
        ("bug", 500, "internal"),
    ],
)
def test_every_error_has_one_form(server: LiveServer, how: str, status: int, code: str) -> None:
    with server.client() as client:
        answer = client.get(f"/fails/{how}", headers={"X-Request-ID": "here"})
    body = answer.json()
    assert answer.status_code == status
    assert set(body) == {"code", "message", "hint", "request_id", "problems"}
    assert (body["code"], body["request_id"]) == (code, "here")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_a_bug_is_logged_and_not_shown(server: LiveServer, capfd: pytest.CaptureFixture[str]) -> None:
    with server.client() as client:
        answer = client.get("/fails/bug", headers={"X-Request-ID": "bug-1"})
    logged = capfd.readouterr().err
    assert "secret" not in answer.text
    assert "RuntimeError" in logged
    assert "bug-1" in logged
    assert "mvk_01234567_" in logged
    assert "abcdefghijkl" not in logged


def test_unknown_paths_and_methods_say_so(server: LiveServer) -> None:
    with server.client() as client:
        missing, method = client.get("/nowhere"), client.delete("/healthz")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (method.status_code, method.json()["code"], method.headers["allow"]) == (405, "method_not_allowed", "GET")


def test_problems_of_a_request_are_all_named_without_their_values(server: LiveServer) -> None:
    with server.client(server.full) as client:
        body = {"name": "", "scope": "hidden-value", "more": 1}
        answer = client.post("/keys", json=body)
    problems = answer.json()["problems"]
    assert answer.status_code == 422
    assert {problem["field"] for problem in problems} == {"name", "scope", "more"}
    assert "hidden-value" not in answer.text


def test_answers_have_security_headers(server: LiveServer) -> None:
    with server.client() as client:
        headers = client.get("/healthz").headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["script-src"] == policy["frame-ancestors"] == "'self'"
    assert policy["object-src"] == policy["base-uri"] == "'none'"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_reports_run_their_scripts_without_our_origin() -> None:
    policy = report_headers()["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts allow-popups allow-downloads;")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy


def test_health_needs_no_key(server: LiveServer) -> None:
    with server.client() as client:
        assert client.get("/healthz").json() == {"status": "ok", "version": __version__}
        ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json() == {"ready": True, "checks": dict.fromkeys(("database", "store", "workers", "disk"), "ok")}


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_a_service_that_cannot_work_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LiveServer(tmp_path) as server, server.client() as client:
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**12, 10**12, 5))
        server.service.store.path.write_bytes(b"this is not a database of runs" * 1000)
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["ready"] is False
    assert answer.json()["checks"]["disk"] == "less than 200 MB free"
    assert answer.json()["checks"]["store"].startswith("the database of runs cannot be read")
    assert str(tmp_path) not in answer.text


def test_metrics_count_requests_jobs_and_limits(server: LiveServer) -> None:
    limited = str(server.service.keys.create("limited", requests_per_minute=1)[1])
    with server.service.database.writing() as connection:
        rows = [("a", 1, "queued", None, None), ("b", 2, "finished", 10.0, 12.5), ("c", 3, "finished", 10.0, 11.0)]
        for job_id, place, status, started, ended in rows:
            connection.execute(
                "INSERT INTO jobs (job_id, place, kind, status, scenario, chain, submission, key_id, owner,"
                " submitted_at, started_at, ended_at) VALUES (?, ?, 'run', ?, '', '', '', '', '', 1, ?, ?)",
                (job_id, place, status, started, ended),
            )
    with server.client(server.read) as client, server.client(limited) as other:
        assert [other.get("/session").status_code for _ in range(3)] == [200, 429, 429]
        client.get("/nowhere/at/all")
        answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for line in (
        'mayavi_requests_total{method="GET",route="/session",status="429"} 2.0',
        'mayavi_requests_total{method="GET",route="unknown",status="404"}',
        'mayavi_rate_limited_requests_total{route="/session"} 2.0',
        'mayavi_request_seconds_count{method="GET",route="/session"} 3.0',
        'mayavi_jobs{kind="run",status="queued"} 1.0',
        'mayavi_jobs{kind="run",status="finished"} 2.0',
        'mayavi_job_seconds_count{kind="run",status="finished"} 2.0',
        'mayavi_job_seconds_sum{kind="run",status="finished"} 3.5',
        "mayavi_worker_restarts_total 0.0",
        f'mayavi_info{{version="{__version__}"}} 1.0',
    ):
        assert line in answer.text
    assert "/nowhere" not in answer.text  # paths of strangers make no new series


@pytest.mark.slow(0.4)
def test_the_page_of_the_service_lists_every_route_and_metric(server: LiveServer, repository: Path) -> None:
    page = (repository / "docs/reference/service.md").read_text()
    written = dict(re.findall(r"^\| `([A-Z]+ /[^`]*)` \| `?(open|read|full)`? \|", page, re.M))
    documented = server.app.openapi()["paths"]
    found = {
        f"{each.method} {each.path}": each.access
        for each in operations(server.app)
        if each.method.lower() in documented.get(each.path, {})
    }
    assert written == found
    with server.client(server.read) as client:
        metrics = set(re.findall(r"^# TYPE (\w+) ", client.get("/metrics").text, re.M))
    assert {name for name in metrics if not name.endswith("_created")} == set(
        re.findall(r"^\| `(mayavi_\w+)` ", page, re.M)
    )


def test_a_caller_knows_its_limit_of_jobs(server: LiveServer) -> None:
    key = str(server.service.keys.create("busy", concurrent_jobs=7)[1])
    with server.client(key) as client:
        assert client.get("/read").json() == {"concurrent_jobs": 7}


def test_the_openapi_document_has_every_answer_and_who_may_ask(server: LiveServer) -> None:
    with server.client() as client:
        answer = client.get("/openapi.json")
    document = answer.json()
    assert document["components"]["securitySchemes"]["key"] == {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of `mayavi keys create`.",
    }
    names = set()
    for operation in operations(server.app):
        described = document["paths"].get(operation.path, {}).get(operation.method.lower())
        if described is None:
            continue
        names.add(described["operationId"])
        assert ("security" in described) == (operation.access != "open"), operation
        expected = set(EVERYWHERE) | ({401, 429} if operation.access != "open" else set())
        expected |= {403} if operation.access == "full" else set()
        assert {str(status) for status in expected} <= set(described["responses"]), operation
        for status, described_answer in described["responses"].items():
            if status >= "400" and (operation.path, status) != ("/readyz", "503"):
                assert described_answer["content"]["application/json"]["schema"]["$ref"].endswith("/Error")
    assert {"submit_run", "list_runs", "log_in", "who_am_i", "healthz", "create_key"} <= names
    assert all(name.isidentifier() for name in names)
    assert len(names) == sum(len(methods) for methods in document["paths"].values())


@pytest.mark.parametrize(
    ("body", "headers", "message", "hint"),
    [
        ('{"scenario": "x"}', {}, "the body is not sent as JSON", "send the header `Content-Type: application/json`"),
        ('{"scenaro": "x"}', JSON, "'scenaro': unknown key", "did you mean 'scenario'?"),
        ('{"zzz": 1}', JSON, "'zzz': unknown key", "known here: chain, overrides, scenario, seed, steps, yaml"),
        ('{"scenario": "x", "steps": "many"}', JSON, "'steps': must be a whole number", None),
        ('{"scenario": "x", "steps": 0}', JSON, "'steps': must be at least 1", None),
        ('{"scenario": 3}', JSON, "'scenario': must be text", None),
        ("{", JSON, "the body is not JSON: Expecting property name", None),
        ("", JSON, "the body is missing", None),
    ],
)
def test_a_wrong_body_is_explained_in_plain_words(
    server: LiveServer, body: str, headers: dict[str, str], message: str, hint: str | None
) -> None:
    with server.client(server.full) as client:
        answer = client.post("/runs", content=body, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(message)
    assert answer.json()["hint"] == hint
