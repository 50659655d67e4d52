"""`mayavi serve` as a process: start, keys, logs, end."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.conftest import command_environment
from tests.interruption import heed_interruptions

KEY = re.compile(r"mvk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}")
PATIENCE_S = 600.0


class Serving:
    """A running `mayavi serve`."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.folder = folder
        self.data = folder / "service"
        self.log_path = folder / "log.jsonl"
        command = [sys.executable, "-m", "mayavi", "serve", "--port", "0", "--workers", "0"]
        command += ["--data", str(self.data), "--store", str(folder / "runs.duckdb"), *options]
        with self.log_path.open("w") as log, (folder / "printed").open("w") as printed:
            self.process = subprocess.Popen(
                command,
                stdout=printed,
                stderr=log,
                env=command_environment(environment),
                preexec_fn=heed_interruptions,
            )
        end = time.monotonic() + PATIENCE_S
        while "Application startup complete." not in self.log_path.read_text():
            assert self.process.poll() is None, self.log_path.read_text()
            assert time.monotonic() < end
            time.sleep(0.02)
        self.url = re.findall(r"address +(http://\S+)", self.printed)[0]

    @property
    def printed(self) -> str:
        """Standard output so far."""
        return (self.folder / "printed").read_text()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, wait for the end and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def log(self) -> list[dict[str, object]]:
        """Return the lines of the log; each must be a JSON object."""
        return [json.loads(line) for line in self.log_path.read_text().splitlines()]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    serving = Serving(tmp_path_factory.mktemp("serve"))
    yield serving
    serving.process.kill()
    serving.process.wait()


@pytest.mark.slow(6)
def test_a_service_from_its_first_start_to_the_next(serving: Serving, run_mayavi) -> None:
    """One process for all: what it prints, a key revoked by the command line, a stream at the end, the second start."""
    data = ("--data", str(serving.data))

    def create(*options: str) -> dict[str, str]:
        return json.loads(run_mayavi("keys", "create", "robot", *options, *data, "--json").stdout)

    made = create("--scope", "full")
    with httpx.Client(base_url=serving.url, timeout=PATIENCE_S, verify=False) as client:
        client.headers["Authorization"] = f"Bearer {made['key']}"
        assert client.get("/session").json()["key"]["name"] == "robot"
        assert run_mayavi("keys", "revoke", made["key_id"], *data).returncode == 0
        assert client.get("/session").status_code == 401  # at the next request

        client.headers["Authorization"] = f"Bearer {create('--scope', 'full')['key']}"
        submitted = client.post("/runs", json={"scenario": "aave_borrower", "steps": 2})
        assert submitted.status_code == 202, submitted.text
        with client.stream("GET", f"/runs/{submitted.json()['run_id']}/events") as stream:
            lines = stream.iter_lines()
            assert any("queued" in line for line in lines)
            serving.process.send_signal(signal.SIGTERM)
            rest = list(lines)  # ends in order: neither cut off nor waited for without end
            assert not any("failed" in line for line in rest)
    assert serving.process.wait(PATIENCE_S) == 0

    (first,) = KEY.findall(serving.printed)
    assert "shown this once" in serving.printed
    assert f"mayavi keys create NAME --scope full --data {serving.data}" in serving.printed
    messages = [entry.get("message") for entry in serving.log()]
    assert "Application shutdown complete." in messages
    assert not [entry for entry in serving.log() if entry["level"] == "error"]

    again = Serving(serving.folder, "--proxy-headers", "127.0.0.1")
    headers = {"Authorization": f"Bearer {first}", "X-Forwarded-For": "203.0.113.9"}
    assert httpx.get(f"{again.url}/session", headers=headers, timeout=PATIENCE_S).status_code == 200
    assert again.stop(signal.SIGINT) == 130
    assert not KEY.findall(again.printed)
    assert "203.0.113.9" in {entry.get("client") for entry in again.log()}


@pytest.mark.slow(1)
def test_the_log_says_what_was_asked_and_no_secret(tmp_path: Path) -> None:
    bootstrap = "bootstrap-key-of-the-environment"
    serving = Serving(tmp_path, MAYAVI_API_KEY=bootstrap)
    assert not KEY.findall(serving.printed)  # there is a key already
    strange = "/runs/%0a%7b%22event%22:%22forged%22%7d%1b[31m%7f"
    with httpx.Client(base_url=serving.url, timeout=PATIENCE_S, verify=False) as client:
        opened = client.post("/session", json={"key": bootstrap})
        assert opened.status_code == 201
        token = opened.json()["csrf_token"]
        made = client.post("/keys", json={"name": "x"}, headers={"X-CSRF-Token": token, "Origin": serving.url}).json()
        client.get("/session", params={"key": made["key"], "query": "in-the-query"})
        client.get(f"/{made['key']}", headers={"X-Request-ID": "chosen-id", "X-Forwarded-For": "203.0.113.9"})
        client.get(f"/{bootstrap}")
        client.get(strange)
        client.get("/runs", headers={"Authorization": "Bearer wrong-secret"})
        client.post("/runs", json={"scenario": "secret-in-the-body"}, headers={"Authorization": f"Bearer {bootstrap}"})
        cookie = client.cookies["mayavi_session"]
    assert serving.stop() == 0
    text = serving.log_path.read_text()
    for secret in (
        *(bootstrap, token, cookie, made["key"], made["key"].split("_", 2)[2]),
        *("wrong-secret", "secret-in-the-body", "in-the-query", "203.0.113.9"),
    ):
        assert secret not in text
    assert not re.search(r"[^\x20-\x7e\n]", text)
    assert {"login", "key created"} <= {entry["event"] for entry in serving.log()}
    made_line = next(entry for entry in serving.log() if entry["event"] == "key created")
    assert (made_line["by"], made_line["key_id"], made_line["scope"]) == ("bootstrap", made["key_id"], "read")
    requests = [entry for entry in serving.log() if entry["event"] == "request"]
    assert "forged" not in {entry["event"] for entry in serving.log()}
    chosen = next(entry for entry in requests if entry["request_id"] == "chosen-id")
    assert {"at", "level", "method", "route", "path", "status", "ms", "key_id", "client"} <= set(chosen)
    assert (chosen["method"], chosen["status"], chosen["client"]) == ("GET", 404, "127.0.0.1")
    who = next(entry for entry in requests if entry["route"] == "/session" and entry["method"] == "GET")
    assert (who["path"], who["status"], who["key_id"]) == ("/session", 200, "bootstrap")
    assert any(entry["path"] == '/runs/\n{"event":"forged"}\x1b[31m\x7f' for entry in requests)


@pytest.mark.slow
def test_what_cannot_be_served_is_refused(run_mayavi, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        finished = run_mayavi("serve", "--port", port, "--data", str(tmp_path / "a"))
    assert finished.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}: address already in use" in finished.stderr
    assert not (tmp_path / "a").exists()

    finished = run_mayavi("serve", "--host", "no.such.host.invalid", "--data", str(tmp_path / "a"))
    assert finished.returncode == 2
    assert "cannot listen on no.such.host.invalid" in finished.stderr

    finished = run_mayavi("serve", "--port", "0", "--data", str(tmp_path / "b"), env={"MAYAVI_API_KEY": "short"})
    assert finished.returncode == 2
    assert "MAYAVI_API_KEY" in finished.stderr
    assert "at least 20" in finished.stderr
