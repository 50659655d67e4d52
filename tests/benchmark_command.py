"""Runs `python -m benchmarks` for tests, and checks the rows that it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_benchmarks(repository: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
        env=os.environ | environment,
    )


def check_row(row: dict[str, Any]) -> None:
    figures = {name: figure for name, figure in row.items() if name != "what"}
    assert figures
    for figure in figures.values():
        assert figure.keys() == {"value", "unit"}
    if "median" in figures and "fastest" in figures:
        assert 0 < figures["fastest"]["value"] <= figures["median"]["value"]
    elif "fastest" in figures:  # of rates, the highest
        assert figures["fastest"]["value"] >= figures["steps"]["value"] > 0
