"""A scenario many times: every seed at every point of a grid, on all cores or on a cluster, and what it comes to.

    sweep = mayavi.sweep("depeg_cascade", seeds=range(1_000), jobs=2)
    sweep.summary["bad_debt"].p95

A run that is stored is never run again: the same call goes on where an interrupted one stopped, and ends with the same
digests as one that nobody disturbed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mayavi
from mayavi.errors import SimulationError
from mayavi.parallel.processes import check_jobs, default_jobs, work_off
from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.scenarios.run.results import Kpis, PointSummary, Run, Sweep
from mayavi.scenarios.run.run import (
    Overrides,
    execute,
    override_texts,
    override_value,
    refuse_unknown,
    run_of,
    versions,
)
from mayavi.scenarios.run.sweep_plan import Plan, Task, check_seeds, make_plan, parse_grid, parse_seeds, task_key
from mayavi.sim.rows import ActionRow, KpiRow, RunEnd, RunInfo, SnapshotRow
from mayavi.sim.store import SegmentRecorder, Store, SweepRecord, store_path
from mayavi.statistics.estimate import summarise_all
from mayavi.worlds.source import WorldSource

Progress = Callable[[int, int], None]

_MERGE_EVERY_S = 20.0


def sweep(
    scenario: str | Path,
    *,
    seeds: Iterable[int] | str,
    jobs: int | None = None,
    grid: Mapping[str, Sequence[object]] | Sequence[str] = (),
    chain: str | None = None,
    steps: int | None = None,
    overrides: Overrides = (),
    source: str | None = None,
    snapshot: str | Path | None = None,
    rpc_url: str | None = None,
    block: int | str | None = None,
    store: str | Path | None = None,
    ray: str | None = None,
    progress: Progress | None = None,
    **unknown: object,
) -> Sweep:
    """Run `scenario` with each of `seeds` at each point of `grid`, and summarise.

    `seeds` are integers, or text such as `0:1000`. `grid` gives some overrides several values:
    `{"agents.borrowers.count": [100, 200]}`. `jobs` processes work side by side, by default one for each core; each
    opens the same frozen world. `ray` is the address of a Ray cluster that does the work instead. Runs that the store
    has already are not run again.
    """
    refuse_unknown(sweep, unknown)
    jobs = check_jobs(default_jobs() if jobs is None else jobs)
    chosen = parse_seeds(seeds) if isinstance(seeds, str) else check_seeds(seeds)
    points = parse_grid(grid_texts(grid))
    base = override_texts(overrides)
    scenarios = [load_scenario(scenario, chain=chain, steps=steps, overrides=base, grid=point) for point in points]
    world = WorldSource.of(source, chain=scenarios[0].config.chain, snapshot=snapshot, rpc_url=rpc_url, block=block)
    return run_sweep(scenarios, points, chosen, world, store=store_path(store), jobs=jobs, ray=ray, progress=progress)


def run_sweep(
    scenarios: Sequence[Scenario],
    points: Sequence[tuple[str, ...]],
    seeds: Sequence[int],
    world: WorldSource,
    *,
    store: Path,
    jobs: int,
    ray: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Run what is not stored yet of every scenario with every seed, and summarise all of it."""
    began = time.monotonic()
    plan = plan_of(scenarios, points, seeds, world)
    database = Store(store)
    done = stored_runs(database, plan)
    resumed = len(done)
    advance = progress or (lambda _done, _total: None)
    advance(len(done), len(plan.tasks))
    _drop_superseded(database, plan, done)
    tasks = plan.open_tasks(done)
    record = _record(plan, scenarios[0])
    if tasks:
        database.save_sweep(record)
    try:
        for task, finished in _work_off(tasks, scenarios, world, plan.sweep_id, store, jobs, ray):
            if finished.status != "finished":
                raise SimulationError(
                    f"the run with seed {task.seed} ended as {finished.status}: {finished.error.partition(chr(10))[0]}",
                    f"`mayavi runs show {finished.run_id}` tells more; the other runs are kept",
                )
            done[task.key] = finished
            advance(len(done), len(plan.tasks))
    except BaseException:
        database.save_sweep(replace(record, status="interrupted"))
        raise
    runs = tuple(done[task.key] for task in plan.tasks)
    found = Sweep(
        sweep_id=plan.sweep_id,
        scenario=scenarios[0].name,
        chain=scenarios[0].config.chain,
        seeds=plan.seeds,
        runs=runs,
        points=tuple(_summary(plan, index, runs) for index in range(len(points))),
        seconds=time.monotonic() - began,
        resumed=resumed,
        store_path=store,
    )
    if tasks:
        summary = {"points": [point.to_json() for point in found.points]}
        database.save_sweep(replace(record, status="finished", summary=summary))
        _drop_superseded(database, plan, done)
    return found


