"""Execute one task in a worker process: a run, a sweep, or the removal of rows that a dead worker left."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mayavi.api.models.jobs import JobStatus
from mayavi.api.queue.scenarios.inline_scenarios import sweep_scenarios
from mayavi.api.queue.stored_runs import written_run
from mayavi.api.queue.workers.task import BUILDING, RUNNING, STORING, Outcome, Report, Task
from mayavi.errors import MayaviError
from mayavi.scenarios.loading import load_text
from mayavi.scenarios.run.request import RunListener, RunRequest
from mayavi.scenarios.run.run import execute
from mayavi.scenarios.sweep.plan import parse_seeds
from mayavi.scenarios.sweep.request import SweepListener, SweepRequest
from mayavi.scenarios.sweep.sweep import one_world, run_sweep
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.discarding import discard_run, hide_run, run_status

Send = Callable[[Report], None]
_MERGE_PATIENCE_S = 2.0


class JobCancelled(BaseException):
    """The job was cancelled; raised between two steps of a run or two runs of a sweep."""


def execute_task(task: Task, send: Send, cancelled: Callable[[], bool]) -> Outcome:
    """Execute a task and return how it ended; errors of the job are part of the outcome."""
    try:
        if task.action == "tidy":
            tidy(task)
            return Outcome("finished")
        return (_execute_run if task.kind == "run" else _execute_sweep)(task, send, cancelled)
    except JobCancelled:
        tidy(task)
        return Outcome("cancelled")
    except MayaviError as error:
        tidy(task)
        return Outcome("failed", "\n".join(filter(None, (error.message, error.hint))))


def tidy(task: Task) -> None:
    """Delete the stored rows of a job that does not run again: those of a run, or of the unfinished run of a sweep."""
    if task.kind == "run":
        hide_run(task.store, task.job_id)
        Store(task.store).merge(_MERGE_PATIENCE_S)
        return
    store = Store(task.store)
    if left := [run.run_id for run in store.runs(sweep_id=task.job_id, status="interrupted")]:
        store.remove(*left)
    for sweep in store.sweeps():
        if sweep.sweep_id == task.job_id and sweep.status == "running":
            store.save_sweep(replace(sweep, status="interrupted"))


def _execute_run(task: Task, send: Send, cancelled: Callable[[], bool]) -> Outcome:
    submission: dict[str, Any] = json.loads(task.submission)
    if task.repeated:
        if (ended := _stored_end(task.store, task.job_id)) is not None:
            return ended
        discard_run(task.store, task.job_id)
    scenario = load_text(submission["text"], origin="scenario", import_paths=False)
    steps = scenario.config.steps
    send(Report(0, steps, BUILDING))

    class Listener(RunListener):
        def started(self, request: RunRequest) -> None:
            send(Report(0, steps, RUNNING))

        def step_done(self, done: int, total: int) -> None:
            if cancelled():
                raise JobCancelled
            send(Report(done, total, RUNNING if done < total else STORING))

    request = RunRequest(
        scenario=scenario,
        seed=int(submission["seed"]),
        source="replica",
        store=task.store,
        threads=task.threads,
        run_id=task.job_id,
    )
    first_segment = time.time_ns() // 1_000_000  # another one than that of an earlier attempt
    with SegmentRecorder(task.store, merge=False, first_segment=first_segment) as recorder:
        fork = scenario.world().open()
        run = execute(request, fork, recorder, Listener())
    status: JobStatus = "halted" if run.status == "halted" else "finished"
    return Outcome(status, run.error, written_run(task.store, task.job_id))


def _stored_end(store: Path, run_id: str) -> Outcome | None:
    """Return the outcome of a run that an earlier worker had stored completely when it died."""
    found = run_status(store, run_id)
    if found is None or found[0] not in {"finished", "halted"}:
        return None
    status, error = found
    return Outcome("halted" if status == "halted" else "finished", error)


def _execute_sweep(task: Task, send: Send, cancelled: Callable[[], bool]) -> Outcome:
    submission: dict[str, Any] = json.loads(task.submission)
    scenarios, points = sweep_scenarios(submission)
    seeds = parse_seeds(submission["seeds"])
    send(Report(0, len(points) * len(seeds), BUILDING))

    class Listener(SweepListener):
        def runs_done(self, done: int, total: int) -> None:
            if cancelled():
                raise JobCancelled
            send(Report(done, total, RUNNING if done < total else STORING))

    request = SweepRequest(
        scenarios=scenarios,
        points=points,
        seeds=seeds,
        world=one_world(scenarios),
        store=task.store,
        jobs=1,
        ray=task.ray,
        sweep_id=task.job_id,
    )
    run_sweep(request, Listener())
    return Outcome("finished")
