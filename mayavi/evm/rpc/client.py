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

from mayavi.errors import RpcBadAnswer, RpcBudgetExceeded, RpcError, RpcTimeout
from mayavi.evm.rpc.endpoint import Endpoint
from mayavi.evm.rpc.exchange import AnswerReader, Exchange, halved_batch_limit
from mayavi.evm.rpc.exchange import Call as Call
from mayavi.evm.rpc.refusals import NodeRefused, NodeUnreachable
from mayavi.evm.rpc.transport import AnswerTooLarge, HttpAnswer, Transport

_log = logging.getLogger("mayavi.evm.rpc.client")

_BACKOFF_BASE_S = 0.25
_BACKOFF_CAP_S = 20.0
_UNROUTABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL}


@dataclass(frozen=True, slots=True)
class Clock:
    """Replaceable clock, so that tests need not wait. `jitter` returns numbers in [0, 1)."""

    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = field(default_factory=lambda: random.Random().random)


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

    def _exchange_all(self, calls: Sequence[Call], chunks: list[list[int]]) -> list[Exchange]:
        if len(chunks) == 1 or self._concurrency == 1:
            exchanges: list[Exchange] = []
            for chunk in chunks:
                held_back = bool(exchanges) and exchanges[-1].fault is not None
                exchanges.append(Exchange(again=chunk) if held_back else self._exchange(calls, chunk))
        else:
            halt = threading.Event()

            def work(chunk: list[int]) -> Exchange:
                if halt.is_set():
                    return Exchange(again=chunk)
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

    def _exchange(self, calls: Sequence[Call], chunk: list[int]) -> Exchange:
        """Send the calls of `chunk` in one HTTP request. Raises only errors that a retry cannot fix."""
        by_id = {next(self._ids): index for index in chunk}
        questions = [
            {"jsonrpc": "2.0", "id": key, "method": calls[index].method, "params": list(calls[index].params)}
            for key, index in by_id.items()
        ]
        body = json.dumps(questions if len(questions) > 1 else questions[0], separators=(",", ":")).encode()
        node = f"the node at {self.endpoint}"
        smaller = halved_batch_limit(chunk)
        try:
            answer = self._post(body, len(chunk))
        except TimeoutError:
            text = f"{node} did not answer within {self._transport.timeout_s:g} s"
            fault: RpcError = RpcTimeout(text, "try again, or give it more time")
            return Exchange(again=chunk, fault=fault, batch_limit=smaller)
        except AnswerTooLarge as error:
            fault = RpcBadAnswer(f"{node}: {error} ({calls[chunk[0]].method})")
            if len(chunk) == 1:
                raise fault from None
            return Exchange(again=chunk, fault=fault, batch_limit=len(chunk) // 2, counts=False)
        except ssl.SSLCertVerificationError as error:
            raise RpcError(f"{node} has no valid certificate: {error.verify_message}") from None
        except http.client.IncompleteRead:
            fault = RpcBadAnswer(f"{node} ended its answer early")
            return Exchange(again=chunk, fault=fault, batch_limit=smaller)
        except (OSError, http.client.HTTPException) as error:
            reason = self.endpoint.redact(str(error) or type(error).__name__)
            kind = NodeUnreachable if _is_unreachable(error) else RpcError
            fault = kind(f"{node} cannot be reached: {reason}", "check that it runs and that the address is right")
            return Exchange(again=chunk, fault=fault)
        reader = AnswerReader(self.endpoint, patience_s=self.patience_s, wall=self.clock.wall)
        return reader.classify(answer, calls, chunk, by_id)

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


def _is_unreachable(error: Exception) -> bool:
    if isinstance(error, ConnectionRefusedError | socket.gaierror):
        return True
    return isinstance(error, OSError) and error.errno in _UNROUTABLE
