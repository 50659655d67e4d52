"""A fleet of 1,024 rows, each repaying, borrowing and reading its account data in one call from Python.

How much faster two threads can be at all depends on the machine: the cores of a virtual machine may share a real one.
So the same work is also done by two processes with one thread each, which share nothing but the machine.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.position import ACCOUNT_DATA, BORROW, BORROWER, REPAY, USDC_E6, VARIABLE_RATE, Position, open_position
from benchmarks.report import Effort, Quantity, Row, Section, Target, timed
from benchmarks.timing import in_turns
from mayavi.evm.fleet import SUCCESS, Fleet, Outcome, Program, Template

ROWS = 1_024
QUICK_ROWS = 64
ROUNDS = 9
AMOUNT_AT = 36
"""Where both calls have their amount: behind the selector and the asset."""
SPEEDUP = 1.8
ROW_KIB = 64.0
RESET_US = 20.0


@dataclass(frozen=True)
class Step:
    """The program and an amount to repay and to borrow for each row."""

    program: Program
    repaid: NDArray[np.int64]
    borrowed: NDArray[np.int64]

    def run(self, fleet: Fleet, threads: int) -> Outcome:
        """One step of every row."""
        return fleet.run(self.program, repay=self.repaid, borrow=self.borrowed, threads=threads)


def measure(effort: Effort) -> Section:
    """Steps on one and on two threads, what a row holds afterwards, and what it takes to reset it."""
    rows = QUICK_ROWS if effort.quick else ROWS
    section = Section("fleet", f"a fleet of {rows:,} rows, each repay + borrow + account data")
    position = open_position()
    step = prepare(position, rows)
    fleets = {threads: Fleet(position.frozen, rows) for threads in (1, 2)}
    outcomes = {threads: step.run(fleet, threads) for threads, fleet in fleets.items()}
    check(outcomes)

    rounds = effort.rounds(ROUNDS)
    timings = in_turns({str(n): stepper(step, fleet, n) for n, fleet in fleets.items()}, rounds)
    single, double = timings["1"], timings["2"]
    section.rows += [
        timed("a step of all rows, one thread", single, "ms", a_row=Quantity(single.median / rows * 1e6, "µs")),
        timed("a step of all rows, two threads", double, "ms", a_row=Quantity(double.median / rows * 1e6, "µs")),
    ]
    if (os.cpu_count() or 1) < 2:
        section.notes.append("this machine has one core: the gain of a second thread is not judged")
    else:
        section.targets.append(
            Target(
                "two threads, times as fast as one", Quantity(SPEEDUP, "×"), Quantity(single.ratio(double), "×"), False
            )
        )
        ceiling = processes_gain(rows, rounds)
        section.rows.append(Row("two processes, times the work of one", {"ratio": Quantity(ceiling, "×")}))

    kibibytes = max(max(fleet.memory()) for fleet in fleets.values()) / 1024
    section.rows.append(Row("the largest row, after all steps", {"held": Quantity(kibibytes, "KiB")}))
    section.targets.append(Target("what a row holds", Quantity(ROW_KIB, "KiB"), Quantity(kibibytes, "KiB")))
    resets = in_turns(resetters(step, fleets[1], rows), rounds)
    for what, timing in resets.items():
        section.rows.append(timed(what, timing, "µs"))
        section.targets.append(Target(what, Quantity(RESET_US, "µs"), Quantity(timing.median * 1e6, "µs")))
    return section


def prepare(position: Position, rows: int) -> Step:
    """The program, with amounts between 1 and 5 USDC that differ from row to row."""
    program = Program()
    repaid, borrowed = program.input("repay"), program.input("borrow")
    repay = REPAY.encode(position.usdc, 0, VARIABLE_RATE, BORROWER)
    borrow = BORROW.encode(position.usdc, 0, VARIABLE_RATE, 0, BORROWER)
    statuses = [
        program.call(Template(position.pool, repay, {AMOUNT_AT: repaid}, sender=BORROWER))[0],
        program.call(Template(position.pool, borrow, {AMOUNT_AT: borrowed}, sender=BORROWER))[0],
    ]
    status, _, account = program.call(Template(position.pool, ACCOUNT_DATA.encode(BORROWER)), returns=6, commit=False)
    program.advance(1, 12)
    for index, word in enumerate([*statuses, status]):
        program.output(f"status {index}", word)
    program.output("debt", account[1])
    program.output("health factor", account[5])
    amounts = np.random.default_rng(1).integers(USDC_E6, 5 * USDC_E6, (2, rows))
    return Step(program, amounts[0], amounts[1])


def check(outcomes: dict[int, Outcome]) -> None:
    """A figure of failing calls, or of different results, would mean nothing."""
    for outcome in outcomes.values():
        for name in ("status 0", "status 1", "status 2"):
            assert set(outcome[name].ints()) == {SUCCESS}, f"{name}: {set(outcome[name].ints())}"
    first, *others = (outcome.words.tobytes() for outcome in outcomes.values())
    assert all(each == first for each in others), "the number of threads changed the result"


def stepper(step: Step, fleet: Fleet, threads: int) -> Callable[[], float]:
    """Seconds of one step."""

    def run() -> float:
        began = time.perf_counter()
        step.run(fleet, threads)
        return time.perf_counter() - began

    return run


def resetters(step: Step, fleet: Fleet, rows: int) -> dict[str, Callable[[], float]]:
    """Seconds of resetting one written row: all of them in one call, and each in a call of its own."""

    def together() -> float:
        step.run(fleet, 1)
        began = time.perf_counter()
        fleet.reset()
        return (time.perf_counter() - began) / rows

    def alone() -> float:
        step.run(fleet, 1)
        began = time.perf_counter()
        for row in range(rows):
            fleet.reset([row])
        return (time.perf_counter() - began) / rows

    return {"resetting a row, all rows in one call": together, "resetting a row, one row a call": alone}


def processes_gain(rows: int, rounds: int) -> float:
    """How much more two processes get done than one: what the machine allows, whatever the kernel does."""
    context: Any = multiprocessing.get_context("spawn")
    workers = []
    for _ in range(2):
        ours, theirs = context.Pipe()
        worker = context.Process(target=serve, args=(theirs, rows), daemon=True)
        worker.start()
        workers.append((worker, ours))
    for _, line in workers:
        line.recv()

    def work(count: int) -> Callable[[], float]:
        def run() -> float:
            began = time.perf_counter()
            for _, line in workers[:count]:
                line.send("step")
            for _, line in workers[:count]:
                line.recv()
            return (time.perf_counter() - began) / count

        return run

    timings = in_turns({"one": work(1), "two": work(2)}, rounds)
    for worker, line in workers:
        line.send("end")
        worker.join()
    return timings["one"].ratio(timings["two"])


def serve(line: Connection, rows: int) -> None:
    """One process of `processes_gain`: a fleet of its own, a step for each message."""
    position = open_position()
    step, fleet = prepare(position, rows), Fleet(position.frozen, rows)
    step.run(fleet, 1)
    line.send("ready")
    while line.recv() == "step":
        step.run(fleet, 1)
        line.send("done")
