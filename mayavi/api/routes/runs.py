"""`/runs`: list and show runs."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from mayavi.api.errors import documented
from mayavi.api.models.base import Listing, Order
from mayavi.api.models.jobs import JobStatus
from mayavi.api.models.runs import RunDetails, RunSummary
from mayavi.api.reading.kept_route import KeptRoute, keep
from mayavi.api.reading.runs.listing import Wanted, page_of
from mayavi.api.routes.run_details import UNCHANGED, IfNoneMatch
from mayavi.api.security.caller import Reader
from mayavi.api.security.query import KnownQuery
from mayavi.api.service import Parts

router = APIRouter(tags=["runs"], route_class=KeptRoute)


@router.get("/runs", responses=documented(401, 422), response_model=Listing[RunSummary])
async def list_runs(
    request: Request,
    caller: Reader,
    known: KnownQuery,
    parts: Parts,
    scenario: Annotated[str | None, Query(max_length=200)] = None,
    chain: Annotated[str | None, Query(max_length=50, description="A chain, or a market of one.")] = None,
    status: Annotated[list[JobStatus] | None, Query()] = None,
    sweep_id: Annotated[str | None, Query(max_length=100)] = None,
    search: Annotated[
        str | None, Query(max_length=200, description="Part of an id, or of a scenario's or world's name.")
    ] = None,
    single: Annotated[bool, Query(description="Leave out the runs of sweeps.")] = False,
    sort: Literal[
        "submitted_at", "scenario", "chain", "seed", "status", "seconds", "actions", "bad_debt"
    ] = "submitted_at",
    order: Order = "desc",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """List runs: queued and running ones, and all of the store."""
    wanted = Wanted(scenario, chain, tuple(status or ()), sweep_id, search, single, sort, order, limit, cursor)
    runs = await parts.reading.runs()
    page = page_of(runs, wanted)
    if not await runs.parameters.read_soon(page.runs):
        return Response(page.body(), media_type="application/json")  # not kept: the next answer has more
    return keep(request, runs.answers, page.body())


@router.get("/runs/{run_id}", responses={**UNCHANGED, **documented(401, 404)}, response_model=RunDetails)
async def show_run(run_id: str, caller: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Show a run by its full id. The answer for a run that has ended has an ETag."""
    return (await parts.reading.run_details(run_id)).response(if_none_match)
