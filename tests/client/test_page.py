"""Check docs/how-to/use-the-service.md: its Python blocks print what the page shows, its commands work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mayavi.api.queue.scenarios import inline_scenarios, yaml_limits
from mayavi.api.settings import ServiceSettings
from mayavi.client import Client
from tests.api.queue.service_process import KEY, ServiceProcess
from tests.conftest import RunMayavi
from tests.pages import page

PAGE = page("how-to/use-the-service.md")
ADDRESS = "http://127.0.0.1:8420"


@pytest.mark.slow
def test_the_python_blocks_print_what_the_page_shows(
    service: ServiceProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAYAVI_API_KEY", KEY)
    namespace: dict[str, Any] = {}
    blocks, outputs = PAGE.blocks("python"), PAGE.blocks()
    assert len(blocks) == len(outputs)
    for code, shown in zip(blocks, outputs, strict=True):
        assert PAGE.execute(code.replace(ADDRESS, service.url), namespace) == shown
    namespace["client"].close()


@pytest.mark.slow
def test_the_first_command_runs(run_mayavi: RunMayavi, service: ServiceProcess) -> None:
    command = PAGE.commands()[0].replace(ADDRESS, service.url).split()[1:]
    found = run_mayavi(*command, "--steps", "4", env={"MAYAVI_API_KEY": KEY})
    assert found.returncode == 0, found.stderr


def test_the_page_names_every_public_method_of_the_client() -> None:
    methods = {name for name, each in vars(Client).items() if not name.startswith("_") and callable(each)}
    assert methods - {"close", "check"} <= set(re.findall(r"`(\w+)`", PAGE.section("From Python")))


def test_the_limits_are_those_of_the_code(tmp_path: Path) -> None:
    settings = ServiceSettings(data=tmp_path, store=tmp_path / "runs.duckdb")
    text = PAGE.section("What a submitted scenario may not do")
    assert yaml_limits.MOST_BYTES == 256 * 1024
    for limit in (
        f"{yaml_limits.MOST_VALUES:,} values, {yaml_limits.DEEPEST} levels",
        f"{inline_scenarios.MOST_WORK:,} steps times agents",
        f"{inline_scenarios.MOST_RUNS:,}, at no more than {inline_scenarios.MOST_POINTS} points",
        f"{inline_scenarios.MOST_OVERRIDES}, each of {inline_scenarios.LONGEST_OVERRIDE:,} characters",
        f"{settings.job_memory_mb:,} MiB",
    ):
        assert limit in text
    assert settings.job_seconds == 3600
