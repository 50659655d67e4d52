"""Run tasks of which some may be refused: a refusal is an outcome, and the other tasks go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mayavi.errors import ExecutionError, SimulationError, UsageError
from mayavi.parallel.processes import work_off
from mayavi.scenarios.loading import Scenario
from mayavi.scenarios.run.result import Run
from mayavi.scenarios.sweep.plan import Task
from mayavi.scenarios.sweep.request import SweepRequest
from mayavi.scenarios.sweep.workers import prepare
from mayavi.sim.store import Store
from mayavi.worlds.source import WorldSource

_MERGE_EVERY_S = 20.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A run that could not be made: the moved assumption does not fit the world."""

    message: str


def run_attempts(tasks: list[Task], request: SweepRequest, sweep_id: str) -> Iterator[tuple[Task, Run | Refusal]]:
    """Run tasks in processes of their own and yield each outcome as it is stored."""
    arguments = (tuple(request.scenarios), request.world, sweep_id, request.store)
    if not tasks:
        return
    if request.jobs == 1:
        attempt = prepare_attempts(*arguments)
        for task in tasks:
            yield task, attempt(task)
        return
    merged = time.monotonic()
    for task, outcome in work_off(tasks, prepare_attempts, arguments, request.jobs):
        yield task, outcome
        if time.monotonic() - merged > _MERGE_EVERY_S:  # keep the number of segment files small
            Store(request.store).merge()
            merged = time.monotonic()


def prepare_attempts(
    scenarios: tuple[Scenario, ...], world: WorldSource, sweep_id: str, store: Path
) -> Callable[[Task], Run | Refusal]:
    """Open the world once in a worker process; return a function that runs a task or says why it cannot be run."""
    work = prepare(scenarios, world, sweep_id, store)

    def attempt(task: Task) -> Run | Refusal:
        try:
            (run,) = work([task])
        except (UsageError, ExecutionError, SimulationError) as error:
            return Refusal(error.message)
        if run.status != "finished":
            return Refusal(f"the run ended as {run.status}: {run.error.partition(chr(10))[0]}")
        return run

    return attempt
