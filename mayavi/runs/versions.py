"""Versions of Mayavi, NumPy and Python, which results are stored with."""

from __future__ import annotations

import sys

import mayavi


def own_versions() -> dict[str, str]:
    """Return the versions that any result depends on."""
    import numpy as np

    return {"mayavi": mayavi.__version__, "numpy": np.__version__, "python": sys.version.split()[0]}
