"""The OpenAPI document: error answers and authentication of every route, as the code has them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from mayavi.api.errors import CODES
from mayavi.api.security.caller import reader, writer
from mayavi.api.security.origin import SAFE_METHODS
from mayavi.api.security.sessions import COOKIE

Access = Literal["open", "read", "full"]
EVERYWHERE = (400, 408, 413, 414, 431, 500)
"""Answers that every route may give instead of its own."""
SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key of `mayavi keys create`."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "A session of `POST /session`; unsafe methods also need the header `X-CSRF-Token`.",
    },
}
_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


class Operation(NamedTuple):
    """A method of a route, and which callers it lets in."""

    method: str
    path: str
    access: Access

    @property
    def refusals(self) -> tuple[int, ...]:
        """Answers that the route may give before its own code runs."""
        if self.access == "open":
            return EVERYWHERE
        forbidden = self.access == "full" or self.method not in SAFE_METHODS
        return (*EVERYWHERE, 401, *((403,) if forbidden else ()), 429, 503)


def operations(app: FastAPI) -> list[Operation]:
    """Return the operations of the application; who may call them comes from their dependencies."""
    found = []
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        access = _access(route.dependant) if isinstance(route, APIRoute) else "open"
        found += [Operation(method, context.path or "", access) for method in sorted(context.methods or ())]
    return found


def document(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI document."""
    if app.openapi_schema:
        return app.openapi_schema
    built = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    for operation in operations(app):
        described = built["paths"].get(operation.path, {}).get(operation.method.lower())
        if described is None:  # not part of the document
            continue
        if operation.access != "open":
            described["security"] = [{"key": []}, {"session": []}]
        answers = described["responses"]
        if "422" in answers:
            answers["422"] = _answer(422)
        for status in operation.refusals:
            answers.setdefault(str(status), _answer(status))
        described["responses"] = dict(sorted(answers.items()))
    schemas = built["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    built["components"]["securitySchemes"] = SCHEMES
    app.openapi_schema = built
    return built


def _access(dependant: Dependant) -> Access:
    calls = set()
    waiting = [dependant]
    while waiting:
        each = waiting.pop()
        calls.add(each.call)
        waiting += each.dependencies
    if writer in calls:
        return "full"
    return "read" if reader in calls else "open"


def _answer(status: int) -> dict[str, Any]:
    return {"description": CODES[status].replace("_", " "), "content": _ERROR}
