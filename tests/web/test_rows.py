"""A run of 100,000 actions: its log holds few rows at a time, and the browser never stalls for long."""

from __future__ import annotations

import pytest

from benchmarks.dashboard import scroll_log
from benchmarks.run_report import ACTIONS, store_run
from benchmarks.service import ServiceProcess
from mayavi.sim.store import Store
from tests.web.visitor import Visitor

pytestmark = pytest.mark.slow(15)
STALL_MS = 5_000.0
"""Far beyond what a person would bear, and beyond what a busy machine causes."""


def test_a_long_log_is_paged_without_a_stall(visitor: Visitor, service: ServiceProcess) -> None:
    store_run(service.store, ACTIONS)
    run_id = Store(service.store).run("latest").run_id
    found = scroll_log(visitor.page, service, run_id, screens=40)
    assert visitor.page.get_by_test_id("action-count").inner_text() == "100,000 actions"
    assert found.rows < 200
    assert "999" in found.last  # the last step
    assert max(found.long_tasks_ms, default=0.0) < STALL_MS
