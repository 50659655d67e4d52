"""Machine and versions behind the figures."""

from __future__ import annotations

import os
import platform
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import mayavi
from benchmarks.peers import PEERS, installed_version
from benchmarks.subjects.position import REPOSITORY


def describe_machine() -> dict[str, str]:
    """Describe the machine and its load before the run."""
    busy = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "processor": processor(),
        "cores": str(os.cpu_count() or "unknown"),
        "system": f"{platform.system()} {platform.machine()}",
        "load before": busy,
    }


def describe_versions() -> dict[str, str]:
    """Return the version of everything measured."""
    packages = tomllib.loads((REPOSITORY / "kernel" / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    revm = next(package["version"] for package in packages if package["name"] == "revm")
    versions = {
        "mayavi": mayavi.__version__,
        "revm": revm,
        "Python": platform.python_version(),
        "rustc": rustc(),
        "eth-abi": version("eth_abi"),
    }
    return versions | {peer.name: installed_version(peer) or f"{peer.version} (not built)" for peer in PEERS}


def processor() -> str:
    """Return the processor's name as reported by the system."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model", "Hardware"))]
    return names[0] if names else platform.processor() or platform.machine()


def rustc() -> str:
    """Return the compiler's version."""
    try:
        answer = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "not on the PATH"
    return answer.stdout.split()[1]