def _record(plan: Plan, scenario: Scenario) -> SweepRecord:
    asked = {"seeds": [str(seed) for seed in plan.seeds], "points": [list(point) for point in plan.points]}
    started = datetime.now(UTC)
    return SweepRecord(plan.sweep_id, scenario.name, scenario.text, asked, "running", started, versions=versions())


def plan_of(
    scenarios: Sequence[Scenario], points: Sequence[tuple[str, ...]], seeds: Sequence[int], world: WorldSource
) -> Plan:
    """The plan, known by everything its outcome depends on."""
    identity = {"world": world.open().digest(), "source": world.kind, "version": mayavi.__version__}
    return make_plan([each.text for each in scenarios], points, seeds, identity)


def check_buildable(scenarios: Sequence[Scenario], world: WorldSource) -> None:
    """Raise what a run of the first or the last of `scenarios` would raise before its first step."""
    from mayavi.scenarios.build.build import build

    for scenario in scenarios[:: max(1, len(scenarios) - 1)]:
        build(scenario.config, world.open())


def stored_runs(store: Store, plan: Plan) -> dict[str, Run]:
    """The finished runs of this sweep that the store has, by the key of their task."""
    wanted = {task.key for task in plan.tasks}
    found: dict[str, Run] = {}
    records = [each for each in store.runs(sweep_id=plan.sweep_id) if each.status == "finished"]
    if not records:
        return found
    kpis = kpis_of_sweep(store, plan.sweep_id)
    for record in records:
        key = task_key(record.scenario_text, record.seed)
        if key in wanted:
            found[key] = Run(
                run_id=record.run_id,
                scenario=record.scenario,
                chain=record.chain,
                seed=record.seed,
                steps=record.steps,
                status=record.status,
                digest=record.digest,
                kpis=kpis.get(record.run_id, Kpis(())),
                timings=record.timings,
                store_path=store.path,
                sweep_id=record.sweep_id,
            )
    return found


def _drop_superseded(store: Store, plan: Plan, done: Mapping[str, Run]) -> None:
    """Remove what an interruption left of runs that were finished later."""
    left = store.runs(sweep_id=plan.sweep_id, status="interrupted")
    if gone := [each.run_id for each in left if task_key(each.scenario_text, each.seed) in done]:
        store.remove(*gone)


def kpis_of_sweep(store: Store, sweep_id: str) -> dict[str, Kpis]:
    """The figures of every run of a sweep, in one question."""
    rows: dict[str, list[KpiRow]] = {}
    query = (
        "SELECT kpis.run_id, kpis.name, kpis.value, kpis.number, kpis.unit FROM kpis JOIN runs USING (run_id) "
        f"WHERE runs.sweep_id = '{sweep_id}' ORDER BY kpis.run_id, kpis.seq"
    )
    for run_id, name, value, number, unit in store.sql(query).fetchall():
        rows.setdefault(run_id, []).append(KpiRow(name, value, number, unit))
    return {run_id: Kpis(each) for run_id, each in rows.items()}


def grid_texts(grid: Mapping[str, Sequence[object]] | Sequence[str]) -> list[str]:
    """The axes of a grid as `--grid` takes them."""
    if not isinstance(grid, Mapping):
        return list(grid)
    return [f"{path}={','.join(override_value(value) for value in values)}" for path, values in grid.items()]


