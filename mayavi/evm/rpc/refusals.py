"""Classify refusals of a node: busy, batch too large, unsupported, or final.

JSON-RPC leaves most error codes to the server, so the wording decides where the code does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from mayavi.errors import RpcError

_RATE_CODES = {-32005, 429}
_RATE_WORDS = re.compile(
    r"rate.?limit|too many requests|throttl|compute units|requests? per second|capacity limit", re.I
)
_LARGE_WORDS = re.compile(
    r"too large|too big|response size|batch (?:size|limit|request|call)|batch.*(?:exceed|maximum|limit)"
    r"|maximum.*batch|batch.*not|no batch",
    re.I,
)
_UNSUPPORTED_CODES = {-32601, -32004}
_UNSUPPORTED_WORDS = re.compile(
    r"not (?:supported|available|found.*method|whitelisted|enabled|allowed)|unsupported|does not exist|disabled"
    r"|method not found|only supports",
    re.I,
)
_TRANSIENT_WORDS = re.compile(
    r"header not found|unknown block|block not found|timed? ?out|temporar|try again|internal error|overloaded", re.I
)
_PRUNED_WORDS = re.compile(r"missing trie node|pruned|archive|historical state|state.*not available", re.I)


class NodeRefused(RpcError):  # noqa: N818  (a name says what happened)
    """The node answered a call with a JSON-RPC error. `unsupported`: it lacks the method or a parameter form."""

    def __init__(self, message: str = "", hint: str | None = None, *, code: int = 0, unsupported: bool = False) -> None:
        super().__init__(message, hint)
        self.code = code
        self.unsupported = unsupported


class NodeUnreachable(RpcError):  # noqa: N818
    """Unreachable node: the connection is refused, or the host cannot be resolved or routed to."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Parsed JSON-RPC error object."""

    code: int
    message: str

    @classmethod
    def of(cls, error: object) -> Refusal:
        """Parse an `error` member; malformed ones are accepted."""
        if not isinstance(error, dict):
            return cls(0, str(error)[:300])
        code, message = error.get("code"), error.get("message")
        return cls(code if type(code) is int else 0, message[:300] if isinstance(message, str) else "no message")

    def __str__(self) -> str:
        return f"{self.message} (code {self.code})"

    @property
    def rate_limited(self) -> bool:
        """Whether it is a rate limit."""
        return self.code in _RATE_CODES or bool(_RATE_WORDS.search(self.message))

    @property
    def too_large(self) -> bool:
        """Whether the batch or its answer is too large for one request."""
        return not self.rate_limited and bool(_LARGE_WORDS.search(self.message))

    @property
    def unsupported(self) -> bool:
        """Whether the node lacks the method or this form of its parameters."""
        return self.code in _UNSUPPORTED_CODES or bool(_UNSUPPORTED_WORDS.search(self.message))

    @property
    def transient(self) -> bool:
        """Whether a retry may help: an internal error, or a backend that lags behind another."""
        if self.unsupported or _PRUNED_WORDS.search(self.message):
            return False
        return self.code == -32603 or bool(_TRANSIENT_WORDS.search(self.message))

    @property
    def hint(self) -> str | None:
        """Next step, if the wording implies one."""
        if _PRUNED_WORDS.search(self.message):
            return "the node has dropped the state of this block; use an archive node or a newer block"
        return None


def retry_after_s(header: str | None, now: float) -> float | None:
    """Seconds to wait by a `Retry-After` header, a number or an HTTP date; None when absent or unreadable."""
    if header is None:
        return None
    text = header.strip()
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,3})?", text):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now)
