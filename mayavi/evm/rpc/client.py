"""Read-only JSON-RPC client over HTTP: batches, bounded concurrency, retries, strict checks of answers.

`RpcClient.batch` returns a value for every call or raises. An answer that is truncated, has wrong ids, omits calls,
answers one twice or holds a malformed value is requested again and then raises `RpcBadAnswer`; it is never used. Rate
limits (HTTP 429 and the JSON-RPC codes for it), HTTP 5xx, timeouts and broken connections are retried with exponential
backoff and jitter; `Retry-After` is honoured, every retry is logged, and both their number and the time they take are
bounded. A node that refuses a batch gets smaller ones from then on.

Messages and log lines show scheme and host of the node, never the rest of its address.
"""

from __future__ import annotations

import errno
import http.client
import itertools
import json
import logging
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from mayavi.errors import RpcBadAnswer, RpcBudgetExceeded, RpcError, RpcHttpError, RpcTimeout
from mayavi.evm.rpc.answers import BadValue
from mayavi.evm.rpc.endpoint import Endpoint
from mayavi.evm.rpc.refusals import NodeRefused, NodeUnreachable, Refusal, retry_after_s
from mayavi.evm.rpc.transport import AnswerTooLarge, HttpAnswer, Transport

_log = logging.getLogger("mayavi.evm.rpc.client")

_BACKOFF_BASE_S = 0.25
_BACKOFF_CAP_S = 20.0
_UNROUTABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL}
_ACCESS_HINTS = {
    401: "the key is missing or wrong",
    403: "the key is wrong, or its plan does not include this",
    404: "the address is not that of a JSON-RPC endpoint",
}


@dataclass(frozen=True, slots=True)
class Clock:
    """Replaceable clock, so that tests need not wait. `jitter` returns numbers in [0, 1)."""

    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = field(default_factory=lambda: random.Random().random)


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
class _Exchange:
    """Result of one HTTP exchange: values by index, and the calls to retry with the reason."""

    values: dict[int, Any] = field(default_factory=dict)
    again: list[int] = field(default_factory=list)
    fault: RpcError | None = None
    wait_s: float | None = None
    rate_limited: bool = False
    batch_limit: int | None = None  # largest batch that the node accepts
    counts: bool = True  # whether the failure counts as an attempt


