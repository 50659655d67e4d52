"""Logs of the service: one JSON object a line on standard error, without secrets."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import traceback
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request

_KEYS = re.compile(r"(mvk_[0-9a-f]{8})_[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[A-Za-z0-9/._-]{0,200}")
_HIDDEN: set[str] = set()
_LONGEST, _LONGEST_PATH = 20_000, 200
_DELETE, _ESCAPED_DELETE = "\x7f", "\\u007f"

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "mayavi.api.log.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
    "loggers": {
        name: {"handlers": ["stderr"], "level": "INFO", "propagate": False} for name in ("uvicorn", "asyncio", "mayavi")
    },
}
"""Configuration of the loggers of the server and its libraries."""


def hide(secret: str) -> None:
    """Redact a secret that no pattern matches, such as the bootstrap key."""
    _HIDDEN.add(json.dumps(secret)[1:-1])


def redact(text: str) -> str:
    """Replace the secrets of keys in a text; ids of keys stay."""
    for secret in _HIDDEN:
        text = text.replace(secret, "***")
    return _KEYS.sub(r"\1_***", text)


def write(level: str, event: str, **fields: object) -> None:
    """Write one line. Control characters and everything beyond ASCII are escaped."""
    _put(json.dumps({"at": _time(time.time()), "level": level, "event": event, **fields}, default=str))


def write_request(
    request_id: str, method: str, route: str, path: str, status: int, seconds: float, key_id: str, client: str
) -> None:
    """Write the line of a request. Queries and headers are never part of it."""
    shown = path if _PLAIN.fullmatch(path) else json.dumps(path[:_LONGEST_PATH])[1:-1]
    level = "info" if status < 500 else "error"
    _put(
        f'{{"at": "{_time(time.time())}", "level": "{level}", "event": "request", "request_id": "{request_id}",'
        f' "method": "{method}", "route": "{route}", "path": "{shown}", "status": {status},'
        f' "ms": {seconds * 1000:.2f}, "key_id": "{key_id}", "client": "{client}"}}'
    )


def audit(request: Request, event: str, **fields: object) -> None:
    """Write who did something to keys or sessions, also where requests are not logged."""
    state = request.scope.get("state", {})
    client = request.client.host if request.client else ""
    write("info", event, request_id=state.get("request_id", ""), by=state.get("key_id", ""), client=client, **fields)


def _put(line: str) -> None:
    if _HIDDEN or "mvk_" in line:
        line = redact(line)
    try:
        sys.stderr.write(f"{line.replace(_DELETE, _ESCAPED_DELETE)}\n")
    except (OSError, ValueError):  # nobody reads the log any more: requests go on
        return


def _time(seconds: float) -> str:
    whole = int(seconds)
    return f"{_second(whole)}.{int((seconds - whole) * 1000):03d}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def write_exception(error: BaseException, **fields: object) -> None:
    """Write an exception with its traceback."""
    text = "".join(traceback.format_exception(error))
    write("error", "exception", kind=type(error).__name__, traceback=text[-_LONGEST:], **fields)


class JsonFormatter(logging.Formatter):
    """Records of other libraries as lines of the same form."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a JSON object."""
        fields: dict[str, object] = {
            "at": _time(record.created),
            "level": record.levelname.lower(),
            "event": "log",
            "logger": record.name,
            "message": record.getMessage().strip(),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)[-_LONGEST:]
        return redact(json.dumps(fields))
