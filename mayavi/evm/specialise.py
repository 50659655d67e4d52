"""Whether calls are replayed where their path is known: `off`, `on` or `check`, by argument or environment variable."""

from __future__ import annotations

import os

from mayavi.errors import UsageError

MODES = ("off", "on", "check")
SPECIALISE = "MAYAVI_SPECIALISE"
"""Environment variable that says whether transactions of fleets and batches of reads are replayed: off, on or check."""


def chosen_specialise(mode: str | None = None) -> str:
    """Return `mode`, or what the environment variable says; `UsageError` for an unknown one."""
    found = mode or os.environ.get(SPECIALISE, "").strip() or "on"
    if found not in MODES:
        origin = "specialise" if mode else SPECIALISE
        raise UsageError(f"{origin} is '{found}'", f"it is one of: {', '.join(MODES)}")
    return found
