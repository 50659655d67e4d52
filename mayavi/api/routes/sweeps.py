"""`/sweeps`: list and show sweeps, and read their reports."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mayavi.api.errors import documented
from mayavi.api.models.base import Listing
from mayavi.api.models.page import PageData
from mayavi.api.models.sweeps import SweepDetails, SweepSummary
from mayavi.api.reading.kept_route import KeptRoute, keep
from mayavi.api.reading.results.results import sweep_result
from mayavi.api.reading.runs.sweep_index import page_of
from mayavi.api.routes.run_details import HTML, PDF, UNCHANGED, IfNoneMatch
from mayavi.api.security.caller import Reader
from mayavi.api.security.query import KnownQuery
from mayavi.api.service import Parts

router = APIRouter(tags=["sweeps"], route_class=KeptRoute)


@router.get("/sweeps", responses=documented(401, 422), response_model=Listing[SweepSummary])
async def list_sweeps(
    request: Request,
    caller: Reader,
    known: KnownQuery,
    parts: Parts,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """List sweeps, newest first."""
    runs = await parts.reading.runs()
    return keep(request, runs.answers, page_of(runs.sweeps, limit, cursor).model_dump_json().encode())


@router.get("/sweeps/{sweep_id}", responses=documented(401, 404), response_model=SweepDetails)
async def show_sweep(sweep_id: str, caller: Reader, parts: Parts) -> Response:
    """Show a sweep; its runs are `/runs?sweep_id=…`."""
    return (await parts.reading.sweep_details(sweep_id)).response()


@router.get(
    "/sweeps/{sweep_id}/page", responses={**UNCHANGED, **documented(401, 404, 409, 503)}, response_model=PageData
)
async def sweep_page(sweep_id: str, caller: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return the report of a sweep as data."""
    return await sweep_result(parts.reading, sweep_id, "page", if_none_match)


@router.get(
    "/sweeps/{sweep_id}/report",
    response_class=Response,
    responses={**HTML, **UNCHANGED, **documented(401, 404, 409, 503)},
)
async def sweep_report(sweep_id: str, caller: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return the report of a sweep as one HTML file."""
    return await sweep_result(parts.reading, sweep_id, "html", if_none_match)


@router.get(
    "/sweeps/{sweep_id}/report.pdf",
    response_class=Response,
    responses={**PDF, **UNCHANGED, **documented(401, 404, 409, 503)},
)
async def sweep_report_pdf(sweep_id: str, caller: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return the report of a sweep as PDF; 503 without Chromium."""
    return await sweep_result(parts.reading, sweep_id, "pdf", if_none_match)
