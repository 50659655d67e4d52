"""Comparison with pyrevm and verbs: same world, same calldata, same rounds.

Each peer is built from its source package into its own environment under `.cache/bench`, and runs there as a process
that answers one round at a time. The first build takes minutes; if it fails, the section says why and continues.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Unavailable, timed
from benchmarks.measuring.timing import count_for, in_turns
from benchmarks.subjects.position import (
    BENCH_CACHE,
    BORROWER,
    REPOSITORY,
    Call,
    Position,
    open_position,
    seconds_a_call,
)
from mayavi.cli.console.output import is_terminal
from mayavi.evm.hashing import keccak256
from mayavi.evm.snapshot.contents import WorldContents

ROUNDS = 31


@dataclass(frozen=True)
class Peer:
    """Another Python EVM."""

    name: str
    version: str
    runner: str

    @property
    def python(self) -> Path:
        """Interpreter of the peer's environment."""
        return BENCH_CACHE / self.name / "bin" / "python"


PEERS = [
    Peer("pyrevm", "0.3.7", "benchmarks.peer.run_pyrevm"),
    Peer("verbs", "0.4.1", "benchmarks.peer.run_verbs"),
]


def measure(effort: Effort) -> Section:
    """Measure Mayavi and every available peer per call, with the gas of the first and of a later call."""
    section = Section("peers", "one call, calldata encoded beforehand: Mayavi and its peers")
    position = open_position()
    with ExitStack() as stack:
        world = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "world.json"
        world.write_text(json.dumps(export(position)), encoding="utf-8")
        runners: dict[str, Runner] = {}
        for peer in PEERS:
            try:
                prepare(peer)
                runners[f"{peer.name} {peer.version}"] = stack.enter_context(Runner(peer, world))
            except Unavailable as error:
                section.notes.append(str(error))
        for call in position.calls:
            section.rows += compare(call, position, runners, effort, section.notes)
    if not runners:
        section.skipped = "no peer builds here"
    return section


def compare(call: Call, position: Position, runners: dict[str, Runner], effort: Effort, notes: list[str]) -> list[Row]:
    """Compare one call. Peers with another output are listed in `notes`."""
    fork = position.frozen
    gas = fork.copy().send(call.to, call.data, BORROWER).gas_used
    output = fork.call(call.to, call.data, BORROWER)
    count = count_for(lambda: fork.call(call.to, call.data, BORROWER), effort.round_seconds)
    first = {name: runner.ask(call.name, 1) for name, runner in runners.items()}
    notes += [
        f"{name} gives another output for {call.name}: 0x{answer.output.hex()}"
        for name, answer in first.items()
        if answer.output != output
    ]

    def asking(runner: Runner) -> Callable[[], float]:
        return lambda: runner.ask(call.name, count).seconds / count

    contestants = {"mayavi": lambda: seconds_a_call(fork, call, count)}
    contestants |= {name: asking(runner) for name, runner in runners.items()}
    timings = in_turns(contestants, effort.rounds(ROUNDS))
    later = {name: runner.ask(call.name, 1) for name, runner in runners.items()}
    rows = [timed(f"{call.name}, mayavi", timings["mayavi"], "µs", gas_first=Quantity(gas, "gas"))]
    rows[0].figures["gas_later"] = Quantity(gas, "gas")
    for name in runners:
        beside = {
            "gas_first": Quantity(first[name].gas, "gas"),
            "gas_later": Quantity(later[name].gas, "gas"),
            "ratio": Quantity(timings[name].ratio(timings["mayavi"]), "×"),
        }
        rows.append(timed(f"{call.name}, {name}", timings[name], "µs", **beside))
    return rows


def export(position: Position) -> dict[str, Any]:
    """Return the world and the calls in the runners' format."""
    contents = WorldContents.of(position.dump)
    accounts = {
        address.hex(): {
            "balance": hex(account.balance),
            "nonce": account.nonce,
            "code": account.code.hex(),
            "code_hash": keccak256(account.code).hex(),
            "slots": {hex(slot): hex(value) for slot, value in account.slots.items()},
        }
        for address, account in contents.accounts.items()
    }
    calls = {
        call.name: {"to": call.to.hex(), "data": call.data.hex(), "sender": BORROWER.hex(), "writes": call.writes}
        for call in position.calls
    }
    block = contents.block
    return {"number": block["number"], "timestamp": block["timestamp"], "accounts": accounts, "calls": calls}


# -- environments of their own ----------------------------------------------------------------------------------------


def prepare(peer: Peer) -> None:
    """Build the peer from its source package if needed; raise `Unavailable` with the reason if that fails."""
    if installed_version(peer) == peer.version:
        return
    sys.stderr.write(f"building {peer.name} {peer.version} from its source package (this takes some minutes)\n")
    home = BENCH_CACHE / peer.name
    install = ["-m", "pip", "install", "-v", "--no-deps", "--no-binary", peer.name, f"{peer.name}=={peer.version}"]
    log = BENCH_CACHE / f"{peer.name}.log"
    BENCH_CACHE.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8") as file:
        commands = ([sys.executable, "-m", "venv", "--clear", str(home)], [str(peer.python), *install])
        failed = any(watch(command, file) for command in commands)
    if failed:
        raise Unavailable(f"{peer.name} {peer.version} does not build here: {reason(log)}")


def watch(command: list[str], log: TextIO) -> int:
    """Run a command into `log`, show its latest line, and return its exit code."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            if is_terminal(sys.stderr):
                sys.stderr.write(f"\r\x1b[2K{line.strip()[:100]}")
    if is_terminal(sys.stderr):
        sys.stderr.write("\r\x1b[2K")
    return process.returncode


def reason(log: Path) -> str:
    """Return the most informative line of a build log: the first compiler error, else the last line."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return f"{(errors or lines or ['no output'])[0]} (all of it: {log.relative_to(REPOSITORY)})"


def installed_version(peer: Peer) -> str | None:
    """Return the version in the peer's environment; None if it is not built."""
    if not peer.python.exists():
        return None
    asked = f"from importlib.metadata import version; print(version({peer.name!r}))"
    answer = subprocess.run([str(peer.python), "-c", asked], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


# -- conversation -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """Runner's result of a number of calls."""

    seconds: float
    output: bytes
    gas: int


class Runner:
    """Process of a peer, asked for one round at a time. See `benchmarks/peer/conversation.py`."""

    def __init__(self, peer: Peer, world: Path) -> None:
        self.peer = peer
        self.process = subprocess.Popen(
            [str(peer.python), "-m", peer.runner, str(world)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Runner:
        self._hear()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def ask(self, call: str, count: int) -> Answer:
        """Make `count` calls."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"call": call, "count": count}) + "\n")
        self.process.stdin.flush()
        heard = self._hear()
        return Answer(heard["seconds"], bytes.fromhex(heard["output"]), heard["gas"])

    def _hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.communicate()
            name = f"{self.peer.name} {self.peer.version}"
            raise Unavailable(f"{name} ended with code {self.process.returncode}; its message stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer
