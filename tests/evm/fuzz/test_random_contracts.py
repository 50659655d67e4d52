"""Replays of random contracts do what the interpreter does; a spoilt recording is found, shrunk and written down.

`python -m benchmarks.fuzz` goes on from here with other seeds.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz import playing, run
from benchmarks.fuzz.__main__ import main
from benchmarks.fuzz.assembly import assemble
from benchmarks.fuzz.cases import LANGUAGES, draw_case
from benchmarks.fuzz.fuzzing import EVERY
from benchmarks.fuzz.playing import Account, Case, difference, play
from mayavi import _kernel
from mayavi.evm import fleet as fleets
from mayavi.evm.fork import Fork
from tests.conftest import REPOSITORY

CASES = {"fleets": 40, "steps": 60, "sends": 90, "views": 90, "batches": 70, "changes": 60, "caches": 40}
"""Cases of each channel and seed: a few seconds of processor time."""


def compare(channel: str, seed: int, cases: int, folder: Path) -> None:
    report = run(None, seed, [channel], cases=cases, folder=folder)
    assert not report.differences, report.describe()
    assert not report.idle
    tally = report.channels[channel]
    assert tally.cases == cases
    assert tally.replayed + tally.replayed_steps > (tally.calls + tally.steps) / 4
    assert len(tally.hardforks) > 3


@pytest.mark.slow(5)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("channel", CASES)
def test_replays_do_what_the_interpreter_does(channel: str, seed: int, tmp_path: Path) -> None:
    compare(channel, seed, CASES[channel], tmp_path)


@pytest.mark.parametrize("channel", CASES)
def test_a_few_random_cases(channel: str, tmp_path: Path) -> None:
    assert not run(None, 5, [channel], cases=3, folder=tmp_path).differences


@pytest.mark.slow(6)
def test_contracts_of_compilers(tmp_path: Path) -> None:
    report = run(None, 1, [LANGUAGES], cases=12, folder=tmp_path)
    assert not report.failed, report.describe()


@pytest.mark.parametrize("channel", CASES)
def test_a_case_depends_on_the_seed_alone(channel: str) -> None:
    assert draw_case(channel, 7, 3) == draw_case(channel, 7, 3) != draw_case(channel, 8, 3)


# -- what is found ----------------------------------------------------------------------------------------------------


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fleets whose recordings lose their last guard, or the last write of a whole step."""

    class SpoiltFleet(fleets.Fleet):
        def __init__(self, fork: Fork, rows: int, *, specialise: str | None = None, **more: Any) -> None:
            super().__init__(fork, rows, specialise=specialise, **more)
            if self.specialise != "off":
                self._fleet = _kernel.Fleet(fork._evm, rows, self.specialise, "guard")

    monkeypatch.setattr(fleets, "Fleet", SpoiltFleet)
    monkeypatch.setattr(playing, "Fleet", SpoiltFleet)


@pytest.mark.slow(4)
@pytest.mark.spoils_recordings
@pytest.mark.usefixtures("spoilt")
def test_a_lost_guard_is_found_shrunk_and_written_down(tmp_path: Path) -> None:
    report = run(60, 1, ["fleets"], folder=tmp_path, shrinking=4)
    (found,) = report.differences
    assert report.failed
    assert report.found_after is not None
    drawn, _ = draw_case("fleets", 1, found.number)
    script = runpy.run_path(str(found.script))
    shrunk = script["CASE"]
    assert len(shrunk.events) < len(drawn.events) / 4
    assert script["difference"](shrunk, ("check",)) or script["difference"](shrunk, ("on",))


@pytest.mark.slow(4)
@pytest.mark.spoils_recordings
@pytest.mark.usefixtures("spoilt")
def test_the_command_prints_the_script_and_ends_with_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--seed", "2", "--seconds", "60", "--channel", "fleets"]) == 1
    told = capsys.readouterr().out
    assert told.startswith("seed 2\n")
    (path,) = [Path(line.strip()) for line in told.splitlines() if line.startswith("  ")]
    # Without the spoilt fleet nothing differs: a script of its own process shows that.
    surroundings = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    finished = subprocess.run([sys.executable, path], env=surroundings, capture_output=True, text=True, check=False)
    assert finished.stdout == "no difference\n", finished.stderr
    assert finished.returncode == 0


def test_the_command_tells_what_was_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--calls", "2000", "--channel", "sends", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    sends = told["channels"]["sends"]
    assert list(told["channels"]) == ["sends"]
    assert told["seed"] == 1
    assert told["differences"] == []
    assert sends["calls"] >= 2_000
    assert sends["share"] == sends["replayed"] / sends["calls"] > 0.2
    assert sum(sends["hardforks"].values()) == sends["calls"]
    assert sends["paths"] > 0 < sends["contracts"]


def test_a_channel_without_replays_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_WHOLE_PROGRAMS", "0")
    assert main(["--seed", "1", "--calls", "500", "--channel", "steps"]) == 1
    assert "nothing was replayed in the channel steps" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--seconds", "0"], ["--calls", "0"], ["--seed", "-1"], ["--channel", "tulips"]])
def test_misuse_ends_with_2(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2


# -- its parts --------------------------------------------------------------------------------------------------------

TARGET = b"\x41" * 20


def test_the_channels_cover_every_way_to_specialised_execution() -> None:
    assert set(CASES) | {LANGUAGES} == set(EVERY)


def test_assembly() -> None:
    assert assemble("0 1 256 0x0001 PC*3 .21").hex() == "600060016101006100015858" + "5821"
    assert assemble("@end JUMP :end STOP").hex() == "61000456" + "5b00"
    for wrong in ("TULIP", "@nowhere"):
        with pytest.raises(ValueError, match=wrong.strip("@")):
            assemble(wrong)


def test_what_a_case_shows_is_compared() -> None:
    events: list[tuple[Any, ...]] = [("send", TARGET, bytes(36), b"\xa1" * 20, 100_000, 0), ("digest",)]
    one, other = (Case("osaka", {TARGET: Account(code)}, events) for code in ("7 0 SSTORE", "8 0 SSTORE"))
    assert difference(one) is None
    wanted, found = play(one, "off"), play(other, "off")
    differing = playing.compare(one, wanted, found, "on")
    assert differing is not None
    assert differing.event == 1, "only the state differs"


def test_an_error_is_an_observation() -> None:
    case = Case("osaka", {}, [("send", TARGET, bytes(36), b"\xa1" * 20, 100_000, 0), ("digest",)])
    (name, text), digest = play(case, "on").seen
    assert (name, len(digest)) == ("NoCode", 64)
    assert "no contract stands there" in text
