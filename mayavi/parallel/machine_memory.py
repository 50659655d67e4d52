"""Memory of this machine."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")


def machine_memory() -> tuple[int, int]:
    """Available and total memory in bytes; both are the total where /proc/meminfo is missing."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        return sizes["MemAvailable"], sizes["MemTotal"]
    except (OSError, ValueError, KeyError, IndexError):
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return whole, whole
