"""Draw cases, compare their modes, and report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fuzz.cases import CHANNELS, LANGUAGES, draw_case
from benchmarks.fuzz.playing import Case, Difference, compare, play
from benchmarks.fuzz.report import Found, Report, Tally
from benchmarks.fuzz.reproduction import write_reproduction
from benchmarks.fuzz.shrinking import Shrinker

FOLDER = Path(".cache/fuzz")
"""Where reproductions are written."""
EVERY = (*CHANNELS, LANGUAGES)
SHARES = {"steps": 2}
"""Channels that have more than one share of the time."""
SHRINKING = 30.0
"""Most seconds of making a case smaller."""


def run(
    seconds: float | None,
    seed: int,
    channels: Sequence[str] = EVERY,
    *,
    calls: int | None = None,
    cases: int | None = None,
    folder: Path = FOLDER,
    shrinking: float = SHRINKING,
) -> Report:
    """Compare random cases until the time is over, or `calls` were compared, or each channel has had `cases`.

    The channels take turns, so that each has its share of the time. Case `n` of a channel depends on the seed alone.
    The first difference ends the run: it is shrunk and written to `folder`.
    """
    report = Report(seed, {name: Tally() for name in channels})
    began = time.monotonic()

    def over() -> bool:
        spent, tallies = time.monotonic() - began, report.channels.values()
        return (
            (seconds is not None and spent >= seconds)
            or (calls is not None and sum(each.calls + each.steps for each in tallies) >= calls)
            or (cases is not None and all(each.cases >= cases for each in tallies))
        )

    while not over() and not report.differences:
        waiting = [name for name in channels if cases is None or report.channels[name].cases < cases]
        name = min(waiting, key=lambda each: report.channels[each].seconds / SHARES.get(each, 1))
        tally = report.channels[name]
        turn = time.monotonic()
        case, modes = draw_case(name, seed, tally.cases)
        if (found := examine(case, modes, tally)) is not None:
            report.found_after = time.monotonic() - began
            number = tally.cases - 1
            case, found = Shrinker(case, found, shrinking).shrink()
            path = folder / f"{name}_{seed}_{number}.py"
            command = f"python -m benchmarks.fuzz --seed {seed} --channel {name}"
            report.differences.append(Found(name, number, found.what, write_reproduction(case, found, command, path)))
        tally.seconds += time.monotonic() - turn
    report.seconds = time.monotonic() - began
    return report


def examine(case: Case, modes: Sequence[str], tally: Tally) -> Difference | None:
    """Compare a case in some modes, count it, and return the first difference."""
    wanted = play(case, "off")
    tally.cases += 1
    tally.contracts += sum(bool(account.code or account.creation) for account in case.accounts.values())
    for mode in modes:
        played = play(case, mode)
        tally.add(case, wanted, played)
        if (found := compare(case, wanted, played, mode)) is not None:
            return found
    return None
