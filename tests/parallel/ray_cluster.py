"""A Ray cluster of two nodes on this machine, in as little memory as Ray allows."""

from __future__ import annotations

import fcntl
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_turns = 0


@contextmanager
def only_ray() -> Iterator[None]:
    """Nobody else's Ray while the body runs: two of them on a machine starve each other until heartbeats are late.

    May be nested in one process.
    """
    global _turns
    with (Path(tempfile.gettempdir()) / "mayavi-ray-cluster.lock").open("w") as turn:
        if not _turns:
            fcntl.flock(turn, fcntl.LOCK_EX)
        _turns += 1
        try:
            yield
        finally:
            _turns -= 1


@contextmanager
def two_nodes() -> Iterator[str]:
    """The address of a cluster of two nodes with a core each; the test is skipped where ray is not installed."""
    pytest.importorskip("ray", reason="ray is not installed; `pip install 'mayavi-sim[cluster]'` installs it")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with only_ray(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own
        from ray.cluster_utils import Cluster

        cluster = Cluster()
        try:
            for _ in range(2):
                cluster.add_node(num_cpus=1, num_gpus=0, object_store_memory=80 * 2**20, include_dashboard=False)
            yield cluster.address
        finally:
            cluster.shutdown()
