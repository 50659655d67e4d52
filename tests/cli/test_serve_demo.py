"""`mayavi serve --demo`: examples in a folder of their own, a link that logs in, and only for this machine."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from benchmarks.subjects.service import wait_for
from mayavi.api.demo import EXAMPLES
from mayavi.api.models.sweeps import SweepSubmission
from tests.interruption import heed_interruptions


class Demo:
    """A running demo, as its output describes it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.said = [process.stdout.readline() for _ in range(3)]
        self.facts = dict(line.split(maxsplit=1) for line in self.said)
        self.link = self.facts["open"].strip()
        self.client = httpx.Client(
            base_url=self.link.partition("/app/")[0],
            headers={"Authorization": f"Bearer {self.facts['key'].strip()}"},
            timeout=300,
            verify=False,
        )

    def runs(self, **filters: str) -> list[dict]:
        answer = self.client.get("/runs", params={"single": "true", **filters})
        return answer.raise_for_status().json()["items"]


@contextmanager
def demo(folder: Path) -> Iterator[Demo]:
    command = [sys.executable, "-m", "mayavi", "serve", "--demo", "--port", "0"]
    with open(folder / "log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=heed_interruptions
        )
    try:
        started = Demo(process)
        with started.client:
            wait_for(lambda: reachable(started), "the demo to answer")
            yield started
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)


def reachable(started: Demo) -> bool:
    try:
        return started.client.get("/healthz").is_success
    except httpx.TransportError:
        return False


@pytest.mark.slow(15)
def test_a_demo_has_examples_and_a_second_start_has_the_same_ones(tmp_path: Path) -> None:
    with demo(tmp_path) as first:
        assert first.link.endswith(f"/app/#key={first.facts['key'].strip()}")
        assert first.link.startswith("http://127.0.0.1:")
        wait_for(lambda: first.runs(status="finished"), "the first example to finish")
        singles = sum(not isinstance(each, SweepSubmission) for each in EXAMPLES)
        wait_for(lambda: len(first.runs()) == singles, "all examples to be queued")
        known = {each["run_id"] for each in first.runs()}
        assert (tmp_path / "data/demo-service/service.sqlite").exists()
        assert not (tmp_path / "data/runs").exists()
    with demo(tmp_path) as second:
        assert {each["run_id"] for each in second.runs()} == known
        former = {"Authorization": f"Bearer {first.facts['key'].strip()}"}
        assert second.client.get("/runs", headers=former).status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "demo.example.org"])
def test_a_demo_is_for_this_machine_only(run_mayavi, host: str, tmp_path: Path) -> None:
    finished = run_mayavi("serve", "--demo", "--host", host, cwd=tmp_path)
    assert finished.returncode == 2
    assert f"--demo does not listen on {host}" in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_a_scenario_that_the_service_accepts() -> None:
    from mayavi.api.queue.scenarios.inline_scenarios import check_submission, check_sweep

    for each in EXAMPLES:
        if isinstance(each, SweepSubmission):
            assert check_sweep(each)
        else:
            assert check_submission(each).name == each.scenario
