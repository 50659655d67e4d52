"""Hardware of the machine that trains: processor, cores, memory and GPU."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mayavi.parallel.cores import available_cores
from mayavi.parallel.machine_memory import machine_memory

_GIB = 1 << 30


def hardware() -> dict[str, Any]:
    """Hardware of this machine as JSON data: `cpu`, `cores`, `memory_gib`, and `gpu`, None without one.

    Cores are those that this process may use. A GPU counts if torch sees it, whether or not the training uses it.
    """
    return {"cpu": _cpu_model(), "cores": available_cores(), "memory_gib": _memory_gib(), "gpu": _gpu()}


def describe_hardware(found: Mapping[str, Any]) -> str:
    """One line: `AMD EPYC 7B13, 4 cores, 16 GiB, NVIDIA A10G 23 GB`."""
    cores = found.get("cores")
    parts = [
        str(found.get("cpu") or "unknown processor"),
        f"{cores} core{'' if cores == 1 else 's'}",
        f"{found['memory_gib']:g} GiB" if found.get("memory_gib") else "",
    ]
    gpu = found.get("gpu")
    if gpu:
        count = f"{gpu['count']} × " if gpu["count"] > 1 else ""
        parts.append(f"{count}{gpu['name']} {gpu['memory_gb']:g} GB")
    else:
        parts.append("no GPU")
    return ", ".join(each for each in parts if each)


def _cpu_model() -> str:
    """Name of the processor; on Linux from /proc/cpuinfo, since `platform` knows only the architecture there."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in {"model name", "Model"} and value.strip():
            return " ".join(value.split())
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(machine_memory()[1] / _GIB, 1)
    except (ValueError, OSError):
        return None


def _gpu() -> dict[str, Any] | None:
    """Name, memory in GB (10⁹ bytes) and number of GPUs; None if torch sees none."""
    import torch

    if not torch.cuda.is_available():
        return None
    first = torch.cuda.get_device_properties(0)
    return {
        "name": str(first.name),
        "memory_gb": round(first.total_memory / 1e9, 1),
        "count": int(torch.cuda.device_count()),
    }
