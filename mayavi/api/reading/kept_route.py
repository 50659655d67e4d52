"""`KeptRoute`: a route that repeats an answer from memory as long as what it shows has not changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from mayavi.api.reading.kept_answer import KeptAnswer

if TYPE_CHECKING:
    from mayavi.api.reading.answer_cache import AnswerCache
    from mayavi.api.service import Service


class KeptRoute(APIRoute):
    """Answers a request that it has answered before without parsing it again.

    The caller is authenticated each time. Only the check of the parameters and the building of the body are saved,
    which take several times as long as everything else.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or as any other route."""
        if scope["method"] == "GET":
            service: Service = scope["app"].state.service
            answer = service.reading.kept(scope["path"], scope["query_string"])
            if answer is not None:
                service.authenticator.admit(Request(scope))
                await answer.send(scope["headers"], send)
                return
        await super().handle(scope, receive, send)


def keep(request: Request, answers: AnswerCache[KeptAnswer], body: bytes) -> Response:
    """Return the answer, and keep it for requests of the same path and query."""
    answer = KeptAnswer(body)
    answers.keep((request.scope["path"], request.scope["query_string"]), None, answer)
    return answer.response()
