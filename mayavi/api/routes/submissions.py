"""Submit and cancel runs and sweeps."""

from __future__ import annotations

import json
import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel

from mayavi.api.errors import ApiError, documented
from mayavi.api.models.base import Problem
from mayavi.api.models.runs import RunSubmission, RunSummary
from mayavi.api.models.sweeps import SweepSubmission, SweepSummary
from mayavi.api.queue.job import Job, Kind
from mayavi.api.queue.scenarios.inline_scenarios import check_submission, check_sweep
from mayavi.api.queue.summaries import run_summary, sweep_summary
from mayavi.api.security.caller import Caller, Writer
from mayavi.api.service import Parts, Service
from mayavi.errors import BadInteger
from mayavi.runs.run_id import new_run_id
from mayavi.sim.world_state import checked_seed

router = APIRouter()
IdempotencyKey = Annotated[
    str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")
]


@router.post("/runs", status_code=202, responses=documented(401, 403, 409, 422, 429), tags=["runs"])
def submit_run(
    submission: RunSubmission,
    response: Response,
    caller: Writer,
    parts: Parts,
    idempotency_key: IdempotencyKey = None,
) -> RunSummary:
    """Queue a run. The same idempotency key returns the same run; with another body it is a conflict."""
    body = _body(submission)
    if (found := _earlier(parts, "run", caller, idempotency_key, body)) is None:
        scenario = check_submission(submission)
        seed = _checked_seed(scenario.config.seed if submission.seed is None else submission.seed)
        resolved = submission.model_dump() | {
            "seed": str(seed),
            "steps": scenario.config.steps,
            "world": scenario.config.world,
            "text": scenario.text,
        }
        found, _ = parts.queue.submit(
            "run",
            new_run_id(),
            scenario.name,
            scenario.config.chain,
            json.dumps(resolved),
            caller,
            idempotency_key,
            body=body,
            total=scenario.config.steps,
        )
    response.headers["Location"] = f"/runs/{found.job_id}"
    return run_summary(found)


@router.post("/sweeps", status_code=202, responses=documented(401, 403, 409, 422, 429), tags=["sweeps"])
def submit_sweep(
    submission: SweepSubmission,
    response: Response,
    caller: Writer,
    parts: Parts,
    idempotency_key: IdempotencyKey = None,
) -> SweepSummary:
    """Queue a sweep. Its id stays, and so do the runs that it stores, whatever happens to the server."""
    body = _body(submission)
    if (found := _earlier(parts, "sweep", caller, idempotency_key, body)) is None:
        scenarios, points, seeds = check_sweep(submission)
        resolved: dict[str, Any] = submission.model_dump() | {
            "steps": scenarios[0].config.steps,
            "text": scenarios[0].text,
            "points": [list(point) for point in points],
            "runs": len(points) * len(seeds),
        }
        if submission.steps is None:
            del resolved["steps"]  # points of the grid may have their own
        found, _ = parts.queue.submit(
            "sweep",
            f"sweep-{secrets.token_hex(8)}",
            scenarios[0].name,
            scenarios[0].config.chain,
            json.dumps(resolved),
            caller,
            idempotency_key,
            body=body,
            total=len(points) * len(seeds),
        )
    response.headers["Location"] = f"/sweeps/{found.job_id}"
    return sweep_summary(found)


@router.delete("/runs/{run_id}", status_code=202, responses=documented(401, 403, 404, 409), tags=["runs"])
def cancel_run(run_id: str, caller: Writer, parts: Parts) -> RunSummary:
    """Cancel a run that waits or runs; 409 if it has ended."""
    return run_summary(_cancelled(parts, "run", run_id))


@router.delete("/sweeps/{sweep_id}", status_code=202, responses=documented(401, 403, 404, 409), tags=["sweeps"])
def cancel_sweep(sweep_id: str, caller: Writer, parts: Parts) -> SweepSummary:
    """Cancel a sweep. Its finished runs stay."""
    return sweep_summary(_cancelled(parts, "sweep", sweep_id))


def _body(submission: BaseModel) -> str:
    return json.dumps(submission.model_dump(), sort_keys=True)


def _earlier(parts: Service, kind: Kind, caller: Caller, idempotency_key: str | None, body: str) -> Job | None:
    if idempotency_key is None:
        return None
    return parts.queue.earlier(kind, caller.key_id, idempotency_key, body)


def _checked_seed(seed: int) -> int:
    try:
        return checked_seed(seed)
    except BadInteger as error:
        problem = Problem(message=error.message, hint=error.hint, field="seed")
        raise ApiError(422, error.message, error.hint, problems=(problem,)) from error


def _cancelled(parts: Service, kind: Kind, job_id: str) -> Job:
    job = parts.queue.job(job_id)
    if job is None or job.kind != kind:
        if parts.knows(kind, job_id):
            raise ApiError(409, f"the {kind} '{job_id}' is not of this service's queue", "end it where it was started")
        raise ApiError(404, f"unknown {kind} '{job_id}'", f"`GET /{kind}s` lists them")
    found = parts.queue.cancel(job_id)
    if found is None:
        ended = parts.queue.job(job_id) or job
        raise ApiError(409, f"the {kind} '{job_id}' is {ended.status} already", "nothing is left to cancel")
    return found
