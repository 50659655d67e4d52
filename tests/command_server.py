"""Fork server for commands: one process imports the package and forks a child for each command.

All workers of a test run share it. The tests run commands this way; `pytest --start-commands` starts a new interpreter
for each instead. A forked command has its own arguments, environment, folder, output and exit code. A fork hides faults
at import and hash randomisation: a test of these asks for `start_mayavi`, and `tests/cli/test_fresh_starts.py` starts
an interpreter for every command.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import uuid
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tests.forked_process import ForkedProcess, ask, read, read_number, send_number

if TYPE_CHECKING:
    import pytest

PACKAGES = ("agents", "cli", "evm", "markets", "protocols", "replay", "report", "scenarios", "sim", "worlds")
MODULES = (
    *("duckdb", "rich.console", "rich.progress", "rich.table"),
    *(
        "mayavi.rl.training.backend",
        "mayavi.portfolio.backtest.episodes",
        "mayavi.rl.config",
        "mayavi.portfolio.backtest.models",
    ),
    *("mayavi.rl.evaluation.models", "mayavi.rl.training.warming"),
)
"""Modules that every server imports beside our packages. None of them imports torch, whose hundreds of megabytes make
a fork slower than most commands."""

SERVICE_MODULES = ("mayavi.api.app", "mayavi.api.server", "mayavi.api.queue.workers.worker_option")
"""Those of `mayavi serve`, for the server without frameworks."""

LEARNING_COMMANDS = frozenset({"artifact", "backtest", "eval", "train"})
"""Commands that load a framework, as `validate envs` and `validate` with all gates do: a second server, which has
imported them, forks these."""


def needs_frameworks(arguments: Sequence[str]) -> bool:
    """Whether the command with `arguments` loads a framework."""
    if tuple(arguments[:2]) in {("validate", "envs"), ("validate", "--json")}:
        return True
    return bool(arguments) and arguments[0] in LEARNING_COMMANDS


LEARNING_HASHES = "1"
"""Hash seed of the server with the frameworks, and so of all that it forks: a training that goes on in an interpreter
with another one must not notice."""

LEARNING_MODULES = (
    *("torch", "tensorboard", "stable_baselines3", "sb3_contrib"),
    *("ray.rllib.algorithms.ppo", "ray.rllib.algorithms.sac", "ray.rllib.algorithms.dqn"),
    *("mayavi.rl.fast.trainer", "mayavi.rl.sb3.trainer", "mayavi.rl.rllib.trainer", "mayavi.gym_env.market.env"),
    *("ray.rllib.algorithms.cql", "ray.rllib.algorithms.ppo.torch.ppo_torch_learner"),
    *("ray.autoscaler.v2.utils", "ray.dag.compiled_dag_node", "aiohttp.web", "pydantic.v1.fields"),
    "scipy.signal",
)
"""The last two lines are what Ray imports when it starts, and RLlib's SAC when it learns."""


