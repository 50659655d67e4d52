"""A replay that differs from the interpreter is found, named, kept as a file and never used again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mayavi import _kernel
from mayavi.agents import Agent
from mayavi.agents.base import StepResult, World
from mayavi.errors import ReplayDiffers, UsageError
from mayavi.evm.fleet import Fleet, Program, Template
from mayavi.evm.fork import Fork
from mayavi.evm.path_cache import PathCache
from mayavi.evm.replay_difference import reproduce
from mayavi.evm.specialise import chosen_specialise, specialised
from mayavi.sim import AgentBlock, Scheduler, WorldState
from tests.conftest import RunMayavi
from tests.evm.assembler import assemble

ALICE, TARGET = b"\xa1" * 20, b"\x41" * 20
SELECTOR = bytes.fromhex("12345678")
BRANCHES = assemble("4 CALLDATALOAD 1000 GT @less JUMPI 2 0 SSTORE 0 0 REVERT :less 4 CALLDATALOAD 7 ADD 0 SSTORE"
                    " 1 0 MSTORE 32 0 RETURN")  # fmt: skip
"""Writes its word plus seven below 1,000, and reverts from there on."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / "cache"))


def world() -> Fork:
    fork = Fork.empty(hardfork="cancun")
    fork.set_block(number=77, timestamp=5_000)
    fork.set_code(TARGET, BRANCHES)
    return Fork.from_state(fork.freeze(), labels={}, source={})


def call_program(whole: bool = False) -> Program:
    made = Program(whole=whole)
    template = Template(TARGET, SELECTOR + bytes(32), {4: made.input("word")}, sender=ALICE)
    status, gas, _ = made.call(template)
    made.output("status", status)
    made.output("gas", gas)
    return made


def spoilt(fork: Fork, rows: int, fault: str, mode: str = "on", cache: PathCache | None = None) -> Fleet:
    fleet = Fleet(fork, rows, specialise=mode, cache=cache)
    fleet._fleet = _kernel.Fleet(fork._evm, rows, mode, fault)
    return fleet


def play(fleet: Fleet, words: int, runs: int = 40, whole: bool = False) -> None:
    made = call_program(whole)
    for run in range(runs):
        fleet.run(made, threads=1, word=(run * len(fleet) + np.arange(len(fleet))) % words)
        if run % 10 == 9:
            fleet.finish_compiling()


def found_by(fault: str, *, whole: bool) -> ReplayDiffers:
    """The error of rows that first go one way of a branch for long, and then the other."""
    fleet = spoilt(world(), 512, fault)
    play(fleet, 900, whole=whole)
    with pytest.raises(ReplayDiffers) as error:
        play(fleet, 1_100, 200, whole=whole)
    return error.value


@pytest.mark.parametrize(("fault", "whole"), [("guard", False), ("program guard", True)])
def test_the_error_names_contract_selector_block_and_file(fault: str, whole: bool) -> None:
    """The first hits were compared long before: what finds it is one check in many."""
    error = found_by(fault, whole=whole)
    assert f"{'0x' + '41' * 20}.0x12345678 in block 77 at 5000 differs" in error.message
    assert error.exit_code == 1
    (path,) = re.findall(r"'(/[^']*\.zip)' reproduces it", error.message)
    repeated = reproduce(Path(path))
    assert repeated.same_kernel
    assert repeated.differs
    assert repeated.by_paths.startswith("differs: ")
    assert repeated.message in error.message


def test_a_file_is_reproduced_by_a_command(run_mayavi: RunMayavi, tmp_path: Path) -> None:
    error = found_by("guard", whole=False)
    (path,) = re.findall(r"'(/[^']*\.zip)'", error.message)
    done = run_mayavi("specialise", "reproduce", path)
    assert done.returncode == 1
    assert "differs" in done.stdout
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(Path(path).read_bytes()[:-40])
    refused = run_mayavi("specialise", "reproduce", str(damaged))
    assert refused.returncode == 2
    assert "is not a file of a difference" in refused.stderr
    absent = run_mayavi("specialise", "reproduce", str(tmp_path / "none.zip"))
    assert absent.returncode == 2


