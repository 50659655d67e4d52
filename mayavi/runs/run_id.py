"""Run ids: sortable by time, unique across processes, and resolved from a unique prefix."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Sequence
from functools import lru_cache

from mayavi.errors import AmbiguousName, UnknownRun, UsageError, did_you_mean

LATEST = "latest"

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALID = re.compile(r"[A-Za-z0-9_-]+")
_lock = threading.Lock()
_last_ms = 0


def new_run_id() -> str:
    """Create an id such as `20250314-092653589-k7p2qa9x`: UTC time to the millisecond and forty random bits.

    Ids of one process sort in the order of creation.
    """
    global _last_ms
    with _lock:
        _last_ms = max(time.time_ns() // 1_000_000, _last_ms + 1)
        moment = _last_ms
    seconds, ms = divmod(moment, 1000)
    bits = secrets.randbits(40)
    suffix = "".join([_ALPHABET[bits >> shift & 31] for shift in range(0, 40, 5)])
    return f"{_stamp(seconds)}{ms:03d}-{suffix}"


@lru_cache(maxsize=1)
def _stamp(seconds: int) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))


def check_id(identifier: str) -> str:
    """Return `identifier`; `UsageError` unless it consists of letters, digits, `-` and `_`."""
    if not _VALID.fullmatch(identifier):
        raise UsageError(f"'{identifier}' cannot name a run", "letters, digits, '-' and '_' can; see `new_run_id()`")
    return identifier


def resolve(named: str, known: Sequence[str], kind: str = "run") -> str:
    """Resolve a full id, a unique prefix or suffix, or `latest` to one of the `known` ids."""
    wanted = named.strip()
    if wanted in known:
        return wanted
    if wanted == LATEST and known:
        return max(known)
    fits = [each for each in known if each.startswith(wanted)] or [each for each in known if each.endswith(wanted)]
    if wanted and len(fits) == 1:
        return fits[0]
    if wanted and fits:
        shown = ", ".join(sorted(fits, reverse=True)[:5])
        raise AmbiguousName(
            f"'{named}' fits {len(fits):,} {kind}s", f"type more of it: {shown}{', …' if len(fits) > 5 else ''}"
        )
    if not known:
        makes = "`mayavi sweep SCENARIO`" if kind == "sweep" else "`mayavi run SCENARIO`"
        raise UnknownRun(f"unknown {kind} '{named}'", f"no {kind} is stored here; {makes} makes one")
    newest = sorted(known, reverse=True)
    hint = did_you_mean(named, newest) or f"the newest are {', '.join(newest[:3])}"
    more = "" if kind == "sweep" else "; `mayavi runs list` shows all"
    raise UnknownRun(f"unknown {kind} '{named}'", f"{hint}{more}")
