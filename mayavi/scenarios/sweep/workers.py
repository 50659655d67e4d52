"""Workers of a sweep: local processes, or nodes of a Ray cluster that send rows back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from mayavi.errors import BadScenario
from mayavi.evm.fork import Fork
from mayavi.parallel.garbage import collected_once
from mayavi.parallel.processes import work_off
from mayavi.scenarios.loading import Scenario
from mayavi.scenarios.run.request import RunRequest
from mayavi.scenarios.run.result import Run
from mayavi.scenarios.run.run import execute, run_result
from mayavi.scenarios.run.side_by_side import execute_side_by_side, may_run_side_by_side
from mayavi.scenarios.sweep.plan import Task
from mayavi.scenarios.sweep.portions import Portions
from mayavi.scenarios.sweep.shipping import ShippedScenarios, ship, unpack
from mayavi.sim.recorder import StepBuffer
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.shared_segment import SharedSegment
from mayavi.worlds.source import WorldSource

_MERGE_EVERY_S = 20.0
MOST_SET_UP = 8
"""Most set-up worlds that a worker keeps, one for each point of the grid."""


def run_tasks(
    tasks: list[Task],
    scenarios: Sequence[Scenario],
    world: WorldSource,
    sweep_id: str,
    *,
    store: Path,
    jobs: int,
    ray: str | None,
    specialise: str | None = None,
) -> Iterator[tuple[Task, Run]]:
    """Run tasks in `jobs` processes, or on the Ray cluster at `ray`, and yield each once it is stored."""
    if not tasks:
        return
    if ray is not None:
        yield from _run_on_ray(tasks, scenarios, world, sweep_id, store, ray, specialise)
        return
    arguments = (tuple(scenarios), world, sweep_id, store, specialise)
    portions = Portions(tasks, jobs)
    merged = time.monotonic()
    for portion, finished in _work_off(portions, arguments, jobs):
        portions.took(len(portion), sum(run.timings["total"] for run in finished))
        yield from zip(portion, finished, strict=True)
        if jobs > 1 and time.monotonic() - merged > _MERGE_EVERY_S:  # keep the number of segment files small
            Store(store).merge()
            merged = time.monotonic()


def _work_off(portions: Portions, arguments: tuple[Any, ...], jobs: int) -> Iterator[tuple[list[Task], list[Run]]]:
    if jobs > 1:
        yield from work_off(portions, prepare, arguments, jobs)
        return
    work = prepare(*arguments)
    for portion in portions:
        yield portion, work(portion)


class Prepared:
    """A world, and copies of it in which each scenario's tokens, pools and parameters are set up."""

    def __init__(self, scenarios: Sequence[Scenario], world: Fork) -> None:
        self.world, self._scenarios = world, scenarios
        self._set_up: dict[int, Fork] = {}

    def fork(self, point: int) -> Fork:
        """Return a copy of the world for a run of the scenario at `point`."""
        from mayavi.scenarios.build.build import set_up

        if (known := self._set_up.get(point)) is not None:
            return known.copy(share_reads=True)
        fork = self.world.copy()
        before = fork.marker
        try:
            set_up(self._scenarios[point].config, fork)
        except BadScenario as error:
            raise self._scenarios[point].blame(error) from error
        if len(self._set_up) < MOST_SET_UP:
            unchanged = fork.marker == before
            self._set_up[point] = self.world if unchanged else fork if fork.fetches_missing else fork.frozen()
        return fork


def prepare(
    scenarios: tuple[Scenario, ...], world: WorldSource, sweep_id: str, store: Path, specialise: str | None = None
) -> Callable[[Sequence[Task]], list[Run]]:
    """Open the world once in a worker process and return the function that runs tasks on copies of it.

    Rows of all tasks are stored together at the end, or when one raises.
    """
    prepared = Prepared(scenarios, world.open())

    def request(task: Task) -> RunRequest:
        return RunRequest(
            scenario=scenarios[task.point],
            seed=task.seed,
            source=world.kind,
            store=store,
            specialise=specialise,
            sweep_id=sweep_id,
        )

    def run(point: int, requests: Sequence[RunRequest], recorder: SegmentRecorder) -> list[Run]:
        set_up = partial(prepared.fork, point)
        if may_run_side_by_side(len(requests), scenarios[point], prepared.world):
            with collected_once():
                return execute_side_by_side(requests, prepared.world, recorder, set_up)
        return [execute(each, prepared.world, recorder, set_up=set_up()) for each in requests]

    def work(tasks: Sequence[Task]) -> list[Run]:
        done: list[Run] = []
        with SharedSegment(store) as together, SegmentRecorder(store, merge=False, together=together) as recorder:
            for point, alike in groupby(tasks, key=attrgetter("point")):
                done += run(point, [request(task) for task in alike], recorder)
        # The parent process does not print highlights.
        return [each if each.highlights is None else replace(each, highlights=None) for each in done]

    return work


def _run_on_ray(
    tasks: list[Task],
    scenarios: Sequence[Scenario],
    world: WorldSource,
    sweep_id: str,
    store: Path,
    address: str,
    specialise: str | None,
) -> Iterator[tuple[Task, Run]]:
    from mayavi.parallel.ray_tasks import work_off_on_ray

    arguments = (ship(scenarios), world.open(), world.kind, sweep_id, specialise)
    for task, rows in work_off_on_ray(tasks, prepare_on_node, arguments, address):
        with SegmentRecorder(store, merge=False) as recorder:
            info, end = rows.into(recorder)
        yield task, run_result(info, end, store)


def prepare_on_node(
    shipped: ShippedScenarios, frozen: Any, source: str, sweep_id: str, specialise: str | None = None
) -> Callable[[Task], StepBuffer]:
    """Return the function that runs a task on a node, which has neither our files nor our store."""
    scenarios = unpack(shipped)
    prepared = Prepared(scenarios, frozen)

    def work(task: Task) -> StepBuffer:
        rows = StepBuffer()
        request = RunRequest(
            scenario=scenarios[task.point],
            seed=task.seed,
            source=source,
            store=Path(),
            specialise=specialise,
            sweep_id=sweep_id,
        )
        execute(request, prepared.world, rows, set_up=prepared.fork(task.point))
        return rows

    return work
