"""Answers with pages and reports: their ETags, and errors as HTTP statuses."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Hashable

from fastapi import Response
from fastapi.concurrency import run_in_threadpool

from mayavi.api import log
from mayavi.api.errors import ApiError
from mayavi.api.reading.kept_answer import CACHED, matches
from mayavi.api.reading.reading import Reading
from mayavi.api.reading.results.result_task import ResultFormat
from mayavi.api.reading.trainings import evaluation, training, training_version
from mayavi.api.security.headers import report_headers
from mayavi.errors import MayaviError, SetupError, StoreError, UnknownRun, UsageError, WorkerError

MEDIA_TYPES = {"page": "application/json", "html": "text/html; charset=utf-8", "pdf": "application/pdf"}


async def stored_run(reading: Reading, run_id: str) -> None:
    """Check that the run has rows, or will have; 404 for an unknown run."""
    await reading.run(run_id)


async def run_result(reading: Reading, run_id: str, format: ResultFormat, if_none_match: str | None) -> Response:
    """Answer with the page or report of a run; 409 while there is nothing to show."""
    run = await reading.run(run_id)
    if not run.ended:  # building takes longer than looking once more
        run = (await reading.runs(at_once=True)).by_id.get(run_id, run)
    if not run.in_store:
        hint = "it ended before it stored anything" if run.ended else "wait until it has begun"
        raise ApiError(409, f"run '{run_id}' is {run.summary.status} and has no results", hint)
    etag = etag_of(format, *run.version) if run.ended else None
    if etag is not None and matches(if_none_match, etag):
        return unchanged(etag)
    version: Hashable = run.version if run.ended else (run.version, reading.index.stamp)
    try:
        body = await built(reading.result("run", (run_id,), format, version), usage=409)
    except ApiError as error:
        if run.ended or error.status == 503:
            raise
        hint = "its report can be read when it has ended"
        raise ApiError(409, f"run '{run_id}' is running, and too little is stored for a report", hint) from error
    return answer(body, format, etag, f"{run.summary.scenario}-{run_id}")


async def comparison(reading: Reading, names: list[str], format: ResultFormat) -> Response:
    """Answer with the comparison of runs or sweeps; the first is the baseline."""
    versions: list[Hashable] = []
    for name in names:
        runs = await reading.runs(at_once=True)
        if name not in runs.by_id and (sweep := runs.sweeps.get(name)) is not None:
            if not sweep.ended or not sweep.in_store:
                raise ApiError(409, f"sweep '{name}' is {sweep.summary.status}", "compare what has ended")
            versions.append(sweep.version)
            continue
        run = await reading.run(name)
        if not run.ended or not run.in_store:
            raise ApiError(409, f"run '{name}' is {run.summary.status}", "compare runs that have ended")
        versions.append(run.version)
    body = await built(reading.result("compare", tuple(names), format, tuple(versions)))
    return answer(body, format, None, "comparison")


async def sweep_result(reading: Reading, sweep_id: str, format: ResultFormat, if_none_match: str | None) -> Response:
    """Answer with the page or report of a sweep; 409 while no run of it has ended."""
    sweep = await reading.sweep(sweep_id)
    if not sweep.in_store:
        hint = "it ended before it stored anything" if sweep.ended else "wait until it has begun"
        raise ApiError(409, f"sweep '{sweep_id}' is {sweep.summary.status} and has no results", hint)
    etag = etag_of(format, *sweep.version) if sweep.ended else None
    if etag is not None and matches(if_none_match, etag):
        return unchanged(etag)
    version: Hashable = sweep.version if sweep.ended else (sweep.version, reading.index.stamp)
    body = await built(reading.result("sweep", (sweep_id,), format, version), usage=409)
    return answer(body, format, etag, f"{sweep.summary.scenario}-{sweep_id}")


async def training_result(reading: Reading, training_id: str, format: ResultFormat) -> Response:
    """Answer with the page or report of a training; 409 if it lacks what a report needs."""
    found = await run_in_threadpool(training, reading.models, training_id)
    version = await run_in_threadpool(training_version, found)
    body = await built(reading.result("training", (training_id,), format, version), usage=409)
    return answer(body, format, None, f"training-{training_id}")


async def evaluation_result(reading: Reading, evaluation_id: str, format: ResultFormat) -> Response:
    """Answer with the page or report of an evaluation; 409 if its file is damaged."""
    found = await run_in_threadpool(evaluation, reading.models, evaluation_id)
    version = (found.written_ns, found.size)
    body = await built(reading.result("evaluation", (str(found.path),), format, version), usage=409)
    return answer(body, format, None, f"evaluation-{evaluation_id}")


async def built(result: Awaitable[bytes], usage: int = 422) -> bytes:
    """Await a result; errors of building it become answers, a `UsageError` that with the status `usage`."""
    try:
        return await result
    except MayaviError as error:
        raise refused(error, usage) from error


def refused(error: MayaviError, usage: int = 422) -> ApiError:
    """Return the answer to an error of the layers below."""
    if isinstance(error, UnknownRun):
        return ApiError(404, error.message, error.hint)
    if isinstance(error, SetupError):
        return ApiError(503, error.message, error.hint)
    if isinstance(error, UsageError):
        return ApiError(usage, error.message, error.hint)
    if isinstance(error, StoreError):
        return ApiError(503, error.message, error.hint)
    if isinstance(error, WorkerError):
        log.write("error", "report", message=error.message, traceback=(error.hint or "")[-20_000:])
        return ApiError(500, "the report could not be built", "the log of the service says why")
    return ApiError(409, error.message, error.hint)


def answer(body: bytes, format: ResultFormat, etag: str | None, name: str) -> Response:
    """Return the answer with a body in one of the formats, under a safe file name."""
    headers = report_headers() if format == "html" else {}
    if etag is not None:
        headers |= {"ETag": etag, "Cache-Control": CACHED}
    if format != "page":
        ending = "html" if format == "html" else "pdf"
        headers["Content-Disposition"] = f'inline; filename="{file_name(name)}.{ending}"'
    return Response(body, media_type=MEDIA_TYPES[format], headers=headers)


def etag_of(format: str, *version: object) -> str:
    """Return the ETag of a result in a format: equal as long as the rows of the run are."""
    from mayavi import __version__

    written = repr((__version__, format, version))
    return f'"{hashlib.sha256(written.encode()).hexdigest()[:32]}"'


def unchanged(etag: str) -> Response:
    """Return the answer 304 to a caller whose cached copy is current."""
    return Response(status_code=304, headers={"ETag": etag, "Cache-Control": CACHED})


def file_name(name: str) -> str:
    """Return `name` as a file name without quotes, paths and control characters."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:120] or "mayavi"