def _summary(plan: Plan, point: int, runs: Sequence[Run]) -> PointSummary:
    own = [run for run, task in zip(runs, plan.tasks, strict=True) if task.point == point]
    units = {row.name: row.unit for run in own for row in run.kpis.rows()}
    columns = {name: [run.kpis[name] for run in own if name in run.kpis] for name in units}
    seed = int(plan.sweep_id.rpartition("-")[2], 16)
    return PointSummary(plan.points[point], summarise_all(columns, seed), units)


# -- the work ---------------------------------------------------------------------------------------------------------


def _work_off(
    tasks: list[Task],
    scenarios: Sequence[Scenario],
    world: WorldSource,
    sweep_id: str,
    store: Path,
    jobs: int,
    ray: str | None,
) -> Iterator[tuple[Task, Run]]:
    if not tasks:
        return
    if ray is not None:
        yield from _work_off_on_ray(tasks, scenarios, world, sweep_id, store, ray)
        return
    arguments = (tuple(scenarios), world, sweep_id, store)
    if jobs == 1:
        work = prepare(*arguments)
        for task in tasks:
            yield task, work(task)
        return
    merged = time.monotonic()
    for task, finished in work_off(tasks, prepare, arguments, jobs):
        yield task, finished
        if time.monotonic() - merged > _MERGE_EVERY_S:  # so that a long sweep does not pile up files
            Store(store).merge()
            merged = time.monotonic()


def prepare(scenarios: tuple[Scenario, ...], world: WorldSource, sweep_id: str, store: Path) -> Callable[[Task], Run]:
    """What works on the tasks of a sweep in a worker process: the world is opened once, each run gets a twin."""
    frozen = world.open()

    def work(task: Task) -> Run:
        with SegmentRecorder(store, merge=False) as recorder:
            done = execute(
                scenarios[task.point],
                frozen.copy(),
                recorder,
                seed=task.seed,
                source=world.kind,
                store=store,
                threads=1,
                sweep_id=sweep_id,
            )
        return replace(done, headlines=None)  # it has told enough, and would travel to the parent

    return work


def _work_off_on_ray(
    tasks: list[Task], scenarios: Sequence[Scenario], world: WorldSource, sweep_id: str, store: Path, address: str
) -> Iterator[tuple[Task, Run]]:
    from mayavi.parallel.ray_tasks import work_off_on_ray

    arguments = (tuple(scenarios), world.open(), world.kind, sweep_id)
    for task, kept in work_off_on_ray(tasks, prepare_on_node, arguments, address):
        yield task, kept.into(store)


class Kept:
    """A recorder whose rows travel from a node of a cluster to the store, step by step as they came about."""

    def __init__(self) -> None:
        self.info: RunInfo | None = None
        self.steps: list[tuple[list[ActionRow], list[SnapshotRow]]] = []
        self.ended: RunEnd | None = None

    def begin(self, info: RunInfo) -> None:
        """The run starts."""
        self.info = info

    def record(self, actions: list[ActionRow], snapshots: list[SnapshotRow]) -> None:
        """A step is done."""
        self.steps.append((actions, snapshots))

    def end(self, end: RunEnd) -> None:
        """The run is over."""
        self.ended = end

    def into(self, store: Path) -> Run:
        """Write all of it to the store."""
        assert self.info is not None
        assert self.ended is not None
        with SegmentRecorder(store, merge=False) as recorder:
            recorder.begin(self.info)
            for actions, snapshots in self.steps:
                recorder.record(actions, snapshots)
            recorder.end(self.ended)
        return run_of(self.info, self.ended, store)


def prepare_on_node(scenarios: tuple[Scenario, ...], frozen: Any, kind: str, sweep_id: str) -> Callable[[Task], Kept]:
    """What works on tasks on a node of a cluster, which has neither our files nor our store: rows travel back."""

    def work(task: Task) -> Kept:
        kept = Kept()
        execute(
            scenarios[task.point],
            frozen.copy(),
            kept,
            seed=task.seed,
            source=kind,
            store=Path(),
            threads=1,
            sweep_id=sweep_id,
        )
        return kept

    return work
