"""Errors of the service and their HTTP answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mayavi.api.log import redact
from mayavi.api.models.base import Error, Problem
from mayavi.errors import MayaviError, SetupError, StoreError, UnknownRun, UsageError, did_you_mean
from mayavi.settings.validation import EXPECTED, LIMITS

if TYPE_CHECKING:  # workers use this module too, and no framework
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

CODES = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "timeout",
    409: "conflict",
    411: "length_required",
    413: "too_large",
    414: "path_too_long",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many_requests",
    431: "headers_too_large",
    500: "internal",
    501: "not_implemented",
    503: "unavailable",
}
_LONGEST_FIELD = 200
_PARTS = {"body": "the body", "query": "the query", "path": "the path", "header": "the header", "cookie": "the cookie"}
_FRAMEWORK: dict[int, tuple[str, str | None]] = {
    400: ("the body cannot be read", "send JSON in UTF-8, not nested too deeply"),
    404: ("there is nothing at this path", "`GET /openapi.json` lists the routes"),
    405: ("the path has no such method", "`GET /openapi.json` lists the routes"),
}


class ApiError(Exception):
    """A refused request: status, message, what to do, and what is wrong in detail."""

    def __init__(
        self,
        status: int,
        message: str,
        hint: str | None = None,
        *,
        problems: tuple[Problem, ...] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        self.problems = problems
        self.headers = headers or {}

    def body(self, request_id: str) -> Error:
        """Return the body of the answer."""
        return Error(
            code=CODES.get(self.status, "error"),
            message=self.message,
            hint=self.hint,
            request_id=request_id,
            problems=list(self.problems),
        )


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route for OpenAPI; those of the middleware are added for all routes."""
    return {status: {"model": Error, "description": CODES[status].replace("_", " ")} for status in statuses}


def of_mayavi_error(error: MayaviError) -> ApiError:
    """Return the answer to an error of the layers below; 500 if it is no fault of the request."""
    statuses: tuple[tuple[type[MayaviError], int], ...] = (
        (UnknownRun, 404),
        (UsageError, 422),
        (StoreError, 503),
        (SetupError, 503),
    )
    status = next((status for kind, status in statuses if isinstance(error, kind)), 500)
    return ApiError(status, str(error), error.hint)


def of_http_exception(error: HTTPException) -> ApiError:
    """Return the answer to an error of the framework: an unknown route, a wrong method, an unreadable body."""
    if isinstance(error.__cause__, ApiError):  # raised while the framework read the body
        return error.__cause__
    message, hint = _FRAMEWORK.get(error.status_code, (str(error.detail), None))
    return ApiError(error.status_code, message, hint, headers=dict(error.headers or {}))


def of_validation_error(error: RequestValidationError) -> ApiError:
    """Return the answer 422 with every problem and its field. Values are never repeated: they may be secrets."""
    if isinstance(error.body, bytes):  # not read as JSON
        return ApiError(422, "the body is not sent as JSON", "send the header `Content-Type: application/json`")
    problems = [_problem(each) for each in error.errors()]
    first = problems[0] if problems else Problem(message="the request is invalid")
    field = first.field or ""
    where = f"{field} " if field in _PARTS.values() else f"'{field}': " if field else ""
    return ApiError(422, f"{where}{first.message}", first.hint, problems=tuple(problems))


def _problem(error: Mapping[str, Any]) -> Problem:
    place, *path = (str(part) for part in error["loc"])
    hint = None
    if error["type"] == "json_invalid":  # its place is a number of characters, and no field
        path = []
    if error["type"] == "unknown_keys":
        key, known = str(error["ctx"]["keys"][0]), error["ctx"]["known"]
        path, hint = [*path, key], did_you_mean(key, known) or f"known here: {', '.join(known)}"
    field = redact(".".join(path))[:_LONGEST_FIELD] or _PARTS.get(place)
    return Problem(message=_message(error["type"], error.get("ctx", {}), str(error["msg"])), hint=hint, field=field)


def _message(kind: str, facts: Mapping[str, Any], text: str) -> str:
    """Return what is wrong in our own words; values are left out."""
    if kind in EXPECTED:
        return f"must be {EXPECTED[kind]}"
    if kind in LIMITS:
        return f"must be {LIMITS[kind]} {next(iter(facts.values())):,}"
    if kind == "literal_error":
        return f"must be {facts['expected']}"
    if kind in {"string_too_short", "too_short"}:
        return f"needs at least {_counted(facts['min_length'], kind)}"
    if kind in {"string_too_long", "too_long"}:
        return f"may have at most {_counted(facts['max_length'], kind)}"
    if kind == "string_pattern_mismatch":
        return f"must match {facts['pattern']}"
    if kind == "unknown_keys":
        return "unknown key"
    if kind == "missing":
        return "is missing"
    if kind == "json_invalid":
        return f"is not JSON: {facts.get('error', 'it cannot be read')}"
    text = text.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return text[:1].lower() + text[1:]


def _counted(number: int, kind: str) -> str:
    one, many = ("character", "characters") if kind.startswith("string") else ("entry", "entries")
    return f"{number:,} {one if number == 1 else many}"
