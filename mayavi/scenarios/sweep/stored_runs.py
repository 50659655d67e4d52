"""Find stored runs of a plan: those of the same sweep, or of any command with the same scenario, seed and world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import mayavi
from mayavi.runs.sql_values import filled
from mayavi.scenarios.run.result import Kpis, Run
from mayavi.scenarios.sweep.plan import Plan, task_key
from mayavi.scenarios.sweep.request import SweepRequest
from mayavi.sim.rows import KpiRow
from mayavi.sim.store import RunRecord, Store
from mayavi.sim.store.store import run_record


def records_of(store: Store, plan: Plan) -> list[RunRecord]:
    """Return what the store says about runs of this sweep, newest first."""
    return [] if store.is_new else store.runs(sweep_id=plan.sweep_id).records()


def stored_runs(store: Store, plan: Plan, records: Sequence[RunRecord] | None = None) -> dict[str, Run]:
    """Return the finished runs of this sweep that the store has, by task key; `records` if they are read already."""
    known = records_of(store, plan) if records is None else records
    return _runs(store, plan, (each for each in known if each.status == "finished"))


def stored_anywhere(request: SweepRequest, plan: Plan) -> dict[str, Run]:
    """Return finished runs of the plan's tasks on the same world by the same version, from any command, by task key."""
    store, world = Store(request.store), request.world
    query = (
        "SELECT * FROM runs WHERE status = 'finished' AND scenario = ? AND world_digest = ? AND source = ? "
        "AND list_contains(?, seed) ORDER BY run_id DESC"
    )
    same = [request.scenarios[0].name, world.open().digest(), world.kind, list(plan.seeds)]
    records = map(run_record, store.sql(filled(query, same)))
    return _runs(store, plan, (each for each in records if each.versions.get("mayavi") == mayavi.__version__))


def _runs(store: Store, plan: Plan, records: Iterable[RunRecord]) -> dict[str, Run]:
    """Return the runs of `records` that are tasks of the plan, by task key; if several match, the last in `records`."""
    wanted = {task.key for task in plan.tasks}
    found: dict[str, RunRecord] = {}
    for record in records:
        key = task_key(record.scenario_text, record.seed)
        if key in wanted:
            found[key] = record
    kpis = _kpis_of(store, [each.run_id for each in found.values()])
    return {
        key: Run(
            run_id=each.run_id,
            scenario=each.scenario,
            chain=each.chain,
            seed=each.seed,
            steps=each.steps,
            status=each.status,
            digest=each.digest,
            kpis=kpis.get(each.run_id, Kpis(())),
            timings=each.timings,
            store_path=store.path,
            sweep_id=each.sweep_id,
            specialise=each.specialise,
        )
        for key, each in found.items()
    }


def _kpis_of(store: Store, run_ids: list[str]) -> dict[str, Kpis]:
    """Read the KPIs of the runs in one query, by run id."""
    if not run_ids:
        return {}
    rows: dict[str, list[KpiRow]] = {}
    query = "SELECT run_id, name, value, number, unit FROM kpis WHERE run_id IN (SELECT unnest(?)) ORDER BY run_id, seq"
    for run_id, name, value, number, unit in store.sql(filled(query, [run_ids])).fetchall():
        rows.setdefault(run_id, []).append(KpiRow(name, value, number, unit))
    return {run_id: Kpis(each) for run_id, each in rows.items()}
