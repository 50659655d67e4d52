"""Proxy in front of a node that edits answers and refuses methods, as lying or limited nodes do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.evm.rpc.faulty_server import hang_up
from tests.node.faulty_proxy import FaultyProxy
from tests.node.hardhat import Hardhat

Edit = Callable[[dict[str, Any], Any], Any]
"""Function of a call and its result that returns the result to send."""


class EditingProxy(FaultyProxy):
    """Proxy that edits results, answers methods itself, refuses methods, and can end after some requests."""

    def __init__(self, node: Hardhat, known: dict[str, str] | None = None) -> None:
        super().__init__(node)
        self.known = known
        """Answers by call, for a node whose chain does not change any more; None: ask the node every time."""
        self.edits: list[Edit] = []
        self.refuses: dict[str, dict[str, Any]] = {}
        """JSON-RPC error by method."""
        self.answers: dict[str, Callable[[list[Any]], Any]] = {}
        """Methods that the proxy answers itself."""
        self.gone_after: int | None = None
        """Number of requests after which it hangs up on every other, as a node that has ended."""

    def answer(self, question: Any) -> Any:
        if self.gone_after is not None and len(self.requests) > self.gone_after:
            self.faults.append(hang_up)
            return None
        calls = question if isinstance(question, list) else [question]
        answers = [self._one(call) for call in calls]
        return answers if isinstance(question, list) else answers[0]

    def _one(self, call: dict[str, Any]) -> dict[str, Any]:
        head = {"jsonrpc": "2.0", "id": call["id"]}
        if call["method"] in self.refuses:
            return {**head, "error": self.refuses[call["method"]]}
        if call["method"] in self.answers:
            return {**head, "result": self.answers[call["method"]](call["params"])}
        answer: dict[str, Any] = {**json.loads(self._ask(call)), **head}
        for edit in self.edits if "result" in answer else ():
            answer["result"] = edit(call, answer["result"])
        return answer

    def _ask(self, call: dict[str, Any]) -> str:
        """Return the answer of the node as JSON."""
        key = json.dumps([call["method"], call["params"]])
        if self.known is not None and key in self.known:
            return self.known[key]
        with self._one_at_a_time:
            answer = json.dumps(self.node.post(json.dumps(call).encode()))
        if self.known is not None:
            self.known[key] = answer
        return answer


@contextmanager
def editing_proxy(node: Hardhat, known: dict[str, str] | None = None) -> Iterator[EditingProxy]:
    proxy = EditingProxy(node, known)
    try:
        yield proxy
    finally:
        proxy.close()
