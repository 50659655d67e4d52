"""Where a browser's request comes from: the service's own pages, or another site."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_cross_origin(headers: Headers, *, https: bool = False) -> bool:
    """Whether the headers say that the request comes from another origin. False if they say nothing.

    Only host and port are compared with those of the request, since a proxy may terminate TLS; with `https` the
    origin must be an HTTPS one.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in {"same-origin", "none"}:
        return True
    origin = headers.get("origin")
    return origin is not None and not _is_own(origin, headers.get("host", ""), https=https)


def is_known_origin(headers: Headers) -> bool:
    """Whether the headers say at all where the request comes from, as those of every browser do."""
    return "origin" in headers or headers.get("sec-fetch-site") == "same-origin"


def _is_own(origin: str, host: str, *, https: bool) -> bool:
    try:
        parts, own = urlsplit(origin), urlsplit(f"//{host}")
        default = _DEFAULT_PORTS.get(parts.scheme)
        if default is None or not parts.hostname or (https and parts.scheme != "https"):
            return False
        return (parts.hostname, parts.port or default) == (own.hostname, own.port or default)
    except ValueError:  # a port that is not a number
        return False
