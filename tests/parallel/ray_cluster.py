"""Ray clusters on this machine, in as little memory as Ray allows."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 240
"""Time for a node to start. Ray itself allows 30 seconds, which its Python processes exceed on a busy machine."""
PATIENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_gcs_server_request_timeout_seconds": str(PATIENCE_S),
    "RAY_worker_register_timeout_seconds": str(PATIENCE_S),
    "RAY_health_check_timeout_ms": "60000",
}
"""Settings of Ray: a process that gets little of a core is slow, not dead."""


TURN = "MAYAVI_RAY_TURN"
"""Environment variable of a process whose parent has the machine's only Ray to itself already."""
_turns = 0


@contextmanager
def only_ray() -> Iterator[None]:
    """Nobody else's Ray while the body runs: two of them on a machine starve each other until heartbeats are late.

    May be nested in one process.
    """
    global _turns
    if TURN in os.environ:
        yield
        return
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
    with nodes(1, 1) as address:
        yield address


@contextmanager
def nodes(*cores: int) -> Iterator[str]:
    """The address of a cluster with a node for each of `cores`; the test is skipped where ray is not installed."""
    pytest.importorskip("ray", reason="ray is not installed; `pip install 'mayavi-sim[cluster]'` installs it")
    with only_ray(), pytest.MonkeyPatch.context() as patch:
        for name, value in PATIENT.items():
            patch.setenv(name, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's own
            from ray._private import services
            from ray.cluster_utils import Cluster

            patch.setattr(services, "get_node", patiently(services.get_node))
            cluster = Cluster()
        try:
            for each in cores:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    cluster.add_node(
                        num_cpus=each,
                        num_gpus=0,
                        object_store_memory=80 * 2**20,
                        include_dashboard=False,
                        include_log_monitor=False,
                        no_monitor=True,
                    )
            yield cluster.address
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cluster.shutdown()


class SharedRay:
    """One node for tests that train on a Ray but do not ask how it started, which takes longer than they do."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._address: str | None = None

    def address(self) -> str:
        """The address of the node, which is started for the first test."""
        if self._address is None:
            self._address = self._open.enter_context(nodes(2))
        return self._address

    def close(self) -> None:
        """End the node, if there is one."""
        self._open.close()
        self._address = None


SHARED_RAY = SharedRay()
"""That of this process. `tests/conftest.py` ends it after the last test in a file of `RAY_FILES`."""


def patiently(find: Any) -> Any:
    """Let `find`, which raises `RuntimeError` until a node has registered, wait as long as `PATIENCE_S`."""

    def found(*arguments: Any, **options: Any) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return find(*arguments, **options)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    return found