class RpcClient:
    """A JSON-RPC client for one node.

    `timeout_s` bounds one exchange. A failed one is retried, up to `max_attempts` in total and until the node has given
    no usable answer for `patience_s`, pauses included. `budget` bounds the number of HTTP requests over the client's
    life, retries included; `requests` counts them and `calls` counts the calls in them. Use the client as a context
    manager or `close` it.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 30.0,
        max_batch: int = 100,
        max_concurrency: int = 4,
        max_attempts: int = 6,
        patience_s: float = 60.0,
        max_answer_bytes: int = 64 << 20,
        budget: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.endpoint = Endpoint.parse(url)
        self.max_attempts = max_attempts
        self.patience_s = patience_s
        self.budget = budget
        self.requests = 0
        self.calls = 0
        self.clock = clock or Clock()
        self._batch_limit = max(1, max_batch)
        self._concurrency = max(1, max_concurrency)
        self._transport = Transport(self.endpoint, timeout_s=timeout_s, max_answer_bytes=max_answer_bytes)
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"RpcClient({self.endpoint.shown!r}, requests={self.requests})"

    def __enter__(self) -> RpcClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def call(self, method: str, params: Sequence[object], read: Callable[[object], Any]) -> Any:
        """Return the value of one call. Raises as `batch` does."""
        return self.batch([Call(method, params, read)])[0]

    def batch(self, calls: Sequence[Call], *, fail_fast: bool = False) -> list[Any]:
        """Return the value of every call, in order; raise `NodeRefused` for the first call the node refused.

        With `fail_fast`, an unreachable node raises `NodeUnreachable` without a retry.
        """
        values = self.attempt(calls, fail_fast=fail_fast)
        for value in values:
            if isinstance(value, NodeRefused):
                raise value
        return values

    def attempt(self, calls: Sequence[Call], *, fail_fast: bool = False) -> list[Any]:
        """Like `batch`, but return a `NodeRefused` in place of each call that the node finally refused."""
        values: list[Any] = [None] * len(calls)
        tries = [0] * len(calls)
        pending = list(range(len(calls)))
        failed_rounds = 0
        waited_s = 0.0  # since the last usable answer
        while pending:
            started = time.monotonic()
            size = self._batch_limit
            chunks = [pending[start : start + size] for start in range(0, len(pending), size)]
            exchanges = self._exchange_all(calls, chunks)
            pending = []
            fault: RpcError | None = None
            rate_limited = False
            wait_s = 0.0
            for exchange in exchanges:
                for index, value in exchange.values.items():
                    values[index] = value
                pending.extend(exchange.again)
                if exchange.fault is None or not exchange.counts:
                    continue
                fault = exchange.fault
                rate_limited |= exchange.rate_limited
                for index in exchange.again:
                    tries[index] += 1
                worst = max((tries[index] for index in exchange.again), default=1)
                wait_s = max(wait_s, exchange.wait_s or 0.0, self._backoff_s(worst))
            pending.sort()
            if fault is None:
                continue
            no_values = not any(exchange.values for exchange in exchanges)
            failed_rounds = failed_rounds + 1 if no_values else 0
            waited_s = waited_s + time.monotonic() - started if no_values else 0.0
            attempts = max(failed_rounds, max((tries[index] for index in pending), default=0))
            gives_up = fail_fast and isinstance(fault, NodeUnreachable)
            if attempts >= self.max_attempts or waited_s + wait_s > self.patience_s or gives_up:
                times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
                fault.message = f"{fault.message} ({times} in {waited_s:.1f} s)"
                fault.args = (fault.message,)
                raise fault
            _log.log(
                logging.INFO if rate_limited else logging.WARNING,
                "%s; asking again in %.2f s (attempt %d of %d)",
                *(fault.message, wait_s, attempts + 1, self.max_attempts),
            )
            self.clock.sleep(wait_s)
            waited_s += wait_s
        return values

    def _backoff_s(self, attempt: int) -> float:
        full = min(_BACKOFF_CAP_S, _BACKOFF_BASE_S * 2.0 ** (attempt - 1))
        return full * (0.5 + self.clock.jitter() / 2)

    def _exchange_all(self, calls: Sequence[Call], chunks: list[list[int]]) -> list[_Exchange]:
        if len(chunks) == 1 or self._concurrency == 1:
            exchanges: list[_Exchange] = []
            for chunk in chunks:
                held_back = bool(exchanges) and exchanges[-1].fault is not None
                exchanges.append(_Exchange(again=chunk) if held_back else self._exchange(calls, chunk))
        else:
            halt = threading.Event()

            def work(chunk: list[int]) -> _Exchange:
                if halt.is_set():
                    return _Exchange(again=chunk)
                try:
                    exchange = self._exchange(calls, chunk)
                except BaseException:
                    halt.set()
                    raise
                if exchange.fault is not None:
                    halt.set()
                return exchange

            with ThreadPoolExecutor(min(self._concurrency, len(chunks)), "mayavi-rpc") as workers:
                exchanges = list(workers.map(work, chunks))
        for exchange in exchanges:
            if exchange.batch_limit is not None:
                self._batch_limit = max(1, min(self._batch_limit, exchange.batch_limit))
            if exchange.rate_limited:
                self._concurrency = max(1, self._concurrency // 2)
        return exchanges

    def _exchange(self, calls: Sequence[Call], chunk: list[int]) -> _Exchange:
        """Send the calls of `chunk` in one HTTP request. Raises only errors that a retry cannot fix."""
        by_id = {next(self._ids): index for index in chunk}
        questions = [
            {"jsonrpc": "2.0", "id": key, "method": calls[index].method, "params": list(calls[index].params)}
            for key, index in by_id.items()
        ]
        body = json.dumps(questions if len(questions) > 1 else questions[0], separators=(",", ":")).encode()
        node = f"the node at {self.endpoint}"
        smaller = _halved_batch_limit(chunk)
        try:
            answer = self._post(body, len(chunk))
        except TimeoutError:
            text = f"{node} did not answer within {self._transport.timeout_s:g} s"
            fault: RpcError = RpcTimeout(text, "try again, or give it more time")
            return _Exchange(again=chunk, fault=fault, batch_limit=smaller)
        except AnswerTooLarge as error:
            fault = RpcBadAnswer(f"{node}: {error} ({calls[chunk[0]].method})")
            if len(chunk) == 1:
                raise fault from None
            return _Exchange(again=chunk, fault=fault, batch_limit=len(chunk) // 2, counts=False)
        except ssl.SSLCertVerificationError as error:
            raise RpcError(f"{node} has no valid certificate: {error.verify_message}") from None
        except http.client.IncompleteRead:
            fault = RpcBadAnswer(f"{node} ended its answer early")
            return _Exchange(again=chunk, fault=fault, batch_limit=smaller)
        except (OSError, http.client.HTTPException) as error:
            reason = self.endpoint.redact(str(error) or type(error).__name__)
            kind = NodeUnreachable if _is_unreachable(error) else RpcError
            fault = kind(f"{node} cannot be reached: {reason}", "check that it runs and that the address is right")
            return _Exchange(again=chunk, fault=fault)
        return self._classify(answer, calls, chunk, by_id)

    def _post(self, body: bytes, calls: int) -> HttpAnswer:
        with self._lock:
            if self.budget is not None and self.requests >= self.budget:
                raise RpcBudgetExceeded(
                    f"the budget of {self.budget} requests to {self.endpoint} is spent: "
                    f"{self.requests} requests with {self.calls} calls were made",
                    "raise the budget, or warm the cache first",
                )
            self.requests += 1
            self.calls += calls
        return self._transport.post(body)

    def _classify(
        self, answer: HttpAnswer, calls: Sequence[Call], chunk: list[int], by_id: dict[int, int]
    ) -> _Exchange:
        """Classify an HTTP answer: values, calls to retry, or an error."""
        node = f"the node at {self.endpoint}"
        status = answer.status
        if status == 429 or status == 408 or status >= 500:
            return self._retry_later(answer, chunk)
        if 300 <= status < 400:
            raise RpcHttpError(f"{node} answers HTTP {status} and redirects{_redirect_target(answer.location)}")
        fault: RpcError
        if 400 <= status < 500 and status not in _ACCESS_HINTS and len(chunk) > 1:
            fault = RpcHttpError(f"{node} refuses a batch of {len(chunk)} calls with HTTP {status}")
            return _Exchange(again=chunk, fault=fault, batch_limit=len(chunk) // 2, counts=False)
        try:
            content = json.loads(answer.body)
        except (ValueError, RecursionError):
            if status != 200:
                raise RpcHttpError(f"{node} answers HTTP {status}", _ACCESS_HINTS.get(status)) from None
            fault = RpcBadAnswer(f"{node} sent {len(answer.body)} bytes that are no complete JSON")
            return _Exchange(again=chunk, fault=fault, batch_limit=_halved_batch_limit(chunk))
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
                raise RpcHttpError(self.endpoint.redact(f"{node} answers HTTP {status}{reason}")) from None
            return _Exchange(again=chunk, fault=RpcBadAnswer(f"{node} sent no valid answer: {error}"))
        return self._read_items(items, calls, chunk)

    def _retry_later(self, answer: HttpAnswer, chunk: list[int]) -> _Exchange:
        """Wait as long as the node asks, or raise if that is too long."""
        node = f"the node at {self.endpoint}"
        wait_s = retry_after_s(answer.retry_after, self.clock.wall())
        if wait_s is not None and wait_s > self.patience_s:
            raise RpcHttpError(
                f"{node} answers HTTP {answer.status} and asks to wait {wait_s:.0f} s",
                f"try again then; up to {self.patience_s:g} s would have been waited (patience_s)",
            )
        hint = "the node limits the rate; lower the load or use another plan" if answer.status == 429 else None
        fault = RpcHttpError(f"{node} answers HTTP {answer.status}", hint)
        limit = _halved_batch_limit(chunk) if answer.status in (502, 504) else None
        return _Exchange(again=chunk, fault=fault, wait_s=wait_s, rate_limited=answer.status == 429, batch_limit=limit)

    def _refused_batch(self, refusal: Refusal, chunk: list[int]) -> _Exchange:
        """Handle one error for a whole batch: wait if it is a rate limit, otherwise retry in smaller batches."""
        text = f"the node at {self.endpoint} refuses a batch of {len(chunk)} calls: "
        fault = RpcError(self.endpoint.redact(text + str(refusal)))
        if refusal.rate_limited:
            return _Exchange(again=chunk, fault=fault, rate_limited=True)
        limit = 1 if refusal.unsupported else len(chunk) // 2
        return _Exchange(again=chunk, fault=fault, batch_limit=limit, counts=False)

    def _read_items(self, items: dict[int, dict[str, Any]], calls: Sequence[Call], chunk: list[int]) -> _Exchange:
        exchange = _Exchange()
        node = f"the node at {self.endpoint}"
        for index in chunk:
            call, item = calls[index], items[index]
            if item.get("error") is not None:
                refusal = Refusal.of(item["error"])
                text = self.endpoint.redact(f"{node} refuses {call.method}: {refusal}")
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
                exchange.fault, exchange.counts = RpcBadAnswer(self.endpoint.redact(text)), True
        return exchange


def _is_unreachable(error: Exception) -> bool:
    if isinstance(error, ConnectionRefusedError | socket.gaierror):
        return True
    return isinstance(error, OSError) and error.errno in _UNROUTABLE


def _halved_batch_limit(chunk: list[int]) -> int | None:
    """Half of the batch size, after a failure that its size may have caused; None for small batches."""
    return len(chunk) // 2 if len(chunk) > 8 else None


def _matched(content: object, by_id: dict[int, int]) -> dict[int, dict[str, Any]]:
    """Return answers by call index; raise `BadValue` unless every call is answered exactly once, under its id."""
    answers = content if isinstance(content, list) and len(by_id) > 1 else [content]
    items: dict[int, dict[str, Any]] = {}
    for item in answers:
        if not isinstance(item, dict):
            raise BadValue("an answer is no JSON object")
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
