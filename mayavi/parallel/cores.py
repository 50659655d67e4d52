"""Cores of this machine. A module of its own, because single runs do not import `processes`."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
