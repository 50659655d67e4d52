"""One HTTP exchange with a node: the calls, and the answer sorted into values, calls to retry, and errors.

An answer is matched with its calls by id. One that omits a call, answers one twice or holds a malformed value is never
used: its calls are asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mayavi.errors import RpcBadAnswer, RpcError, RpcHttpError
from mayavi.evm.rpc.answers import BadValue
from mayavi.evm.rpc.endpoint import Endpoint
from mayavi.evm.rpc.refusals import NodeRefused, Refusal, retry_after_s
from mayavi.evm.rpc.transport import HttpAnswer

_ACCESS_HINTS = {
    401: "the key is missing or wrong",
    403: "the key is wrong, or its plan does not include this",
    404: "the address is not that of a JSON-RPC endpoint",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call. `read` parses the raw result or raises `BadValue`.

    `patient=False` takes the node's first refusal as final; use it to probe what a node supports.
    """

    method: str
    params: Sequence[object]
    read: Callable[[object], Any]
    patient: bool = True


@dataclass(slots=True)
class Exchange:
    """Result of one HTTP exchange: values by index, and the calls to retry with the reason."""

    values: dict[int, Any] = field(default_factory=dict)
    again: list[int] = field(default_factory=list)
    fault: RpcError | None = None
    wait_s: float | None = None
    rate_limited: bool = False
    batch_limit: int | None = None  # largest batch that the node accepts
    counts: bool = True  # whether the failure counts as an attempt


