"""Find stored runs by scenario text, seed, world and version, whichever command made them."""

from __future__ import annotations

from collections.abc import Sequence

import mayavi
from mayavi.scenarios.run.results import Kpis, Run
from mayavi.scenarios.run.sweep import SweepRequest
from mayavi.scenarios.run.sweep_plan import Plan, task_key
from mayavi.sim.rows import KpiRow
from mayavi.sim.store import Store
from mayavi.sim.store.store import run_record


def stored_anywhere(request: SweepRequest, plan: Plan) -> dict[str, Run]:
    """Return finished runs of the plan's tasks on the same world by the same version, from any command, by task key."""
    store, world = Store(request.store), request.world
    wanted = {task.key for task in plan.tasks}
    query = (
        "SELECT * FROM runs WHERE status = 'finished' AND scenario = ? AND world_digest = ? AND source = ? "
        "AND list_contains(?, seed) ORDER BY run_id DESC"
    )
    same = [request.scenarios[0].name, world.open().digest(), world.kind, list(plan.seeds)]
    records = {}
    for record in map(run_record, store.sql(query, same)):
        key = task_key(record.scenario_text, record.seed)
        if key in wanted and record.versions.get("mayavi") == mayavi.__version__:
            records[key] = record
    kpis = _kpis_of(store, [each.run_id for each in records.values()])
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
        )
        for key, each in records.items()
    }


def _kpis_of(store: Store, run_ids: Sequence[str]) -> dict[str, Kpis]:
    """Read the KPIs of the runs in one query, by run id."""
    if not run_ids:
        return {}
    rows: dict[str, list[KpiRow]] = {}
    names = ", ".join(f"'{each}'" for each in run_ids)
    query = f"SELECT run_id, name, value, number, unit FROM kpis WHERE run_id IN ({names}) ORDER BY run_id, seq"
    for run_id, name, value, number, unit in store.sql(query).fetchall():
        rows.setdefault(run_id, []).append(KpiRow(name, value, number, unit))
    return {run_id: Kpis(each) for run_id, each in rows.items()}
