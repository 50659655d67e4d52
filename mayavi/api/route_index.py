"""`RouteIndex`: find a route by method, first part and length of its path instead of trying all."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

_ANY_LENGTH = -1


class RouteIndex(BaseRoute):
    """Looks up a route before the application tries all, and leaves unknown paths and wrong methods to it."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes: dict[tuple[str, str, int], list[Route]] = {}
        for route in routes:
            length = _ANY_LENGTH if ":path}" in route.path else route.path.count("/")
            for method in route.methods or ():
                self.routes.setdefault((method, _first(route.path), length), []).append(route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the first route that fits path and method."""
        if scope["type"] == "http":
            path, method = scope["path"], scope["method"]
            first = _first(path)
            for length in (path.count("/"), _ANY_LENGTH):
                for route in self.routes.get((method, first, length), ()):
                    match, child = route.matches(scope)
                    if match == Match.FULL:
                        return match, {**child, "route": route}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the route that was found."""
        await scope["route"].handle(scope, receive, send)


def _first(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else path
