"""`/runs/{id}/…`: page, report, artifact, rows, agents and steps of a stored run, and comparisons."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from mayavi.api.errors import documented
from mayavi.api.models.base import Listing
from mayavi.api.models.page import PageData
from mayavi.api.models.rows import RowsFormat, RowsPage, TableName
from mayavi.api.models.runs import AgentSummary, Explanation, StepAction, StepDetails
from mayavi.api.reading.results.artifacts import artifact
from mayavi.api.reading.results.results import comparison, file_name, run_result, stored_run
from mayavi.api.reading.row_query import row_query
from mayavi.api.reading.rows import MEDIA_TYPES as ROWS_TYPES
from mayavi.api.reading.rows import rows_file
from mayavi.api.reading.runs.actions import ActionFilter, action_list, step_details
from mayavi.api.reading.runs.agents import agent_list, explanation_of
from mayavi.api.security.caller import Reader
from mayavi.api.security.query import KnownQuery
from mayavi.api.service import Parts

router = APIRouter(tags=["results"])
Answers = dict[int | str, dict[str, Any]]
HTML: Answers = {200: {"content": {"text/html": {}}}}
PDF: Answers = {200: {"content": {"application/pdf": {}}}}
ZIP: Answers = {200: {"content": {"application/zip": {}}}}
UNCHANGED: Answers = {304: {"description": "not changed since the given ETag"}}
IfNoneMatch = Annotated[str | None, Header(max_length=1000)]
ComparedRuns = Annotated[list[str], Query(min_length=2, max_length=8, description="Ids of runs or sweeps.")]
TABLES: Answers = {
    200: {"model": RowsPage, "content": {"text/csv": {}, "application/vnd.apache.arrow.stream": {}}},
}


@router.get("/runs/{run_id}/page", responses={**UNCHANGED, **documented(401, 404, 409, 503)}, response_model=PageData)
async def run_page(run_id: str, caller: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return the report of a run as data: verdict, tiles, charts, sections."""
    return await run_result(parts.reading, run_id, "page", if_none_match)


@router.get(
    "/runs/{run_id}/report",
    response_class=Response,
    responses={**HTML, **UNCHANGED, **documented(401, 404, 409, 503)},
)
async def run_report(run_id: str, caller: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return the report of a run as one HTML file."""
    return await run_result(parts.reading, run_id, "html", if_none_match)


@router.get(
    "/runs/{run_id}/report.pdf",
    response_class=Response,
    responses={**PDF, **UNCHANGED, **documented(401, 404, 409, 503)},
)
async def run_report_pdf(run_id: str, caller: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return the report of a run as PDF; 503 without Chromium."""
    return await run_result(parts.reading, run_id, "pdf", if_none_match)


@router.get("/runs/{run_id}/artifact", response_class=Response, responses={**ZIP, **documented(401, 404, 409, 503)})
async def run_artifact(run_id: str, caller: Reader, parts: Parts) -> Response:
    """Return the bundle of a run, which `mayavi artifact verify` checks."""
    return await artifact(parts.reading, run_id)


@router.get("/runs/{run_id}/rows/{table}", responses={**TABLES, **documented(401, 404, 422)}, response_model=None)
async def run_rows(
    run_id: str,
    table: TableName,
    caller: Reader,
    parts: Parts,
    where: Annotated[
        list[str] | None,
        Query(description="`COLUMN:OPERATOR:VALUE`; eq, ne, lt, le, gt, ge, contains, starts.", max_length=20),
    ] = None,
    sort: Annotated[str | None, Query(description="A column; `-step` sorts downwards.", max_length=60)] = None,
    columns: Annotated[str | None, Query(description="Columns, separated by commas.", max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=100_000)] = 1000,
    offset: Annotated[int, Query(ge=0, le=2**53)] = 0,
    format: RowsFormat = "json",
) -> Response:
    """Return rows of a table, filtered, sorted and paged by the server.

    `next` of the JSON is the `offset` of the page after it; headers have it in every format. In CSV, texts that a
    spreadsheet would execute as formulas get an apostrophe in front.
    """
    query = row_query(table, where or (), sort, columns)
    await stored_run(parts.reading, run_id)
    found = await run_in_threadpool(rows_file, parts.store, run_id, query, format, limit, offset)
    headers = {"Content-Length": str(found.size), "X-Total-Rows": str(found.total)}
    if found.rows and offset + found.rows < found.total:
        headers["X-Next-Offset"] = str(offset + found.rows)
    if format != "json":
        name = file_name(f"{run_id}-{table}")
        headers["Content-Disposition"] = f'attachment; filename="{name}.{format}"'
    return StreamingResponse(found.chunks(), media_type=ROWS_TYPES[format], headers=headers)


@router.get("/runs/{run_id}/actions", responses=documented(401, 404, 422))
async def run_actions(
    run_id: str,
    caller: Reader,
    known: KnownQuery,
    parts: Parts,
    agent: Annotated[str | None, Query(max_length=200)] = None,
    account: Annotated[str | None, Query(max_length=200)] = None,
    kind: Annotated[str | None, Query(max_length=60)] = None,
    status: Annotated[str | None, Query(max_length=20)] = None,
    step: Annotated[int | None, Query(ge=-1, le=2**31)] = None,
    search: Annotated[
        str | None, Query(max_length=200, description="Part of what the log shows, amounts included, or of a field.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=5000)] = 200,
    offset: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Listing[StepAction]:
    """Return the action log with decoded calls and state changes; `next` is the `offset` of the page after it."""
    run = await parts.reading.run(run_id)
    wanted = ActionFilter(agent, account, kind, status, step, search)
    version = run.version if run.ended else None
    return await run_in_threadpool(
        action_list, parts.store, run_id, wanted, limit, offset, parts.reading.action_search, version
    )


@router.get("/runs/{run_id}/agents", responses=documented(401, 404))
async def run_agents(run_id: str, caller: Reader, parts: Parts) -> list[AgentSummary]:
    """List the agents of a run and their accounts."""
    await stored_run(parts.reading, run_id)
    return await run_in_threadpool(agent_list, parts.store, run_id)


@router.get("/runs/{run_id}/explain", responses=documented(401, 404, 409, 422))
async def explain_agent(
    run_id: str, caller: Reader, parts: Parts, agent: Annotated[str, Query(max_length=200)]
) -> Explanation:
    """Explain what happened to an agent, or to one account of it; 409 for an agent with several accounts."""
    await stored_run(parts.reading, run_id)
    return await run_in_threadpool(explanation_of, parts.store, run_id, agent)


@router.get("/runs/{run_id}/steps/{step}", responses=documented(401, 404))
async def run_step(run_id: str, step: int, caller: Reader, parts: Parts) -> StepDetails:
    """Return figures after a step, and its actions. Step -1 is before the first."""
    await stored_run(parts.reading, run_id)
    return await run_in_threadpool(step_details, parts.store, run_id, step)


@router.get("/compare", responses=documented(401, 404, 409, 422, 503), response_model=PageData)
async def compare_runs(caller: Reader, parts: Parts, run: ComparedRuns) -> Response:
    """Compare runs: only what differs in parameters and figures. The first is the baseline."""
    return await comparison(parts.reading, run, "page")


@router.get("/compare/report", response_class=Response, responses={**HTML, **documented(401, 404, 409, 422, 503)})
async def compare_report(caller: Reader, parts: Parts, run: ComparedRuns) -> Response:
    """Return the comparison as one HTML file."""
    return await comparison(parts.reading, run, "html")
