"""Details of one run: KPIs, notes, scenario, and the command that repeats it."""

from __future__ import annotations

import math

from mayavi.api.models.jobs import Ended
from mayavi.api.models.runs import Kpi, RunDetails
from mayavi.api.queue.job import Job
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.queue.stored_runs import KpiValues, WholeRun
from mayavi.api.reading.runs.bodies import IndexedRun
from mayavi.api.reading.runs.changed_parameters import short_changes
from mayavi.api.reading.runs.job_mirror import submission_of
from mayavi.sim.store import Store
from mayavi.sim.store.database.schema import literal
from mayavi.sim.store.database.views import reading
from mayavi.sim.store.store import RunRecord, run_record

_KPIS = "SELECT name, value, number, unit FROM kpis"


def details_of(store: Store, queue: JobQueue, run: IndexedRun, whole: WholeRun | None = None) -> RunDetails | None:
    """Return the details; None if the run has been removed meanwhile. The store is read unless `whole` is given."""
    summary = run.summary.model_dump(exclude={"parameters"})
    if run.in_store and whole is None:
        whole = _read(store, run.run_id)
    if whole is None:  # not begun, removed, or the rows of an attempt that died, which the next attempt discards
        job = queue.job(run.run_id)
        if job is None or (run.in_store and job.status in Ended):
            return None
        return RunDetails(**summary, scenario_text=scenario_of(job))
    from mayavi.report.run.parameters import repeatability

    record = run_record(whole.row)
    return RunDetails(
        **summary,
        parameters=dict(short_changes(record.scenario, record.chain, record.scenario_text)),
        kpis=[
            Kpi(name=name, value=value, number=number if _is_finite(number) else None, unit=unit)
            for name, value, number, unit in whole.kpis
        ],
        notes=_notes(whole.kpis),
        scenario_text=record.scenario_text,
        world_digest=record.world_digest,
        versions=record.versions,
        command=command_line(record),
        command_note=repeatability(record.source),
    )


def _read(store: Store, run_id: str) -> WholeRun | None:
    with reading(store.path) as connection:
        answer = connection.execute(f"SELECT * FROM runs WHERE run_id = {literal(run_id)}")
        names = [column[0] for column in answer.description or ()]
        row = answer.fetchone()
        kpis = connection.execute(f"{_KPIS} WHERE run_id = {literal(run_id)} ORDER BY seq").fetchall()
    return None if row is None else WholeRun(dict(zip(names, row, strict=True)), kpis)


def command_line(record: RunRecord) -> str:
    """Return the command that repeats a run; empty for a run that was built in Python."""
    from mayavi.report.run.parameters import command_of, differences

    return command_of(record, differences(record))[0] if record.scenario_text.strip() else ""


def scenario_of(job: Job) -> str:
    """Return the resolved scenario of a job that has not begun."""
    text = submission_of(job).get("text")
    return text if isinstance(text, str) else ""


def _notes(kpis: list[KpiValues]) -> list[str]:
    from mayavi.scenarios.figures.notes import notes

    return list(notes({name: number for name, _, number, _ in kpis}))


def _is_finite(number: float | None) -> bool:
    return number is not None and math.isfinite(number)
