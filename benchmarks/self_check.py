"""`python -m benchmarks.self_check`: measure the cost of the self-check.

    python -m benchmarks.self_check
    python -m benchmarks.self_check --rounds 21 --json

Two processes play the same calls, one with the self-check and one without (`MAYAVI_SELF_CHECK=0`), in turns. The
ratio is the median over the rounds, each compared with its neighbour. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from gymnasium.spaces import Discrete

from benchmarks.measuring.timing import Timing, in_turns
from benchmarks.subjects.position import ACCOUNT_DATA, BORROWER, REPAY, VARIABLE_RATE, open_position
from mayavi.cli.console.output import Column, print_table
from mayavi.evm.fleet import Fleet, Program, Template
from mayavi.gym_env import make_rows

ROUNDS = 15
ROWS = 256
MOST = 0.02
"""Largest share that the self-check may cost."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every subject; exit code 1 if one costs more than two percent."""
    parser = argparse.ArgumentParser("python -m benchmarks.self_check", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of each subject ({ROUNDS})")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--play", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.rounds < 1:
        parser.error("at least one round is needed")
    if asked.play:
        play_on_request()
        return 0
    players = {"checked": Player("1"), "unchecked": Player("0")}
    found = {}
    for subject in SUBJECTS:
        turns = {name: partial(player.play, subject) for name, player in players.items()}
        found[subject] = in_turns(turns, asked.rounds)
    for player in players.values():
        player.end()
    if asked.json:
        print(json.dumps({name: as_json(each) for name, each in found.items()}))
    else:
        rows = [(name, *shown(each)) for name, each in found.items()]
        columns = [Column("calls", right=False), Column("µs with"), Column("µs without"), Column("cost")]
        print_table(columns, rows)
    return int(any(cost(each) > MOST for each in found.values()))


def cost(timings: dict[str, Timing]) -> float:
    """Return what the self-check adds, as a fraction."""
    return timings["checked"].ratio(timings["unchecked"]) - 1


def shown(timings: dict[str, Timing]) -> tuple[str, str, str]:
    """Return the figures of a subject as text."""
    with_, without = (f"{timings[name].median * 1e6:.2f}" for name in ("checked", "unchecked"))
    return with_, without, f"{cost(timings):+.1%}"


def as_json(timings: dict[str, Timing]) -> dict[str, object]:
    """Return the figures of a subject as JSON data."""
    return {"cost": cost(timings), **{name: each.rounds for name, each in timings.items()}}


class Player:
    """Process that plays calls with or without the self-check."""

    def __init__(self, switch: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.self_check", "--play"],
            env={**os.environ, "MAYAVI_SELF_CHECK": switch},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def play(self, subject: str) -> float:
        """Return the processor seconds of one call in one round."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(subject, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def end(self) -> None:
        """Let the process end."""
        self._process.communicate(timeout=60)


def play_on_request() -> None:
    """Play a round of each subject that standard input names, and print the seconds of a call."""
    ready: dict[str, Callable[[], int]] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = SUBJECTS[name]()
        began = time.process_time()
        calls = ready[name]()
        print((time.process_time() - began) / calls, flush=True)


def whole_steps() -> Callable[[], int]:
    """Return a round of steps of `aave`."""
    env = make_rows("aave", ROWS, threads=1)
    assert isinstance(env.action_space, Discrete)
    rng, episodes, actions = np.random.default_rng(1), itertools.count(), int(env.action_space.n)

    def play() -> int:
        for step in range(100):
            if step % env.config.horizon == 0:
                env.begin(range(ROWS), [next(episodes) for _ in range(ROWS)])
            env.step(rng.integers(actions, size=ROWS))
        return 100 * ROWS

    return warmed(play)


def fleet_calls() -> Callable[[], int]:
    """Return a round of repayments in a fleet."""
    position = open_position()
    program = Program(whole=False)
    amount = program.input("amount")
    template = Template(
        position.pool, REPAY.encode(position.usdc, 0, VARIABLE_RATE, BORROWER), {36: amount}, sender=BORROWER
    )
    program.output("status", program.call(template, commit=False)[0])
    fleet, rng = Fleet(position.frozen, ROWS, specialise="on"), np.random.default_rng(1)

    def play() -> int:
        for _ in range(100):
            fleet.run(program, threads=1, amount=rng.integers(1, 1_000, ROWS))
        return 100 * ROWS

    return warmed(play, fleet.finish_compiling)


def transactions() -> Callable[[], int]:
    """Return a round of repayments by `Fork.send`."""
    position = open_position()
    fork = position.frozen.copy()
    fork.specialise = "on"
    data = [REPAY.encode(position.usdc, amount, VARIABLE_RATE, BORROWER) for amount in range(1, 100)]

    def play() -> int:
        with fork.snapshot():
            for number in range(2_000):
                fork.send(position.pool, data[number % len(data)], BORROWER)
        return 2_000

    return warmed(play)


def reads() -> Callable[[], int]:
    """Return a round of single reads of accounts."""
    position = open_position()
    fork = position.frozen.copy()
    fork.specialise = "on"
    data = ACCOUNT_DATA.encode(BORROWER)

    def play() -> int:
        for _ in range(4_000):
            fork.call(position.pool, data)
        return 4_000

    return warmed(play, fork.finish_compiling)


def batches() -> Callable[[], int]:
    """Return a round of reads of many accounts."""
    position = open_position()
    fork = position.frozen.copy()
    fork.specialise = "on"
    datas = [ACCOUNT_DATA.encode(BORROWER if number % 2 else number.to_bytes(20, "big")) for number in range(1, 4_001)]

    def play() -> int:
        fork.call_many(position.pool, datas, threads=1)
        return len(datas)

    return warmed(play, fork.finish_compiling)


def warmed(play: Callable[[], int], finish: Callable[[], None] | None = None) -> Callable[[], int]:
    """Play until the paths are recorded, compiled and past their first comparisons."""
    for _ in range(4):
        play()
        if finish is not None:
            finish()
    return play


SUBJECTS: dict[str, Callable[[], Callable[[], int]]] = {
    "steps of aave": whole_steps,
    "repayments of a fleet": fleet_calls,
    "repayments of a fork": transactions,
    "single reads": reads,
    "reads of a batch": batches,
}
"""What is played, by name: a function that prepares it and returns a round."""


if __name__ == "__main__":
    sys.exit(main())