class AnswerReader:
    """Sort the HTTP answers of one node into values, calls to retry, and errors.

    A node that asks to wait for more than `patience_s` is an error. `wall` is the time that HTTP dates count from.
    """

    def __init__(self, endpoint: Endpoint, *, patience_s: float, wall: Callable[[], float]) -> None:
        self._endpoint = endpoint
        self._patience_s = patience_s
        self._wall = wall

    def classify(self, answer: HttpAnswer, calls: Sequence[Call], chunk: list[int], by_id: dict[int, int]) -> Exchange:
        """Classify an HTTP answer: values, calls to retry, or an error."""
        node = f"the node at {self._endpoint}"
        status = answer.status
        if status == 429 or status == 408 or status >= 500:
            return self._retry_later(answer, chunk)
        if 300 <= status < 400:
            raise RpcHttpError(f"{node} answers HTTP {status} and redirects{_redirect_target(answer.location)}")
        fault: RpcError
        if 400 <= status < 500 and status not in _ACCESS_HINTS and len(chunk) > 1:
            fault = RpcHttpError(f"{node} refuses a batch of {len(chunk)} calls with HTTP {status}")
            return Exchange(again=chunk, fault=fault, batch_limit=len(chunk) // 2, counts=False)
        try:
            content = json.loads(answer.body)
        except (ValueError, RecursionError):
            if status != 200:
                raise RpcHttpError(f"{node} answers HTTP {status}", _ACCESS_HINTS.get(status)) from None
            fault = RpcBadAnswer(f"{node} sent {len(answer.body)} bytes that are not complete JSON")
            return Exchange(again=chunk, fault=fault, batch_limit=halved_batch_limit(chunk))
        if status in _ACCESS_HINTS:
            raise RpcHttpError(f"{node} answers HTTP {status}", _ACCESS_HINTS[status])
        if isinstance(content, dict) and content.get("error") is not None and len(chunk) > 1:
            return self._refused_batch(Refusal.of(content["error"]), chunk)
        try:
            items = _matched(content, by_id)
        except BadValue as error:
            refusals = _refusals(content)
            if len(chunk) > 1 and any(refusal.too_large for refusal in refusals):
                return self._refused_batch(refusals[0], chunk)
            if status != 200:
                reason = "".join(f": {refusal}" for refusal in refusals[:1])
                raise RpcHttpError(self._endpoint.redact(f"{node} answers HTTP {status}{reason}")) from None
            return Exchange(again=chunk, fault=RpcBadAnswer(f"{node} sent no valid answer: {error}"))
        return self._read_items(items, calls, chunk)

    def _retry_later(self, answer: HttpAnswer, chunk: list[int]) -> Exchange:
        """Wait as long as the node asks, or raise if that is too long."""
        node = f"the node at {self._endpoint}"
        wait_s = retry_after_s(answer.retry_after, self._wall())
        if wait_s is not None and wait_s > self._patience_s:
            raise RpcHttpError(
                f"{node} answers HTTP {answer.status} and asks to wait {wait_s:.0f} s",
                f"try again then; up to {self._patience_s:g} s would have been waited (patience_s)",
            )
        hint = "the node limits the rate; lower the load or use another plan" if answer.status == 429 else None
        fault = RpcHttpError(f"{node} answers HTTP {answer.status}", hint)
        limit = halved_batch_limit(chunk) if answer.status in (502, 504) else None
        return Exchange(again=chunk, fault=fault, wait_s=wait_s, rate_limited=answer.status == 429, batch_limit=limit)

    def _refused_batch(self, refusal: Refusal, chunk: list[int]) -> Exchange:
        """Handle one error for a whole batch: wait if it is a rate limit, otherwise retry in smaller batches."""
        text = f"the node at {self._endpoint} refuses a batch of {len(chunk)} calls: "
        fault = RpcError(self._endpoint.redact(text + str(refusal)))
        if refusal.rate_limited:
            return Exchange(again=chunk, fault=fault, rate_limited=True)
        limit = 1 if refusal.unsupported else len(chunk) // 2
        return Exchange(again=chunk, fault=fault, batch_limit=limit, counts=False)

    def _read_items(self, items: dict[int, dict[str, Any]], calls: Sequence[Call], chunk: list[int]) -> Exchange:
        exchange = Exchange()
        node = f"the node at {self._endpoint}"
        for index in chunk:
            call, item = calls[index], items[index]
            if item.get("error") is not None:
                refusal = Refusal.of(item["error"])
                text = self._endpoint.redact(f"{node} refuses {call.method}: {refusal}")
                error = NodeRefused(text, refusal.hint, code=refusal.code, unsupported=refusal.unsupported)
                if refusal.too_large and len(chunk) > 1:
                    exchange.again.append(index)
                    exchange.batch_limit = len(chunk) // 2
                    if exchange.fault is None:
                        exchange.fault, exchange.counts = error, False
                elif refusal.rate_limited or (refusal.transient and call.patient):
                    exchange.again.append(index)
                    exchange.fault, exchange.counts = error, True
                    exchange.rate_limited |= refusal.rate_limited
                else:
                    exchange.values[index] = error
                continue
            try:
                exchange.values[index] = call.read(item["result"])
            except BadValue as bad:
                exchange.again.append(index)
                text = f"{node} gave no valid answer to {call.method}: {bad}"
                exchange.fault, exchange.counts = RpcBadAnswer(self._endpoint.redact(text)), True
        return exchange


def halved_batch_limit(chunk: list[int]) -> int | None:
    """Half of the batch size, after a failure that its size may have caused; None for small batches."""
    return len(chunk) // 2 if len(chunk) > 8 else None


def _matched(content: object, by_id: dict[int, int]) -> dict[int, dict[str, Any]]:
    """Return answers by call index; raise `BadValue` unless every call is answered exactly once, under its id."""
    answers = content if isinstance(content, list) and len(by_id) > 1 else [content]
    items: dict[int, dict[str, Any]] = {}
    for item in answers:
        if not isinstance(item, dict):
            raise BadValue("an answer is not a JSON object")
        key = item.get("id")
        if key is None and item.get("error") is not None and len(by_id) == 1:
            key = next(iter(by_id))  # null from a node that failed before it read the id
        if type(key) is not int or key not in by_id:
            raise BadValue("an answer has an id that was not asked")
        if item.get("jsonrpc", "2.0") != "2.0":
            raise BadValue("an answer is not JSON-RPC 2.0")
        if by_id[key] in items:
            raise BadValue("a call is answered twice")
        if item.get("error") is None and "result" not in item:
            raise BadValue("an answer has neither result nor error")
        if item.get("error") is not None and item.get("result") is not None:
            raise BadValue("an answer has both result and error")
        items[by_id[key]] = item
    if len(items) != len(by_id):
        raise BadValue(f"{len(by_id) - len(items)} of {len(by_id)} calls are not answered")
    return items


def _refusals(content: object) -> list[Refusal]:
    answers = content if isinstance(content, list) else [content]
    return [Refusal.of(item["error"]) for item in answers if isinstance(item, dict) and item.get("error") is not None]


def _redirect_target(location: str | None) -> str:
    try:
        return f" to {Endpoint.parse(location or '')}"
    except Exception:
        return ""
