"""Memory of a process and its children."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process and all its descendants; 0 if it is gone or cannot be read."""
    if not (_PROC / "self" / "statm").exists():
        return _resident_by_ps(pid)
    total, waiting = 0, [pid]
    while waiting:
        each = waiting.pop()
        try:
            total += int((_PROC / str(each) / "statm").read_text().split()[1]) * _PAGE
            for thread in (_PROC / str(each) / "task").iterdir():
                waiting += [int(child) for child in (thread / "children").read_text().split()]
        except (OSError, ValueError, IndexError):  # it ended just now
            continue
    return total


def _resident_by_ps(pid: int) -> int:
    """Return the resident memory of the process alone, where there is no /proc."""
    try:
        found = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, timeout=5)
        return int(found.stdout.split()[0]) * 1024
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError):
        return 0
