"""Fleet of 1,024 rows, each repaying, borrowing and reading its account data in one Python call.

The possible speed-up of two threads depends on the machine: cores of a virtual machine may share a physical one. The
same work is therefore also done by two independent single-threaded processes.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, timed
from benchmarks.measuring.timing import in_turns
from benchmarks.subjects.position import (
    ACCOUNT_DATA,
    BORROW,
    BORROWER,
    REPAY,
    USDC_E6,
    VARIABLE_RATE,
    Position,
    open_position,
)
from mayavi.evm.fleet import SUCCESS, Fleet, Outcome, Program, Template

ROWS = 1_024
QUICK_ROWS = 64
ROUNDS = 15
THREADS = {"one thread": 1, "two threads": 2}
AMOUNT_AT = 36
"""Offset of the amount in both calls: after the selector and the asset."""
SPEEDUP = 1.8
ROW_KIB = 64.0
RESET_US = 20.0


@dataclass(frozen=True)
class Step:
    """Program, and an amount to repay and to borrow per row."""

    program: Program
    repaid: NDArray[np.int64]
    borrowed: NDArray[np.int64]

    def run(self, fleet: Fleet, threads: int) -> Outcome:
        """Run one step of every row."""
        return fleet.run(self.program, repay=self.repaid, borrow=self.borrowed, threads=threads)


def measure(effort: Effort) -> Section:
    """Measure steps on one and two threads, memory per row, and resets."""
    rows = QUICK_ROWS if effort.quick else ROWS
    section = Section("fleet", f"a fleet of {rows:,} rows, each repay + borrow + account data")
    position = open_position()
    step = prepare(position, rows)
    fleets = {threads: Fleet(position.frozen, rows) for threads in THREADS.values()}
    outcomes = {threads: step.run(fleet, threads) for threads, fleet in fleets.items()}
    check(outcomes)

    rounds = effort.rounds(ROUNDS)
    steppers = {name: Stepper(step, fleets[threads], threads) for name, threads in THREADS.items()}
    contestants = {name: stepper.run for name, stepper in steppers.items()}
    with Processes(rows) as processes:
        timings = in_turns(contestants | processes.contestants(), rounds)
    for name, stepper in steppers.items():
        a_row = Quantity(timings[name].median / rows * 1e6, "µs")
        processor = Quantity(statistics.median(stepper.processor_seconds) * 1e3, "ms")
        section.rows.append(timed(f"a step of all rows, {name}", timings[name], "ms", a_row=a_row, processor=processor))
    gain = timings["one thread"].ratio(timings["two threads"])
    ceiling = timings["one process"].ratio(timings["two processes"])
    section.rows += [
        Row("two threads, times as fast as one", {"gain": Quantity(gain, "×")}),
        Row("two processes, times as fast as one", {"gain": Quantity(ceiling, "×")}),
    ]
    if (os.cpu_count() or 1) < 2:
        section.notes.append("this machine has one core: the gain of a second thread is not judged")
    else:
        speedup = Quantity(SPEEDUP, "×")
        section.targets.append(Target("two threads, times as fast as one", speedup, Quantity(gain, "×"), at_most=False))
        if ceiling < SPEEDUP:
            section.notes.append(
                f"two processes, which share nothing, gain {ceiling:.2f}× only: the cores are busy or not real ones, "
                "and two threads cannot gain more; measure again on a quiet machine"
            )

    kibibytes = max(max(fleet.memory()) for fleet in fleets.values()) / 1024
    section.rows.append(Row("the largest row, after all steps", {"held": Quantity(kibibytes, "KiB")}))
    section.targets.append(Target("what a row holds", Quantity(ROW_KIB, "KiB"), Quantity(kibibytes, "KiB")))
    resets = in_turns(resetters(step, fleets[1], rows), rounds)
    for what, timing in resets.items():
        section.rows.append(timed(what, timing, "µs"))
        section.targets.append(Target(what, Quantity(RESET_US, "µs"), Quantity(timing.median * 1e6, "µs")))
    return section


def prepare(position: Position, rows: int) -> Step:
    """Build the program, with amounts between 1 and 5 USDC that differ per row."""
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
    """Check that all calls succeed and all results agree."""
    for outcome in outcomes.values():
        for name in ("status 0", "status 1", "status 2"):
            assert set(outcome[name].ints()) == {SUCCESS}, f"{name}: {set(outcome[name].ints())}"
    first, *others = (outcome.words.tobytes() for outcome in outcomes.values())
    assert all(each == first for each in others), "the number of threads changed the result"


class Stepper:
    """Fleet stepper that records the CPU time of all threads; contention raises it."""

    def __init__(self, step: Step, fleet: Fleet, threads: int) -> None:
        self.step, self.fleet, self.threads = step, fleet, threads
        self.processor_seconds: list[float] = []

    def run(self) -> float:
        """Return the seconds of one step."""
        began, spent = time.perf_counter(), time.process_time()
        self.step.run(self.fleet, self.threads)
        self.processor_seconds.append(time.process_time() - spent)
        return time.perf_counter() - began


def resetters(step: Step, fleet: Fleet, rows: int) -> dict[str, Callable[[], float]]:
    """Return timers for resetting written rows: all in one call, and each in its own call."""

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


class Processes:
    """Two processes with one fleet each: the upper bound of a speed-up on this machine."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.workers: list[Any] = []
        self.lines: list[Connection] = []

    def __enter__(self) -> Processes:
        context: Any = multiprocessing.get_context("spawn")
        for _ in range(2):
            ours, theirs = context.Pipe()
            worker = context.Process(target=serve, args=(theirs, self.rows), daemon=True)
            worker.start()
            self.workers.append(worker)
            self.lines.append(ours)
        for line in self.lines:
            line.recv()
        return self

    def __exit__(self, *_: object) -> None:
        for worker, line in zip(self.workers, self.lines, strict=True):
            line.send("end")
            worker.join()

    def contestants(self) -> dict[str, Callable[[], float]]:
        """Return timers of a step with one process working, and with both."""

        def work(lines: list[Connection]) -> float:
            began = time.perf_counter()
            for line in lines:
                line.send("step")
            for line in lines:
                line.recv()
            return (time.perf_counter() - began) / len(lines)

        return {"one process": lambda: work(self.lines[:1]), "two processes": lambda: work(self.lines)}


def serve(line: Connection, rows: int) -> None:
    """Serve one of the `Processes`: one step per message."""
    position = open_position()
    step, fleet = prepare(position, rows), Fleet(position.frozen, rows)
    step.run(fleet, 1)
    line.send("ready")
    while line.recv() == "step":
        step.run(fleet, 1)
        line.send("done")
