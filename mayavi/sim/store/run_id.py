"""Names of runs: they sort by time, two processes never make the same one, and their beginning is enough to type."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence

from mayavi.errors import AmbiguousName, UnknownRun

LATEST = "latest"

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_lock = threading.Lock()
_last_ms = 0


def new_run_id() -> str:
    """A fresh id such as `20250314-092653589-k7p2qa9x`: the time in UTC to the millisecond, and forty random bits.

    Ids made by one process sort in the order they were made.
    """
    global _last_ms
    with _lock:
        _last_ms = max(time.time_ns() // 1_000_000, _last_ms + 1)
        moment = _last_ms
    seconds, ms = divmod(moment, 1000)
    chance = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(seconds))}{ms:03d}-{chance}"


def resolve(named: str, known: Sequence[str]) -> str:
    """The one of `known` ids that `named` means: itself, its beginning or its end where only one fits, or `latest`."""
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
            f"'{named}' fits {len(fits):,} runs", f"type more of it: {shown}{', …' if len(fits) > 5 else ''}"
        )
    if not known:
        raise UnknownRun(f"unknown run '{named}'", "nothing is stored here yet; `mayavi run SCENARIO` makes a run")
    raise UnknownRun.of("run", named, sorted(known, reverse=True), "`mayavi runs list` shows all of them")
