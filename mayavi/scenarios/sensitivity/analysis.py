"""Move each assumption of a scenario alone, with the same seeds, and rank the effects on a figure.

    found = mayavi.sensitivity("depeg_cascade", figure="bad_debt", seeds=range(20), jobs=2)
    found.effects[0].path

A stored run is never repeated, whichever command made it: the same call continues an interrupted analysis, another
figure costs nothing, and runs of `mayavi sweep` with the same scenario, seed and world count.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from mayavi.errors import SimulationError, UnknownName, UsageError
from mayavi.parallel.cores import available_cores
from mayavi.parallel.processes import check_jobs
from mayavi.scenarios.figures.notes import notes_of_many
from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.scenarios.models.world import WorldOptions
from mayavi.scenarios.run.overrides import Overrides, override_texts
from mayavi.scenarios.run.request import versions
from mayavi.scenarios.run.result import Run
from mayavi.scenarios.run.run import refuse_unknown
from mayavi.scenarios.sensitivity.attempts import Refusal, run_attempts
from mayavi.scenarios.sensitivity.paired_difference import paired_difference
from mayavi.scenarios.sensitivity.plan import AssumptionMove, Given, Skipped, plan_moves, without_options
from mayavi.scenarios.sensitivity.result import AssumptionEffect, MoveEffect, Sensitivity, ranked
from mayavi.scenarios.sweep.plan import Plan, check_seeds, parse_seeds, task_key
from mayavi.scenarios.sweep.request import Progress, SweepListener, SweepRequest
from mayavi.scenarios.sweep.result import BAD_DEBT
from mayavi.scenarios.sweep.stored_runs import stored_anywhere
from mayavi.scenarios.sweep.sweep import check_buildable, plan_of
from mayavi.sim.store import Store, SweepRecord, store_path
from mayavi.sim.store.database.opening import refuse_unusable

SEEDS = "0:20"
_PRICE_MOVES = ("price_impact", "pool_change", "oracle_change", "average_price")


def sensitivity(
    scenario: str | Path,
    *,
    figure: str | None = None,
    seeds: Iterable[int] | str = SEEDS,
    jobs: int | None = None,
    assumptions: Given = (),
    only: Sequence[str] = (),
    chain: str | None = None,
    steps: int | None = None,
    overrides: Overrides = (),
    source: str | None = None,
    snapshot: str | Path | None = None,
    rpc_url: str | None = None,
    block: int | str | None = None,
    store: str | Path | None = None,
    progress: Progress | None = None,
    listener: SweepListener | None = None,
    **unknown: object,
) -> Sensitivity:
    """Move each assumption of `scenario` alone and rank the effects on the mean of `figure`, a KPI.

    `figure` defaults to bad debt, or to a price move in a scenario without loans. `assumptions` gives your own values:
    `{"gas.base_fee": ["5 gwei", "80 gwei"]}`; `only` restricts the others: `["agents.liquidators", "gas.*"]`. The base
    and every move run with the same `seeds`, so differences are paired. Other arguments are those of `mayavi.sweep`.
    """
    refuse_unknown(sensitivity, unknown)
    jobs = check_jobs(available_cores() if jobs is None else jobs)
    chosen = parse_seeds(seeds) if isinstance(seeds, str) else check_seeds(seeds)
    options = WorldOptions(source, snapshot, rpc_url, block)
    load = partial(_load, scenario, chain, steps, override_texts(overrides), options)
    base = load(())
    moves, skipped = plan_moves(base, load, assumptions, [only] if isinstance(only, str) else only)
    request = SweepRequest(
        scenarios=[base, *(move.scenario for move in moves)],
        points=[(), *(move.overrides for move in moves)],
        seeds=chosen,
        world=base.world(rpc_url),
        store=store_path(store),
        jobs=jobs,
    )
    return _run_moves(request, moves, skipped, figure, listener or SweepListener(progress))


def _load(
    scenario: str | Path,
    chain: str | None,
    steps: int | None,
    base: Sequence[str],
    world: WorldOptions,
    moved: Sequence[str],
) -> Scenario:
    return load_scenario(scenario, chain=chain, steps=steps, overrides=base, grid=moved, world=world)


def _run_moves(
    request: SweepRequest,
    moves: Sequence[AssumptionMove],
    skipped: Sequence[Skipped],
    figure: str | None,
    listener: SweepListener,
) -> Sensitivity:
    """Run the base and every move with every seed, except for stored runs, and compare them."""
    refuse_unusable(request.store)
    listener.open_world(request.world)
    with listener.planning():
        check_buildable(request.scenarios[:1], request.world)
        plan = plan_of(request)
        done = stored_anywhere(request, plan)
    listener.planned(request, plan)
    began, resumed = time.monotonic(), len(done)
    figure, checked = _choose_figure(figure, plan, done)
    refused: dict[int, str] = {}
    database = Store(request.store)
    record = _record(plan, request.scenarios[0])
    tasks = plan.open_tasks(done)
    listener.runs_done(resumed, len(plan.tasks))
    if tasks:
        database.save_sweep(record)
    try:
        for count, (task, outcome) in enumerate(run_attempts(tasks, request, plan.sweep_id), 1):
            if isinstance(outcome, Refusal):
                if not task.point:
                    raise SimulationError(f"the scenario cannot run with seed {task.seed}: {outcome.message}")
                reason = without_options(outcome.message, plan.points[task.point])
                refused.setdefault(task.point, f"with seed {task.seed}: {reason}")
            else:
                done[task.key] = outcome
                if not checked:
                    figure, checked = _choose_figure(figure, plan, done)
            listener.runs_done(resumed + count, len(plan.tasks))
    except BaseException:
        database.save_sweep(replace(record, status="interrupted"))
        raise
    found = _compare(request, plan, moves, skipped, refused, done, figure)
    found = replace(found, resumed=resumed, seconds=time.monotonic() - began)
    if tasks:
        database.save_sweep(replace(record, status="finished", summary={"sensitivity": found.to_json()}))
        _drop_superseded(database, plan, done)
    return found


def _choose_figure(figure: str | None, plan: Plan, runs: Mapping[str, Run]) -> tuple[str, bool]:
    """Return the figure to compare, and whether a run of the base has confirmed it.

    Raises `UnknownName` if there are runs of the base and none has it.
    """
    base = [runs[task.key].kpis for task in plan.tasks if not task.point and task.key in runs]
    if not base:
        return figure or "", False
    if not any(base):
        raise UsageError("runs of this scenario have no figures", "add agents that lend, borrow or trade")
    if not figure:
        moves = (name for name in base[0] if name.partition(".")[0] in _PRICE_MOVES)
        return BAD_DEBT if BAD_DEBT in base[0] else next(moves, next(iter(base[0]))), True
    if not any(figure in kpis for kpis in base):
        raise UnknownName.of("figure", figure, base[0], f"this scenario has: {', '.join(base[0])}")
    return figure, True


def _compare(
    request: SweepRequest,
    plan: Plan,
    moves: Sequence[AssumptionMove],
    skipped: Sequence[Skipped],
    refused: Mapping[int, str],
    done: Mapping[str, Run],
    figure: str,
) -> Sensitivity:
    kpis = {(task.point, task.seed): done[task.key].kpis for task in plan.tasks if task.key in done}
    base = {seed: kpis[0, seed][figure] for seed in plan.seeds if figure in kpis[0, seed]}
    effects: dict[str, list[MoveEffect]] = {}
    left_out = list(skipped)
    for point, move in enumerate(moves, 1):
        path = move.assumption.path
        if point in refused:
            left_out.append(Skipped(path, move.value, refused[point]))
            continue
        moved = {seed: kpis[point, seed][figure] for seed in base if figure in kpis[point, seed]}
        if not moved:
            left_out.append(Skipped(path, move.value, f"no run has the figure '{figure}'"))
            continue
        difference = paired_difference([moved[seed] - base[seed] for seed in moved])
        mean = math.fsum(moved.values()) / len(moved)
        effects.setdefault(path, []).append(MoveEffect(move.value, move.overrides, mean, difference))
    described = {move.assumption.path: move.assumption.base for move in moves}
    first = next(kpis[0, seed] for seed in base)
    scenario = request.scenarios[0]
    return Sensitivity(
        sweep_id=plan.sweep_id,
        scenario=scenario.name,
        chain=scenario.config.chain,
        figure=figure,
        unit=first.exact(figure).unit,
        seeds=plan.seeds,
        base_mean=math.fsum(base.values()) / len(base),
        effects=ranked(AssumptionEffect(path, described[path], tuple(each)) for path, each in effects.items()),
        skipped=tuple(left_out),
        notes=tuple(notes_of_many([kpis[0, seed] for seed in plan.seeds])),
        runs=len(plan.tasks),
        resumed=0,
        seconds=0.0,
        store_path=request.store,
    )


def _record(plan: Plan, scenario: Scenario) -> SweepRecord:
    asked = {"seeds": [str(seed) for seed in plan.seeds], "points": [list(point) for point in plan.points]}
    started = datetime.now(UTC)
    return SweepRecord(plan.sweep_id, scenario.name, scenario.text, asked, "running", started, versions=versions())


def _drop_superseded(store: Store, plan: Plan, done: Mapping[str, Run]) -> None:
    """Remove interrupted runs whose task was finished later."""
    left = store.runs(sweep_id=plan.sweep_id, status="interrupted")
    if gone := [each.run_id for each in left if task_key(each.scenario_text, each.seed) in done]:
        store.remove(*gone)
