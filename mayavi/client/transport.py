"""`Transport`: requests to a service, with its refusals as errors of Mayavi."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from mayavi import __version__
from mayavi.errors import MayaviError, ServiceError, ServiceUnreachable, UnknownRun, UsageError

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_STREAM_TIMEOUT = httpx.Timeout(60.0, connect=10.0, read=45.0)
RESTARTING = frozenset({502, 503, 504})
"""Answers of a proxy whose service is being restarted."""
_LONGEST_PAUSE_S = 5.0
_ADDRESS = "check the address"


class Transport:
    """HTTP connection to a service. The key is sent with each request and shown nowhere."""

    def __init__(self, url: str, key: str, *, patience_s: float) -> None:
        parts = urlsplit(url.strip())
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
            raise UsageError(f"'{url}' is not the address of a service", "write it as http://127.0.0.1:8420")
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise UsageError("the key of the service is missing or unreadable", "set MAYAVI_API_KEY, or pass the key")
        path = "" if parts.path.startswith("/app/") or parts.path == "/app" else parts.path  # the dashboard's address
        self.url = f"{parts.scheme}://{parts.netloc}{path}".rstrip("/")
        self.patience_s = patience_s
        headers = {"Authorization": f"Bearer {key}", "User-Agent": f"mayavi/{__version__}"}
        encrypted = parts.scheme == "https"  # reading all certificate authorities takes longer than most requests
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=_TIMEOUT, verify=encrypted)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(self, method: str, path: str, *, patience_s: float | None = None, **options: Any) -> httpx.Response:
        """Send a request and return the answer; repeat it while the service restarts, for `patience_s` at most.

        A POST is repeated only with an idempotency key. Raises `ServiceError` for a refusal.
        """
        repeatable = method in {"GET", "DELETE"} or "Idempotency-Key" in (options.get("headers") or {})
        retry = Retry((self.patience_s if patience_s is None else patience_s) if repeatable else 0.0)
        while True:
            try:
                answer = self._http.request(method, path, **options)
            except httpx.TransportError as error:
                problem = self._unreachable(error)
                if _tls_fault(error) is not None:  # the same every time
                    raise problem from error
                retry.wait(problem)
                continue
            if answer.status_code in RESTARTING and repeatable:
                retry.wait(error_of(answer))
                continue
            if answer.is_error or answer.is_redirect:
                raise error_of(answer)
            return answer

    def request_json(self, method: str, path: str, **options: Any) -> Any:
        """Send a request and return the data of the answer; `ServiceError` where something else answers."""
        answer = self.request(method, path, **options)
        try:
            return answer.json()
        except ValueError:
            raise ServiceError(
                f"what answers at {self.url} is not a service of Mayavi", _ADDRESS, status=answer.status_code
            ) from None

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """Open a streamed answer; raise `ServiceUnreachable` if the connection breaks."""
        try:
            with self._http.stream("GET", path, headers=dict(headers or {}), timeout=_STREAM_TIMEOUT) as answer:
                if answer.is_error or answer.is_redirect:
                    answer.read()
                    raise error_of(answer)
                yield answer
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def save(self, path: str, file: Path) -> None:
        """Write the body of an answer to a file, which appears only when it is complete."""
        unfinished = file.with_name(f".{file.name}.part")
        try:
            with self.stream(path) as answer, open(unfinished, "wb") as out:
                for block in answer.iter_bytes():
                    out.write(block)
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)

    def _unreachable(self, error: httpx.TransportError) -> ServiceUnreachable:
        fault = _tls_fault(error)
        if isinstance(fault, ssl.SSLCertVerificationError):
            return ServiceUnreachable(
                f"the certificate of {self.url} is not trusted: {fault.verify_message}",
                "SSL_CERT_FILE=FILE names the certificate of another authority",
            )
        if fault is not None:
            return ServiceUnreachable(
                f"{self.url} does not speak TLS: {fault.reason or fault}", "a service without a proxy has http://"
            )
        why = str(error) or type(error).__name__
        return ServiceUnreachable(
            f"the service at {self.url} does not answer: {why[:1].lower()}{why[1:]}",
            f"`mayavi serve` starts one; {_ADDRESS}",
        )


class Retry:
    """Growing pauses between attempts, until patience is over."""

    def __init__(self, patience_s: float) -> None:
        self._deadline = time.monotonic() + patience_s
        self._pause_s = 0.2

    def wait(self, error: MayaviError) -> None:
        """Pause, or raise `error` if the next attempt would come too late."""
        if time.monotonic() + self._pause_s > self._deadline:
            raise error
        time.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)


def _tls_fault(error: BaseException) -> ssl.SSLError | None:
    """Return the failure of TLS that ended a connection, if one did."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, ssl.SSLError):
        seen = seen.__cause__ or seen.__context__
    return seen


def error_of(answer: httpx.Response) -> MayaviError:
    """Return the error that a refusal means, of the service or of what stands before it."""
    if answer.has_redirect_location:
        target = answer.url.join(answer.headers["Location"])
        address = f"{target.scheme}://{target.netloc.decode()}"
        return ServiceError(
            f"requests are sent on to {address}", f"give {address} as address", status=answer.status_code
        )
    body: dict[str, Any] = {}
    with suppress(ValueError):
        found = answer.json()
        body = found if isinstance(found, dict) else {}
    message = str(body.get("message") or f"{answer.url.netloc.decode()} answered {answer.status_code} without a reason")
    hint = body.get("hint") or (None if body else f"a proxy or another server answered: {_ADDRESS}, and http or https")
    others = [str(each.get("message")) for each in body.get("problems") or [] if isinstance(each, dict)][1:6]
    hint = "\n".join([*([hint] if hint else []), *(f"also {each}" for each in others)]) or None
    if answer.status_code == 404 and message.startswith(("unknown run", "unknown sweep")):
        return UnknownRun(message, hint)
    if answer.status_code in {400, 409, 413, 422}:
        return UsageError(message, hint)
    if answer.status_code == 401:
        hint = hint or "check the key in MAYAVI_API_KEY; `mayavi keys create` makes one"
    return ServiceError(message, hint, status=answer.status_code)
