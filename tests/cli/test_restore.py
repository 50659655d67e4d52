"""Backup of a service at work, and its restoration by the commands of the page."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.load import not_once
from benchmarks.subjects.service import ServiceProcess, wait_for
from tests.pages import DOCS, Page

RUNS = 4


def restore_commands() -> str:
    text = Page(DOCS / "deployment.md").text
    return text.partition("<!-- run by tests/cli/test_restore.py -->\n```sh\n")[2].partition("```")[0]


@pytest.mark.slow(15)
def test_a_restored_service_has_every_run_once_and_executes_what_had_not_ended(tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path / "data", store=tmp_path / "data/runs/runs.duckdb")
    program = tmp_path / "bin/mayavi"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mayavi "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}

    def shell(script: str) -> str:
        finished = subprocess.run(
            ["sh", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    with service, service.client() as client:
        run_ids = [service.submit(client, seed=seed) for seed in range(RUNS)]
        wait_for(lambda: client.get(f"/runs/{run_ids[0]}").json()["status"] == "finished", "the first run to end")
        run_ids += [service.submit(client, seed=RUNS + seed, steps=40) for seed in range(RUNS)]
        shell("mayavi backup backup/2026-11-17")
        later = service.submit(client, seed=99)
        service.wait_for_runs(client, [*run_ids, later])
    listed = shell(restore_commands())
    assert run_ids[0] in listed
    assert later not in listed
    with service, service.client() as client:
        assert set(service.wait_for_runs(client, run_ids).values()) == {"finished"}
        assert client.get(f"/runs/{later}").status_code == 404
    assert not_once(service.store, run_ids) == []