def ask(fork: Fork, send: bool) -> None:
    """Calls that go one way of the branch for long, and then both."""
    for number in range(20_000):
        data = SELECTOR + (number % (900 if number < 4_000 else 2_000)).to_bytes(32, "big")
        if send:
            fork.send(TARGET, data, sender=ALICE, check=False)
        else:
            fork.call_if_any(TARGET, data)


@pytest.mark.slow(2)
@pytest.mark.parametrize("send", [True, False])
def test_reads_and_transactions_of_forks_are_checked_too(send: bool) -> None:
    fork = world()
    fork.specialise = "on"
    fork._evm.seed_fault()
    with pytest.raises(ReplayDiffers) as error:
        ask(fork, send)
    (path,) = re.findall(r"'(/[^']*\.zip)' reproduces it", error.value.message)
    assert reproduce(Path(path)).differs
    assert fork.statistics()[0]["off"] == "a replay of it differed from the interpreter"


@pytest.mark.parametrize(("fault", "whole"), [("guard", False), ("program guard", True)])
def test_what_was_refused_stays_refused_in_the_cache(fault: str, whole: bool, tmp_path: Path) -> None:
    fork = world()
    cache = PathCache(fork.digest(), tmp_path)
    fleet = spoilt(fork, 512, fault, cache=cache)
    play(fleet, 900, whole=whole)
    with pytest.raises(ReplayDiffers):
        play(fleet, 1_100, 200, whole=whole)
    later = Fleet(fork, 512, specialise="on", cache=cache)
    play(later, 1_100, whole=whole)
    counts = later.program_statistics() if whole else later.statistics()
    assert [each["off"] for each in counts] == ["a replay of it differed from the interpreter"]
    assert [each["hits"] for each in counts] == [0]
    later.save_paths()
    latest = Fleet(fork, 512, specialise="on", cache=cache)
    play(latest, 1_100, whole=whole)
    assert [each["off"] for each in (latest.program_statistics() if whole else latest.statistics())] != [None]


@pytest.mark.spoils_recordings
def test_a_recording_that_contradicts_itself_is_counted_and_in_check_an_error() -> None:
    fleet = spoilt(world(), 8, "program write")
    play(fleet, 900, 400, whole=True)
    (counts,) = fleet.program_statistics()
    assert counts["mismatches"] == 1
    assert "slot" in counts["off"]
    with pytest.raises(ReplayDiffers, match="while it was recorded"):
        play(spoilt(world(), 8, "program write", "check"), 900, 400, whole=True)


def test_replays_are_checked_by_default_and_counted() -> None:
    with specialised("on") as done:
        fleet = Fleet(world(), 4_096)
        play(fleet, 900, 50)
        counts = done.statistics()
    # Some of them are the first hits and those that are timed: one in 16,384 is what the seed picks.
    assert 0 < counts["checks"] < counts["hits"] / 500
    assert counts["mismatches"] == 0


def test_the_switch_is_0_or_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_SELF_CHECK", "maybe")
    with pytest.raises(UsageError, match="MAYAVI_SELF_CHECK is 'maybe'"):
        chosen_specialise()


class Finder(Agent):
    """Comes upon a difference while it reads."""

    def step(self, world: World, step_idx: int) -> StepResult:
        raise ReplayDiffers("the replayed call differs from the interpreted one")


def test_a_difference_ends_a_run_and_is_no_failure_of_the_agent() -> None:
    agents = [Finder("finder")]
    scheduler = Scheduler(WorldState(world(), agents, seed=1), [AgentBlock("all", agents)])
    scheduler.begin()
    with pytest.raises(ReplayDiffers):
        scheduler.tick()
