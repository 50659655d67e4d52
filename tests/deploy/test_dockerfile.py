"""The image, as far as it can be checked without Docker: sources, stages, user, and that every command is one."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath

import pytest
from typer.main import get_command

from benchmarks.subjects.service import ServiceProcess, wait_for
from mayavi.cli.app import app_of
from tests.deploy.dockerfile import Stage, copies, read_stages


@pytest.fixture(scope="module")
def stages(repository: Path) -> list[Stage]:
    return read_stages(repository / "deploy/Dockerfile")


def test_everything_that_is_copied_exists_in_the_checkout(stages: list[Stage], repository: Path) -> None:
    sources = [source for stage in stages for each in copies(stage) if each.stage is None for source in each.sources]
    assert {"kernel/", "mayavi/", "pyproject.toml", "web/package-lock.json"} <= set(sources)
    for source in sources:
        assert (repository / source).exists(), source


def test_the_context_holds_what_is_copied_and_no_more(stages: list[Stage], repository: Path) -> None:
    lines = (repository / "deploy/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    allowed = {line[1:] for line in lines if line.startswith("!")}
    sources = {source for stage in stages for each in copies(stage) if each.stage is None for source in each.sources}
    assert {PurePosixPath(source).parts[0] for source in sources} == allowed


def test_the_wheel_is_built_from_everything_that_it_contains(stages: list[Stage], repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    (wheel,) = [stage for stage in stages if stage.name == "wheel"]
    given = {source.rstrip("/") for each in copies(wheel) for source in each.sources if each.stage is None}
    needed = {project["project"]["readme"], *project["project"]["license-files"], "kernel", "mayavi"}
    assert needed <= given


def test_a_stage_copies_only_from_stages_before_it(stages: list[Stage]) -> None:
    known: set[str] = set()
    for stage in stages:
        assert {each.stage for each in copies(stage)} - {None} <= known
        known.add(stage.name)
    pinned = re.compile(r"^[a-z]+:[0-9.]+-")
    assert all(stage.base in known or pinned.match(stage.base) for stage in stages)


def test_the_toolchains_are_those_that_the_project_needs(stages: list[Stage], repository: Path) -> None:
    wanted = (repository / "tools/toolchain").read_text(encoding="utf-8")
    bases = [stage.base for stage in stages]
    for tool, variable in (("python", "python_at_least"), ("rust", "cargo_at_least")):
        (version,) = re.findall(rf'^{variable}="([0-9.]+)"$', wanted, re.MULTILINE)
        assert any(base.startswith(f"{tool}:{version}-") for base in bases), (tool, version)


def test_the_last_stage_runs_as_nobody_in_particular_and_keeps_its_data(stages: list[Stage]) -> None:
    last = stages[-1]
    user, _, group = last.last("USER").partition(":")
    assert int(user) >= 10_000
    assert int(group) >= 10_000
    assert last.last("VOLUME") == last.last("WORKDIR") == "/data"
    kinds = [word for word, _ in last.instructions]
    assert kinds.index("USER") > max(index for index, word in enumerate(kinds) if word in {"RUN", "COPY"})


def test_the_command_is_one_that_mayavi_knows(stages: list[Stage]) -> None:
    last = stages[-1]
    assert last.array("ENTRYPOINT") == ["mayavi"]
    name, *options = last.array("CMD")
    command = get_command(app_of()).commands[name]  # type: ignore[attr-defined]
    given = command.make_context("serve", options, resilient_parsing=False).params
    assert last.last("EXPOSE") == str(given["port"])
    assert str(given["data"]).startswith(f"{last.last('VOLUME')}/")
    assert f"http://127.0.0.1:{given['port']}/readyz" in last.last("HEALTHCHECK")


@pytest.mark.slow(5)
def test_the_health_check_passes_while_the_service_is_ready_and_fails_afterwards(
    stages: list[Stage], tmp_path: Path
) -> None:
    program, *arguments = json.loads(stages[-1].last("HEALTHCHECK").partition("CMD ")[2])
    assert program == "python"
    service = ServiceProcess(tmp_path / "service")
    command = [sys.executable, *(each.replace(":8420", f":{service.port}") for each in arguments)]
    with service:
        wait_for(lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0, "a healthy service")
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("index", range(5))
def test_every_shell_line_can_be_parsed(stages: list[Stage], index: int) -> None:
    assert len(stages) == 5
    for line in stages[index].all("RUN"):
        assert shlex.split(line)
        subprocess.run(["sh", "-n", "-c", line], check=True)
