"""Run a scenario with many seeds, at every point of a grid, and summarise the runs.

    sweep = mayavi.sweep("depeg_cascade", seeds=range(1_000), jobs=2)
    sweep.summary["bad_debt"].p95

A stored run is never repeated: the same call continues an interrupted sweep, and ends with the same digests. With
`until="VaR ±10%"` seeds are added until the interval is that short, or the budget is spent.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import mayavi
from mayavi.errors import BadScenario, SimulationError, UsageError
from mayavi.evm.specialise import chosen_specialise
from mayavi.parallel.cores import available_cores
from mayavi.parallel.processes import check_jobs
from mayavi.runs.run_id import check_id
from mayavi.scenarios.figures.limits import PREFIX
from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.scenarios.models.world import WorldOptions
from mayavi.scenarios.plugin_versions import plugin_versions
from mayavi.scenarios.run.overrides import Overrides, grid_texts, override_texts
from mayavi.scenarios.run.request import versions
from mayavi.scenarios.run.result import Run
from mayavi.scenarios.run.run import refuse_unknown
from mayavi.scenarios.sweep.plan import Plan, check_seeds, make_plan, parse_grid, parse_seeds, task_key
from mayavi.scenarios.sweep.request import Progress, SweepListener, SweepRequest
from mayavi.scenarios.sweep.result import PointSummary, Sweep
from mayavi.scenarios.sweep.stored_runs import records_of, stored_runs
from mayavi.scenarios.sweep.until import (
    CONFIDENCE_AT_LOOKS,
    FIRST_SEEDS,
    MOST_RUNS,
    Target,
    check_most,
    more_seeds,
    parse_target,
    status_of,
)
from mayavi.scenarios.sweep.workers import run_tasks
from mayavi.sim.store import Store, SweepRecord, store_path
from mayavi.sim.store.database.opening import refuse_unusable
from mayavi.statistics.estimate import CONFIDENCE
from mayavi.statistics.summary import summarise_all
from mayavi.worlds.source import WorldSource


def sweep(
    scenario: str | Path,
    *,
    seeds: Iterable[int] | str | None = None,
    until: str | None = None,
    most: int | None = None,
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
    specialise: str | None = None,
    progress: Progress | None = None,
    listener: SweepListener | None = None,
    **unknown: object,
) -> Sweep:
    """Run `scenario` with each of `seeds` at each point of `grid`, and summarise.

    `seeds` are integers, or text such as `0:1000`. `grid` gives some overrides several values:
    `{"agents.borrowers.count": [100, 200]}`. `jobs` processes work in parallel, by default one per core; each opens the
    same frozen world. `ray` is the address of a Ray cluster that does the work instead. Stored runs are not repeated.
    No result depends on `specialise`: off, on or check, as of `mayavi.run`.

    `until` is a precision, `VaR ±10%` or `mean(bad_debt) ±5%`: the sweep starts with `seeds`, by default 0 to 99, and
    adds seeds until it is reached or there are `most`, by default 10,000. `Sweep.target` says which.
    """
    refuse_unknown(sweep, unknown)
    jobs = check_jobs(available_cores() if jobs is None else jobs)
    target = None if until is None else parse_target(until)
    points = parse_grid(grid_texts(grid))
    base = override_texts(overrides)
    options = WorldOptions(source, snapshot, rpc_url, block)
    scenarios = [
        load_scenario(scenario, chain=chain, steps=steps, overrides=base, grid=point, world=options) for point in points
    ]
    chosen = _starting_seeds(seeds, most, target)
    world = one_world(scenarios, rpc_url)
    request = SweepRequest(
        scenarios=scenarios,
        points=points,
        seeds=chosen,
        world=world,
        store=store_path(store),
        jobs=jobs,
        ray=ray,
        specialise=None if specialise is None else chosen_specialise(specialise),
        until=target,
        most=MOST_RUNS if most is None else check_most(most, len(chosen)),
    )
    return run_sweep(request, listener or SweepListener(progress))


def one_world(scenarios: Sequence[Scenario], rpc_url: str | None = None) -> WorldSource:
    """Return the world of a sweep; `UsageError` if the points of its grid have several."""
    worlds = list(dict.fromkeys(each.world(rpc_url) for each in scenarios))
    if len(worlds) > 1:
        configs = [each.config for each in scenarios]
        key = next(key for key in ("chain", "source", "block") if len({getattr(each, key) for each in configs}) > 1)
        raise UsageError(
            f"the grid has several values for '{key}', and a sweep runs on one world",
            f"start a sweep for each, and compare them: `mayavi sweep … --set {key}=…`",
        )
    return worlds[0]


def _starting_seeds(seeds: Iterable[int] | str | None, most: int | None, target: Target | None) -> tuple[int, ...]:
    if target is None:
        if most is not None:
            raise UsageError("a budget without a target", "`--most` belongs to `--until`: give both, or neither")
        if seeds is None:
            raise UsageError("there are no seeds", 'give --seeds 0:100, or a precision: --until "VaR ±10%"')
    if seeds is None:
        return tuple(range(min(FIRST_SEEDS, max(1, FIRST_SEEDS if most is None else most))))
    return parse_seeds(seeds) if isinstance(seeds, str) else check_seeds(seeds)


def run_sweep(request: SweepRequest, listener: SweepListener | None = None) -> Sweep:
    """Run every scenario with every seed, except for runs already stored, and summarise all runs.

    With a target, seeds are added in batches until it is reached or the budget is spent.
    """
    listener = listener or SweepListener()
    refuse_unusable(request.store)
    listener.open_world(request.world)
    with listener.planning():
        check_buildable(request.scenarios, request.world)
        plan = plan_of(request)
    listener.planned(request, plan)
    return run_plan(request, plan, listener) if request.until is None else _run_until(request, request.until, listener)


def _run_until(request: SweepRequest, target: Target, listener: SweepListener) -> Sweep:
    """Add seeds until the target is reached. The first seed runs alone, to fail early if the figure is missing."""
    began, executed, count = time.monotonic(), 0, 1
    while True:
        plan = plan_of(request, more_seeds(request.seeds, count))
        listener.extended(plan)
        found = run_plan(request, plan, listener)
        executed += len(plan.tasks) - found.resumed
        status = status_of(target, [point.figures for point in found.points], count, request.most)
        if count > 1 or len(request.seeds) == 1:
            listener.looked(status)
            if status.reached or status.hopeless or count >= request.most:
                resumed = len(plan.tasks) - executed
                return replace(found, target=status, seconds=time.monotonic() - began, resumed=resumed)
        count = status.next_runs() if count >= len(request.seeds) else len(request.seeds)


def run_plan(request: SweepRequest, plan: Plan, listener: SweepListener) -> Sweep:
    """Run the tasks of a plan that are not stored, and summarise all."""
    began = time.monotonic()
    database = Store(request.store)
    records = records_of(database, plan)
    has_interrupted = any(each.status == "interrupted" for each in records)
    done = stored_runs(database, plan, records)
    resumed = len(done)
    listener.runs_done(len(done), len(plan.tasks))
    if has_interrupted:
        _drop_superseded(database, plan, done)
    scenario = request.scenarios[0]
    record = _record(plan, scenario, request)
    if tasks := plan.open_tasks(done):
        database.save_sweep(record, merge=False)
    try:
        for task, finished in run_tasks(
            tasks,
            request.scenarios,
            request.world,
            plan.sweep_id,
            store=request.store,
            jobs=request.jobs,
            ray=request.ray,
            specialise=request.specialise,
        ):
            if finished.status != "finished":
                raise SimulationError(
                    f"the run with seed {task.seed} ended as {finished.status}: {finished.error.partition(chr(10))[0]}",
                    f"`mayavi runs show {finished.run_id}` shows details; the other runs are kept",
                )
            done[task.key] = finished
            listener.runs_done(len(done), len(plan.tasks))
    except BaseException:
        database.save_sweep(replace(record, status="interrupted"))
        raise
    runs = tuple(done[task.key] for task in plan.tasks)
    found = Sweep(
        sweep_id=plan.sweep_id,
        scenario=scenario.name,
        chain=scenario.config.chain,
        seeds=plan.seeds,
        runs=runs,
        points=tuple(
            _summary(plan, index, runs, CONFIDENCE if request.until is None else CONFIDENCE_AT_LOOKS)
            for index in range(len(plan.points))
        ),
        seconds=time.monotonic() - began,
        resumed=resumed,
        store_path=request.store,
    )
    if tasks:
        summary = {"points": [point.to_json() for point in found.points]}
        database.save_sweep(replace(record, status="finished", summary=summary))
        if has_interrupted or request.jobs > 1 or request.ray is not None:  # other processes may have been killed
            _drop_superseded(database, plan, done)
    return found


def _record(plan: Plan, scenario: Scenario, request: SweepRequest) -> SweepRecord:
    asked: dict[str, object] = {
        "seeds": [str(seed) for seed in plan.seeds],
        "points": [list(point) for point in plan.points],
    }
    if request.until is not None:
        asked["until"] = str(request.until)
    started = datetime.now(UTC)
    used = versions(scenario.config)
    return SweepRecord(plan.sweep_id, scenario.name, scenario.text, asked, "running", started, versions=used)


def plan_of(request: SweepRequest, seeds: Sequence[int] | None = None) -> Plan:
    """Return the plan of a sweep, identified by everything its results depend on.

    `seeds` are those of a sweep that grows, by default the ones it starts with.
    """
    world = request.world
    identity: dict[str, object] = {"world": world.open().digest(), "source": world.kind, "version": mayavi.__version__}
    if plugins := [found for each in request.scenarios if (found := plugin_versions(each.config))]:
        identity["plugins"] = plugins  # changed plugin code makes another sweep
    start = None if request.until is None else request.seeds
    texts = [each.text for each in request.scenarios]
    plan = make_plan(texts, request.points, request.seeds if seeds is None else seeds, identity, start=start)
    return plan if request.sweep_id is None else replace(plan, sweep_id=check_id(request.sweep_id))


def check_buildable(scenarios: Sequence[Scenario], world: WorldSource) -> None:
    """Build the first and the last scenario, to raise errors of the set-up before any run starts."""
    from mayavi.scenarios.build.build import build

    for scenario in scenarios[:: max(1, len(scenarios) - 1)]:
        try:
            build(scenario.config, world.open())
        except BadScenario as error:
            raise scenario.blame(error) from error


def _drop_superseded(store: Store, plan: Plan, done: Mapping[str, Run]) -> None:
    """Remove interrupted runs whose task was finished later."""
    left = store.runs(sweep_id=plan.sweep_id, status="interrupted")
    if gone := [each.run_id for each in left if task_key(each.scenario_text, each.seed) in done]:
        store.remove(*gone)


def _summary(plan: Plan, point: int, runs: Sequence[Run], confidence: float) -> PointSummary:
    own = [run for run, task in zip(runs, plan.tasks, strict=True) if task.point == point]
    units = {row.name: row.unit for run in own for row in run.kpis.rows()}
    numbers = [run.kpis.numbers() for run in own]
    columns = {
        name: [each.get(name, 0.0) for each in numbers if name in each or name.startswith(PREFIX)] for name in units
    }
    return PointSummary(plan.points[point], summarise_all(columns, confidence=confidence), units)
