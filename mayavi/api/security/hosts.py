"""`AllowedHosts`: the names in the header `Host` that the service answers to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_LONGEST = 261
"""The longest name of DNS and a port."""


class AllowedHosts:
    """Names to answer to. IP addresses and `localhost` always are: no other site can take them by DNS."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self.any = names is None or "*" in names
        self.names = frozenset(name.lower().rstrip(".") for name in names or () if not name.startswith("*"))
        self.suffixes = tuple(name[1:].lower() for name in names or () if name.startswith("*."))
        self._known = lru_cache(maxsize=1024)(self._allows)

    def allows(self, host: bytes) -> bool:
        """Whether the value of a `Host` header is allowed."""
        return self.any or (len(host) <= _LONGEST and self._known(host))

    def _allows(self, host: bytes) -> bool:
        found = _HOST.fullmatch(host.decode("latin-1"))
        if found is None:
            return False
        name = found[1].lower().rstrip(".")
        return (
            name in self.names
            or name == "localhost"
            or name.endswith((".localhost", *self.suffixes))
            or _is_address(name.strip("[]"))
        )


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
