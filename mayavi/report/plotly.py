"""Plotly's script for the charts, installed from npm by `mayavi setup`, or at first use."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mayavi.compilers.package_folder import PackageFolder, Say, announce
from mayavi.compilers.packages import ensure_packages
from mayavi.errors import SetupError
from mayavi.worlds.contract_folder import contracts_root

PACKAGE = "plotly.js-cartesian-dist-min"
SCRIPT = f"{PACKAGE}/plotly-cartesian.min.js"


def report_packages() -> PackageFolder:
    """The npm packages of reports: their lock file, and the folder they are installed in.

    They have a lock file of their own because the contracts' one is part of the key of every replica.
    """
    return PackageFolder(
        contracts_root() / "report",
        sources=Path(__file__).parent / "npm",
        what="report packages",
    )


def is_installed() -> bool:
    """Whether Plotly is installed in the pinned version."""
    return not report_packages().missing_packages()


def ensure_plotly(*, dev: bool = False, say: Say = announce) -> bool:
    """Install Plotly unless it is there; `dev` adds what tests need. Return whether anything was installed."""
    return ensure_packages(report_packages(), node=dev, say=say)


@cache
def plotly_source() -> str:
    """Read Plotly's script; install it first if it is missing.

    Raises `SetupError`, which names `mayavi setup`, where it cannot be installed.
    """
    ensure_plotly()
    path = report_packages().packages / SCRIPT
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"Plotly, which draws the charts of reports, cannot be read: '{path}': {error.strerror or error}",
            "run `mayavi setup` to install it again",
        ) from None
