"""`mayavi new`: what it writes works as written, and it replaces nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, RunMayavi

WRITTEN = {
    "agent": ["my_agent.py", "my_agent.yaml", "test_my_agent.py"],
    "scenario": ["my_scenario.yaml", "test_my_scenario.py", "scenario.schema.json"],
    "env": ["my_env.py", "test_my_env.py"],
    "protocol": ["my_protocol.py", "my_protocol.yaml", "test_my_protocol.py"],
}


@pytest.fixture(scope="module")
def folder(run_mayavi: RunMayavi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which everything was written."""
    place = tmp_path_factory.mktemp("new")
    for kind, files in WRITTEN.items():
        finished = run_mayavi("new", kind, f"my_{kind}", "--json", cwd=place)
        assert finished.returncode == 0, finished.stderr
        document = json.loads(finished.stdout)
        assert (document["kind"], document["name"], document["files"]) == (kind, f"my_{kind}", files)
        assert document["next"][1] == f"pytest test_my_{kind}.py"
    return place


def test_it_writes_these_files_alone(folder: Path) -> None:
    assert sorted(each.name for each in folder.iterdir()) == sorted(name for each in WRITTEN.values() for name in each)


@pytest.mark.slow(20)
def test_the_tests_that_it_writes_pass_as_written(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "12 passed" in finished.stdout


@pytest.mark.slow(0.3)
def test_the_agent_runs_as_the_command_says(run_mayavi: RunMayavi, folder: Path, tmp_path: Path) -> None:
    place = ("--store", str(tmp_path / "runs.duckdb"))
    finished = run_mayavi("run", "my_agent.yaml", "--seed", "7", "--json", *place, cwd=folder)
    assert finished.returncode == 0, finished.stderr
    shown = run_mayavi("runs", "show", "latest", *place, cwd=tmp_path)
    assert "code      agent my_agent:MyAgent: my_agent, sha256 " in shown.stdout


def test_what_it_writes_follows_our_own_rules(folder: Path) -> None:
    files = [*map(str, folder.glob("*.py")), "--no-cache", "--config", str(REPOSITORY / "pyproject.toml")]
    for command in (["check", "--extend-ignore", "D103"], ["format", "--check"]):
        finished = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *files], capture_output=True, text=True, timeout=600, check=False
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["agnt", "saver"], "unknown kind of file 'agnt'"),
        (["agent", "Saver"], "'Saver' cannot be the name of a Python module"),
        (["agent", "my-saver"], "'my-saver' cannot be the name of a Python module"),
        (["agent", "../saver"], "'../saver' cannot be the name of a Python module"),
        (["agent", "class"], "'class' cannot be the name of a Python module"),
        (["agent", "test_saver"], "'test_saver' is the name of a test"),
        (["agent", "a" * 51], "the name has 51 letters"),
        (["agent", "json"], "there is a module 'json' already"),
        (["scenario", "mayavi"], "there is a module 'mayavi' already"),
        (["agent", "saver", "--folder", "nowhere"], "there is no folder 'nowhere'"),
    ],
)
def test_a_misuse_exits_with_2_and_writes_nothing(
    run_mayavi: RunMayavi, tmp_path: Path, arguments: list[str], message: str
) -> None:
    finished = run_mayavi("new", *arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert message in finished.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", WRITTEN)
def test_no_file_is_replaced_and_then_none_is_written(run_mayavi: RunMayavi, tmp_path: Path, kind: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "test_saver.py").write_text("mine")
    finished = run_mayavi("new", kind, "saver", "--folder", "inner", cwd=tmp_path)
    assert finished.returncode == 2
    assert "test_saver.py' exists already" in finished.stderr
    assert [each.name for each in (tmp_path / "inner").iterdir()] == ["test_saver.py"]
    assert (tmp_path / "inner" / "test_saver.py").read_text() == "mine"


@pytest.mark.slow
def test_an_adapter_of_a_compiled_contract_works_as_written(run_mayavi: RunMayavi, tmp_path: Path) -> None:
    vault = REPOSITORY / "examples" / "vault" / "Vault.sol"
    finished = run_mayavi("new", "protocol", "savings", "--artifact", str(vault), cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["savings.py", "test_savings.py"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "1 passed" in tested.stdout


def test_only_protocols_are_written_from_an_artifact(run_mayavi: RunMayavi, tmp_path: Path) -> None:
    finished = run_mayavi("new", "agent", "savings", "--artifact", "Vault.sol", cwd=tmp_path)
    assert finished.returncode == 2
    assert "--artifact is for protocols" in finished.stderr
    missing = run_mayavi("new", "protocol", "savings", "--artifact", "Nope.sol", cwd=tmp_path)
    assert missing.returncode == 2
    assert "there is no file 'Nope.sol'" in missing.stderr
    assert list(tmp_path.iterdir()) == []
