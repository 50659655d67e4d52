"""A forked command and one in a new interpreter are the same to whoever runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_server import LEARNING_HASHES, CommandServer
from tests.conftest import RunMayavi, command_environment


@pytest.fixture(scope="module")
def server() -> Iterator[CommandServer]:
    server = CommandServer()
    yield server
    server.close()


@pytest.mark.slow(0.5)
@pytest.mark.parametrize(
    ("arguments", "env", "code"),
    [
        (["--help"], {}, 0),
        (["scenarios", "schema"], {}, 0),  # more than a pipe holds
        (["scenarios", "show", "here.yaml"], {}, 2),  # looks into the folder it is run in
        (["snapshot", "info", "/nowhere", "--json"], {}, 2),
        (["snapshot", "info", "/dev/null"], {"MAYAVI_DEBUG": "0"}, 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_it_ends_and_prints_as_one_in_a_new_interpreter(
    server: CommandServer, start_mayavi: RunMayavi, tmp_path: Path, arguments: list[str], env: dict[str, str], code: int
) -> None:
    forked = server.run(arguments, command_environment(env), tmp_path)
    started = start_mayavi(*arguments, env=env, cwd=tmp_path)
    assert (forked.returncode, forked.stdout, forked.stderr) == (code, started.stdout, started.stderr)
    assert started.returncode == code


@pytest.mark.slow(3)
def test_nothing_of_one_command_is_left_to_the_next(server: CommandServer, tmp_path: Path) -> None:
    env = command_environment({"MAYAVI_CACHE_DIR": str(tmp_path)})
    built = server.run(["world", "build", "ethereum", "--json"], env)
    assert (built.returncode, json.loads(built.stdout)["chain"]) == (0, "ethereum")
    (replica,) = [path for path in tmp_path.rglob("*") if path.is_file() and "ethereum" in path.name]
    replica.write_bytes(b"damaged")
    again = server.run(["world", "build", "ethereum", "--json"], env)
    assert json.loads(again.stdout)["digest"] == json.loads(built.stdout)["digest"]
    assert "is built again" in again.stderr


@pytest.mark.slow
def test_a_command_that_does_not_end_is_ended(server: CommandServer, tmp_path: Path) -> None:
    arguments = ["run", "depeg_cascade", "--steps", "100000", "--store", str(tmp_path / "runs.duckdb")]
    with pytest.raises(subprocess.TimeoutExpired):
        server.run(arguments, command_environment({}), timeout_s=0.2)
    assert server.run(["--version"], command_environment({})).returncode == 0


@pytest.mark.slow(1)
def test_the_workers_of_a_test_run_share_a_server_and_one_that_comes_late_starts_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    first, second = (CommandServer(test_run=f"of-test-{os.getpid()}", preload=False) for _ in range(2))

    def ask(server: CommandServer) -> str:
        """The hash of a text, which is the same in forks of one process alone."""
        timed = ["-n", "1", "-r", "1", "print(hash('borrower'))"]
        return server.run(timed, command_environment({}), module="timeit").stdout.splitlines()[0]

    shared = ask(first)
    assert ask(second) == shared
    first.close()
    assert ask(second) == shared  # who has joined stays
    with tempfile.TemporaryFile() as out:
        command = second.start(["--version"], command_environment({}), out.fileno(), out.fileno())
        assert command.wait(60) == 0  # which needs a server that still listens
    second.close()
    assert ask(second) != shared
    second.close()


@pytest.mark.slow
def test_what_the_server_with_the_frameworks_forks_has_its_hash_seed(learning_server: CommandServer) -> None:
    timed = ["-n", "1", "-r", "1", "print(hash('borrower'))"]
    forked = learning_server.run(timed, command_environment({}), module="timeit")
    started = subprocess.run(
        [sys.executable, "-m", "timeit", *timed],
        env=command_environment({"PYTHONHASHSEED": LEARNING_HASHES}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert forked.stdout.splitlines()[0] == started.stdout.splitlines()[0]
