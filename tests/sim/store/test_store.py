"""A run goes in and comes out as it was."""

from __future__ import annotations

from pathlib import Path

import duckdb

from mayavi.sim.store import Store
from tests.sim.store.sample_runs import KPIS, actions_of, snapshots_of, store_run


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "data" / "runs.duckdb"
    info = store_run(path)
    store = Store(path)
    run = store.run(info.run_id)
    assert (run.status, run.seed, run.scenario_text, run.versions) == ("finished", 7, info.scenario_text, info.versions)
    assert abs(run.started_at.timestamp() - info.started_at) < 1e-5
    assert list(store.actions(info.run_id)) == [row for step in range(4) for row in actions_of(step)]
    assert list(store.snapshots(info.run_id)) == [row for step in range(4) for row in snapshots_of(step)]
    assert tuple(store.kpis(info.run_id)) == KPIS
    assert store.digest(info.run_id) == run.digest
    with duckdb.connect(path, read_only=True) as shell:
        assert shell.execute("select count(*) from actions").fetchone() == (12,)
