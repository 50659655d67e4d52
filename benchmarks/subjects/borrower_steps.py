"""Steps of a borrower by whole programs against steps with arrays around them, in processor time of their thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring.report import Effort, Quantity, Row, Section
from benchmarks.measuring.timing import in_turns
from mayavi.gym_env.lending.env import LendingRowsEnv
from mayavi.gym_env.registry import make_rows

ROWS = (1, 64, 2_048)
QUICK_ROWS = (1, 16)
ROUNDS = 7


def measure(section: Section, effort: Effort) -> None:
    """Add a row for every size of the batch."""
    for rows in QUICK_ROWS if effort.quick else ROWS:
        ways = {"arrays": _stepper(rows, whole=False), "whole": _stepper(rows, whole=True)}
        found = in_turns(ways, effort.rounds(ROUNDS))
        figures = {name: Quantity(timing.fastest / rows * 1e6, "µs") for name, timing in found.items()}
        figures["whole ÷ arrays"] = Quantity(found["whole"].ratio(found["arrays"]), "×")
        section.rows.append(Row(f"aave, {rows} rows, step of a row by arrays and by a whole program", figures))


def _stepper(rows: int, *, whole: bool) -> Callable[[], float]:
    """Make an environment, and a function that steps it and returns the processor time of one step."""
    kept = LendingRowsEnv.most_whole_rows
    LendingRowsEnv.most_whole_rows = rows if whole else 0
    try:
        env: Any = make_rows("aave", rows, threads=1, reward="guarded", horizon=100_000)
    finally:
        LendingRowsEnv.most_whole_rows = kept
    rng, steps = np.random.default_rng(0), max(4, 2_048 // rows)
    actions = [rng.integers(env.action_space.n, size=rows) for _ in range(min(steps, 256))]
    env.begin(range(rows), range(rows))
    for action in actions:
        env.step(action)
    env.fleet.finish_compiling()

    def taken() -> float:
        env.begin(range(rows), range(rows))
        began = time.thread_time()
        for action in actions:
            env.step(action)
        return (time.thread_time() - began) / len(actions)

    return taken