class CommandServer:
    """A fork server for commands, started with the first one; `learning` preloads the training frameworks.

    Without `preload` it imports nothing beforehand, for tests of the server itself.
    Servers with the same `test_run` share one process. It ends with the worker that started it; the next worker starts
    another.
    """

    def __init__(self, *, learning: bool = False, test_run: str | None = None, preload: bool = True) -> None:
        self._learning = learning
        self._preload = preload
        name = f"mayavi-commands-{test_run or uuid.uuid4().hex}-{int(learning)}"
        self._place = Path(tempfile.gettempdir()) / name
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def run(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | None = None,
        timeout_s: float = 1800,
        module: str = "mayavi",
    ) -> subprocess.CompletedProcess[str]:
        """Run `python -m MODULE ARGUMENTS` in a fork and return what `subprocess.run` would, output as text."""
        channel = self._open()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            channel.settimeout(timeout_s)
            pid = ask(channel, module, arguments, env, cwd, (out.fileno(), err.fileno()))
            try:
                code = read_number(channel)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self.close()
                raise subprocess.TimeoutExpired(list(arguments), timeout_s) from None
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode().replace("\r\n", "\n"))
        return subprocess.CompletedProcess(list(arguments), code, *texts)

    def start(self, arguments: Sequence[str], env: Mapping[str, str], out: int, err: int) -> ForkedProcess:
        """Start `python -m mayavi ARGUMENTS` in a fork that writes to two file descriptors, and do not wait for it.

        It has a session of its own: whoever ends its process group, as Ray does, does not end the tests.
        """
        self._open()
        try:
            channel = self._join()
        except (FileNotFoundError, ConnectionRefusedError):  # the worker that had started the server is done
            self.close()
            self._open()
            channel = self._join()
        pid = ask(channel, "mayavi", arguments, env, None, (out, err), own_session=True)
        return ForkedProcess(channel, pid)

    def close(self) -> None:
        """Leave the process that forks, and end it if it was started here."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()  # which it takes for the end
            self._process.wait(timeout=600)
            self._process = None
            self._place.unlink(missing_ok=True)
            self._place.with_suffix(".lock").unlink(missing_ok=True)

    def _open(self) -> socket.socket:
        if self._channel is None:
            with self._place.with_suffix(".lock").open("w") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                try:
                    self._channel = self._join()
                except (FileNotFoundError, ConnectionRefusedError):
                    self._start()
                    self._channel = self._join()
        return self._channel

    def _join(self) -> socket.socket:
        channel = socket.socket(socket.AF_UNIX)
        try:
            channel.connect(str(self._place))
        except OSError:
            channel.close()
            raise
        return channel

    def _start(self) -> None:
        self._place.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._place))
            listener.listen()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.command_server", str(listener.fileno()), self._preloaded()],
                pass_fds=[listener.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                cwd=Path(__file__).resolve().parent.parent,
                env=os.environ | ({"PYTHONHASHSEED": LEARNING_HASHES} if self._learning else {}),
            )

    def _preloaded(self) -> str:
        if not self._preload:
            return "nothing"
        return "frameworks" if self._learning else "commands"


@contextmanager
def fork_server(config: pytest.Config) -> Iterator[CommandServer | None]:
    """The server of this test run for fixtures that start services; None under `--start-commands`."""
    if config.getoption("start_commands"):
        yield None
        return
    server = CommandServer(test_run=os.environ.get("PYTEST_XDIST_TESTRUNUID"))
    try:
        yield server
    finally:
        server.close()


def serve_forks(listener: socket.socket) -> socket.socket:
    """Serve fork requests until the parent process ends. Returns the client's connection, in the child process only."""
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            os._exit(0)
        channel, _ = listener.accept()
        if not os.fork():
            listener.close()
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.close(nothing)
            return channel
        channel.close()


def serve(channel: socket.socket) -> tuple[str, list[str]]:
    """Fork for every request until the other end closes. Returns in the child alone: its module and arguments."""
    while True:
        header, descriptors, _, _ = socket.recv_fds(channel, 4, 2)
        if not header:
            os._exit(0)
        request = json.loads(read(channel, int.from_bytes(header, "big")))
        child = os.fork()
        if not child:
            channel.close()
            if request["own_session"]:
                os.setsid()
            for stream, descriptor in enumerate(descriptors, start=1):
                os.dup2(descriptor, stream)
                os.close(descriptor)
            os.environ.clear()
            os.environ.update(request["env"])
            os.chdir(request["cwd"])
            sys.path[0] = request["cwd"]  # where `python -m` looks first
            given = request["env"].get("PYTHONPATH", "").split(os.pathsep)
            sys.path[1:1] = [place for place in given if place and place not in sys.path]
            importlib.invalidate_caches()
            return request["module"], list(request["arguments"])
        for descriptor in descriptors:
            os.close(descriptor)
        send_number(channel, child)
        _, status = os.waitpid(child, 0)
        send_number(channel, os.waitstatus_to_exitcode(status))


def leave(code: object) -> NoReturn:
    """End as every process does, but for the pulling down of what only the imports built."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else code is not None)


def import_beforehand(learning: bool) -> None:
    """Import what commands work with, the frameworks too if `learning`."""
    for name in PACKAGES:
        package = importlib.import_module(f"mayavi.{name}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the frameworks' own
        for name in (*MODULES, *(LEARNING_MODULES if learning else SERVICE_MODULES)):
            importlib.import_module(name)
    from mayavi.scenarios.loading import load_scenario
    from mayavi.scenarios.registry import names

    for name in names():  # the models of a scenario are made when the first one is read, and its text is parsed
        load_scenario(name)
    leave_imports_standing()


def leave_imports_standing() -> None:
    """Keep children from pulling down at exit what only the imports built, which takes longer than many a command."""
    for made in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        made.atexit = False
    if "ray" in sys.modules:
        import ray

        atexit.unregister(ray._private.worker.shutdown)
        atexit.register(lambda: ray.is_initialized() and ray.shutdown(True))


if __name__ == "__main__":
    if (preloaded := sys.argv.pop()) != "nothing":
        import_beforehand(learning=preloaded == "frameworks")
    gc.freeze()  # what is there already need not be looked through, and copied, by every child
    try:
        with serve_forks(socket.socket(fileno=int(sys.argv[1]))) as asker:
            wanted, sys.argv[1:] = serve(asker)
    except (BrokenPipeError, KeyboardInterrupt):  # the asker has left, or everything is interrupted
        os._exit(1)
    try:
        runpy.run_module(wanted, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        leave(end.code)
    except BaseException:
        traceback.print_exc()
        leave(1)
    leave(None)
