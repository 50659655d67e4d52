"""`KeptAnswer`: a JSON body that was made once and is sent many times; of what never changes also its ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import Response
from starlette.types import Send

CACHED = "private, no-cache"
"""Cache-Control: a browser may cache the response and must revalidate it."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """Cached response body. With an `etag`, a client that has it gets 304."""

    body: bytes
    etag: str | None = None

    @classmethod
    def lasting(cls, body: bytes) -> KeptAnswer:
        """Return an answer with the ETag of its body."""
        return cls(body, f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"')

    def __len__(self) -> int:
        return len(self.body)

    def response(self, if_none_match: str | None = None) -> Response:
        """Return the answer; 304 if the caller has it."""
        status, headers, body = self._parts(if_none_match)
        return Response(body, status, {name.decode(): value.decode() for name, value in headers})

    async def send(self, headers: Iterable[tuple[bytes, bytes]], send: Send) -> None:
        """Send the answer to a request with these headers, past the framework."""
        given = next((value.decode("latin-1") for name, value in headers if name == b"if-none-match"), None)
        status, own, body = self._parts(given)
        own.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": own})
        await send({"type": "http.response.body", "body": body})

    def _parts(self, if_none_match: str | None) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        if self.etag is None:
            return 200, [(b"content-type", b"application/json")], self.body
        own = [(b"etag", self.etag.encode()), (b"cache-control", CACHED.encode())]
        if matches(if_none_match, self.etag):
            return 304, own, b""
        return 200, [(b"content-type", b"application/json"), *own], self.body


def matches(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller has the answer already."""
    if if_none_match is None:
        return False
    return any(each.strip().removeprefix("W/") in {etag, "*"} for each in if_none_match.split(","))
