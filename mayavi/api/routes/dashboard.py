"""`/app/…`: the dashboard, built from `web/` into `mayavi/api/dashboard/`."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from mayavi.api.errors import ApiError
from mayavi.api.static_files import BUILT, StaticFolder

router = APIRouter(include_in_schema=False)
PAGE = "index.html"
NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mayavi: the dashboard is not built</title>
<h1>The dashboard is not built</h1>
<p>In a checkout, <code>make setup</code> builds it; so does <code>npm ci &amp;&amp; npm run build</code> in the folder
<code>web/</code>. Then load this page again; the server need not be restarted. A wheel has it built in.</p>
<p>The service itself works: <a href="/openapi.json">its API</a>.</p>
</html>
"""


@cache
def built() -> StaticFolder:
    """Return the files of the dashboard."""
    return StaticFolder(BUILT)


@router.api_route("/", methods=["GET", "HEAD"])
@router.api_route("/app", methods=["GET", "HEAD"])
def to_dashboard() -> Response:
    """Redirect to the dashboard."""
    return RedirectResponse("/app/")


@router.api_route("/app/{path:path}", methods=["GET", "HEAD"])
def dashboard_file(
    path: str,
    accept_encoding: Annotated[str, Header()] = "",
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """Return a file of the dashboard; every other address below `/app/` is a page, which the dashboard finds itself."""
    files = built()
    found = files.find(path)
    if found is None and path.startswith("assets/"):
        raise ApiError(404, f"the dashboard has no file '{path[:80]}'", "it may have been updated: load the page again")
    found = found or files.find(PAGE)
    if found is None:
        return HTMLResponse(NOT_BUILT, 503, {"Cache-Control": "no-store"})
    return found.answer(accept_encoding, if_none_match)
