"""Work on a Ray cluster, in a process of its own: Ray ends the process it runs in when its cluster fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parallel.ray_cluster import TURN, only_ray


@pytest.mark.slow
def test_work_on_two_ray_nodes(repository: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed; `pip install 'mayavi-sim[cluster]'` installs it")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/parallel/ray_work.py"]
    with only_ray():  # here, so that waiting for other tests does not count as work
        env = {**os.environ, TURN: "taken"}
        finished = subprocess.run(
            command, cwd=repository, env=env, capture_output=True, text=True, timeout=900, check=False
        )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "3 passed" in finished.stdout
