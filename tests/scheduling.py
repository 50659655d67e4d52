"""Which tests a worker is given at once, and in which order."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

USUAL_SECONDS = 1
"""Processor time of a test marked `slow` without a number."""

FAST_SECONDS = 0.05
"""That of any other test."""

RAY_FILES = frozenset(
    {
        "tests/cli/rl/test_eval_market.py",
        "tests/cli/rl/test_rollouts.py",
        "tests/cli/rl/test_train_grid.py",
        "tests/cli/test_on_ray.py",
        "tests/parallel/test_ray_tasks.py",
        "tests/portfolio/test_training.py",
        "tests/rl/modal/test_modal_grid.py",
        "tests/rl/rllib/test_trainer.py",
        "tests/test_benchmark_of_training.py",
    }
)
"""Files that start Ray. Of two that do so at once, one waits for the other (`tests/parallel/ray_cluster.py`)."""


RAY = "ray"
"""The unit of these files."""

FOLDERS = ("tests/node/", "tests/report/")
"""Folders whose tests share what `conftest.py` there makes once in each session, that is once in each worker: nodes
with a history; runs of every scenario, trainings and a replayed incident."""


def unit_of(nodeid: str) -> str:
    """Return what a worker takes with this test: its file, one of `FOLDERS`, or all files that start Ray."""
    file = nodeid.partition("::")[0]
    if file in RAY_FILES:
        return RAY
    return next((folder for folder in FOLDERS if file.startswith(folder)), file)


def longest_first(items: list[pytest.Item]) -> None:
    """Sort tests by the duration of their unit, so that no worker begins a long one when the others are done."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for item in items:
        marker = item.get_closest_marker("slow")
        usual = USUAL_SECONDS if marker else FAST_SECONDS
        seconds[unit_of(item.nodeid)] += marker.args[0] if marker and marker.args else usual
    items.sort(key=lambda item: -seconds[unit_of(item.nodeid)])


def make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return xdist's scheduler of files with units instead of files; None for other ways to distribute."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LoadUnitScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    return LoadUnitScheduling(config, log)
