"""Address of a node, and the part of it that may be shown.

Providers put the key into the path, the query or the user part of the URL. An `Endpoint` therefore shows scheme and
host only, in `str`, `repr` and every message, and `redact` removes the secret parts from text a node sends back.
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from urllib.parse import unquote, urlsplit

from mayavi.errors import UsageError

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_OF_CHAIN = "MAYAVI_RPC_URL_"
_SHORTEST_SECRET = 6  # shorter path parts ("v2", "rpc", "main") are names, not keys


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Validated JSON-RPC address. `shown` is safe to print; the other parts are secret and not in `repr`."""

    shown: str
    secure: bool
    host: str
    port: int
    target: str = field(repr=False)
    authorization: str | None = field(repr=False)
    identity: bytes = field(repr=False)
    _secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """Parse `url`; raise `UsageError`, without the URL in its text, for anything but http and https."""
        text = url.strip()
        if not _VISIBLE.fullmatch(text):
            raise UsageError("the RPC address is empty or has spaces in it", hint="give it as https://host/path")
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise UsageError(
                "the RPC address is malformed (host or port)", hint="give it as https://host[:port]/path"
            ) from None
        scheme = parts.scheme.lower()
        if scheme in ("ws", "wss"):
            raise UsageError(
                f"the RPC address has scheme '{scheme}', only http and https are supported",
                hint="providers serve the same node under https://; use that address",
            )
        if scheme not in ("http", "https") or not host:
            # the part before "://" is shown only if it is a plain word: "host:KEY" has no scheme
            shown_scheme = f" has scheme '{scheme}', it" if "://" in text and scheme.isalnum() else ""
            raise UsageError(f"the RPC address{shown_scheme} must start with http:// or https:// and name a host")
        secure = scheme == "https"
        shown_host = f"[{host}]" if ":" in host else host
        shown = f"{scheme}://{shown_host}" + (f":{port}" if port is not None else "")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        authorization = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = "Basic " + base64.b64encode(pair.encode()).decode()
        return cls(
            shown=shown,
            secure=secure,
            host=host,
            port=port if port is not None else (443 if secure else 80),
            target=target,
            authorization=authorization,
            identity=blake2b(text.encode(), digest_size=32, person=b"mayavi-rpc-url").digest(),
            _secrets=_secret_parts(target, parts.username, parts.password, authorization),
        )

    def redact(self, text: str) -> str:
        """Replace every secret part of this address in `text` by '…'."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text

    def __str__(self) -> str:
        return self.shown


def _secret_parts(target: str, *more: str | None) -> tuple[str, ...]:
    """Secret parts, longest first so that a part is not replaced inside a longer one."""
    pieces = {target, *re.split(r"[/?&=;,]", target)}
    pieces.update(part for part in more if part)
    pieces.update(unquote(piece) for piece in tuple(pieces))
    return tuple(sorted((piece for piece in pieces if len(piece) >= _SHORTEST_SECRET), key=lambda s: (-len(s), s)))


def url_from_environment(chain: str | None = None, *, options: str = "") -> str:
    """Return the RPC address from `MAYAVI_RPC_URL_<CHAIN>`, else `MAYAVI_RPC_URL`, else `ALCHEMY_RPC_URL`.

    `chain` is a name such as "ethereum" (`MAYAVI_RPC_URL_ETHEREUM`); None skips the first of the three. An empty
    variable counts as unset. Raises `UsageError` if none is set or its value is not an http(s) address; its hint names
    `options` of the command line that give one.
    """
    names = ["MAYAVI_RPC_URL", "ALCHEMY_RPC_URL"]
    if chain is not None:
        names.insert(0, _OF_CHAIN + re.sub(r"[^A-Z0-9]", "_", chain.upper()))
    for name in names:
        url = os.environ.get(name, "").strip()
        if url:
            try:
                Endpoint.parse(url)
            except UsageError as error:
                raise UsageError(f"{name}: {error.message}", hint=error.hint) from None
            return url
    needed = f"set {' or '.join(names)} to the https:// address of a node"
    if options:
        needed = f"give {options}, or {needed}"
    of_chains = sorted(name for name, url in os.environ.items() if name.startswith(_OF_CHAIN) and url.strip())
    if of_chains:
        those = ", ".join(f'{name} serves chain="{name.removeprefix(_OF_CHAIN).lower()}"' for name in of_chains)
        unnamed = "no chain is named, and no RPC address is set for all"
        message = unnamed if chain is None else f"no RPC address is set for chain '{chain}'"
        raise UsageError(message, hint=f"{those}: name that chain, or {needed}")
    raise UsageError("no RPC address is set", hint=needed if options else f"{needed}; the offline replica needs none")
