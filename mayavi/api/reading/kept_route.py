"""`KeptRoute`: a route that repeats an answer from memory as long as no run has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from mayavi.api.reading.runs.index import Runs
    from mayavi.api.service import Service

_JSON = (b"content-type", b"application/json")


class KeptRoute(APIRoute):
    """Answers a request that it has answered before without parsing it again.

    The caller is authenticated each time. Only the check of the parameters and the building of the body are saved,
    which take several times as long as everything else.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or as any other route."""
        if scope["method"] == "GET":
            service: Service = scope["app"].state.service
            runs = service.reading.index.current()
            body = None if runs is None else runs.answers.get((scope["path"], scope["query_string"]), None)
            if body is not None:
                service.authenticator.admit(Request(scope))
                headers = [_JSON, (b"content-length", b"%d" % len(body))]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        await super().handle(scope, receive, send)


def keep(request: Request, runs: Runs, body: bytes) -> Response:
    """Return the answer, and keep it for requests of the same path and query."""
    runs.answers.keep((request.scope["path"], request.scope["query_string"]), None, body)
    return Response(body, media_type="application/json")
