"""What every test may use: the reference data beside the project, the command as a process, hypothesis profiles."""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from mayavi import _kernel
from tests.command_server import CommandServer, needs_frameworks
from tests.missing import skip_or_fail
from tests.own_code import OwnCode
from tests.parallel.ray_cluster import SHARED_RAY
from tests.rewriting import prepare_share
from tests.scheduling import RAY, longest_first, make_scheduler, unit_of

REPOSITORY = Path(__file__).resolve().parent.parent

# Replicas and caches of the tests stay in the checkout, built once and away from the user's own.
os.environ.setdefault("MAYAVI_CACHE_DIR", str(REPOSITORY / ".cache" / "mayavi"))

# Ray turns token authentication on in the process that starts a cluster; a forked process would not know of it.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")

# Ray gives way to every other process, by 15 steps: its tests would wait until those of the other workers are done.
os.environ.setdefault("RAY_worker_niceness", "0")
os.environ.setdefault("RAY_prestart_worker_first_driver", "0")  # nor does it start processes that no test may need

# In CI the same examples every time, so that a red build is a fault of the change. Elsewhere fresh ones each run.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("local", deadline=None)
settings.register_profile("few", deadline=None, max_examples=10)  # the inner loop, which is run often
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "local"))

TEST_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID")
"""Name of the test run for all its workers; None where one process runs it."""

RunMayavi = Callable[..., subprocess.CompletedProcess[str]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--start-commands", action="store_true", help="start a new interpreter for every command instead of forking"
    )


def pytest_collection(session: pytest.Session) -> None:
    gc.disable()  # what is imported and collected stays: looking through it again and again takes as long as making it
    prepare_share(session.config, REPOSITORY / "mayavi")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    longest_first(items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return make_scheduler(config, log)


def pytest_collection_finish() -> None:
    gc.freeze()  # nor need it be looked through while tests run
    gc.enable()
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.propagate = True  # pytest would attach itself to forty loggers of torch and Ray, six times a test


@pytest.fixture(autouse=True)
def no_recording_contradicts_itself(request: pytest.FixtureRequest) -> Iterator[None]:
    """A run goes on after such a recording, which is a fault of the kernel all the same."""
    before = _kernel.recording_mismatches()
    yield
    if "spoils_recordings" not in request.keywords:
        assert _kernel.recording_mismatches() == before


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if nextitem is None or unit_of(nextitem.nodeid) != RAY:
        SHARED_RAY.close()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of real data the proofs run on: MAYAVI_CASES, or `shared` beside the checkout.

    Where it is absent the test is skipped, or fails when MAYAVI_REQUIRE_CASES=1 says that it must be there.
    """
    folder = Path(os.environ.get("MAYAVI_CASES") or REPOSITORY.parent / "shared")
    if not folder.is_dir():
        skip_or_fail(f"the reference data is not at '{folder}'; MAYAVI_CASES names its folder")
    return folder


@pytest.fixture(scope="session")
def start_mayavi() -> RunMayavi:
    """Run the real `mayavi` in a new interpreter, its output captured and its environment free of our settings."""

    def run(*arguments: str, env: Mapping[str, str] | None = None, **more: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mayavi", *arguments],
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
            env=command_environment(env),
            **more,  # type: ignore[call-overload]
        )

    return run


@pytest.fixture(scope="session")
def learning_server() -> Iterator[CommandServer]:
    """Fork server that has imported the training frameworks."""
    server = CommandServer(learning=True, test_run=TEST_RUN)
    yield server
    server.close()


@pytest.fixture(scope="session")
def run_mayavi(
    request: pytest.FixtureRequest, start_mayavi: RunMayavi, learning_server: CommandServer
) -> Iterator[RunMayavi]:
    """Run the real `mayavi` in a forked process, or as `start_mayavi` does under `--start-commands`."""
    if request.config.getoption("start_commands"):
        yield start_mayavi
        return
    plain = CommandServer(test_run=TEST_RUN)

    def run(
        *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        server = learning_server if needs_frameworks(arguments) else plain
        return server.run(arguments, command_environment(env), cwd)

    yield run
    plain.close()


@pytest.fixture(scope="session")
def train_process(learning_server: CommandServer) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Train in a separate process that may be killed: a fork, or a new interpreter if `hash_seed` is given."""
    module = "tests.rl.training.train_process"

    def run(*, hash_seed: str | None = None, **request: object) -> subprocess.CompletedProcess[str]:
        if hash_seed is None:
            return learning_server.run([json.dumps(request)], command_environment(None), REPOSITORY, module=module)
        command = [sys.executable, "-m", module, json.dumps(request)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=1800, check=False
        )

    return run


@pytest.fixture
def shared_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings in this and other processes join the Ray of all tests in `RAY_FILES`, instead of starting their own."""
    monkeypatch.setenv("RAY_ADDRESS", SHARED_RAY.address())


@pytest.fixture
def own_code(tmp_path: Path) -> Iterator[OwnCode]:
    """Modules and packages of a user, importable for one test."""
    code = OwnCode(tmp_path)
    yield code
    code.forget()


def command_environment(more: Mapping[str, str] | None) -> dict[str, str]:
    """Ours without what would change the output of a command, and `more`."""
    ours = {key: value for key, value in os.environ.items() if key not in {"MAYAVI_DEBUG", "NO_COLOR"}}
    return ours | dict(more or {})
