"""Runs of a sweep stand on a world that is set up once: their rows are those of runs that set up their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mayavi
from mayavi.scenarios.build import build as building
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.sweep import workers
from mayavi.scenarios.sweep.workers import Prepared
from mayavi.sim.store import Store

SEEDS = [3, 4]
SMALL: dict[str, dict[str, Any]] = {
    "vesting_cliff": {"steps": 3},
    "multi_cohort": {"steps": 3},
    "steth_depeg": {"steps": 16, "overrides": {"agents.stakers.count": 3}},
}


@pytest.mark.slow(0.7)
@pytest.mark.parametrize("name", SMALL)
def test_rows_are_those_of_single_runs(name: str, tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    found = mayavi.sweep(name, seeds=SEEDS, jobs=1, store=store, **SMALL[name])
    alone = [mayavi.run(name, seed=seed, store=tmp_path / "alone.duckdb", **SMALL[name]) for seed in SEEDS]
    assert found.digests == tuple(run.digest for run in alone)
    records = [Store(store).run(run.run_id) for run in found.runs]
    single = [Store(tmp_path / "alone.duckdb").run(run.run_id) for run in alone]
    for column in ("world_digest", "final_world_digest"):
        assert [getattr(each, column) for each in records] == [getattr(each, column) for each in single]


def test_every_scenario_is_set_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    plain = building.set_up
    monkeypatch.setattr(building, "set_up", lambda config, fork: (calls.append(config.steps), plain(config, fork)))
    scenarios = [load_scenario("vesting_cliff", steps=steps) for steps in (2, 3)]
    prepared = Prepared(scenarios, scenarios[0].world().open())
    before = prepared.world.digest()
    forks = [prepared.fork(point) for point in (0, 1, 0, 1, 0)]
    assert calls == [2, 3]
    assert len({fork.digest() for fork in forks}) == 1 != before
    forks[0].set_balance(b"\x01" * 20, 7)
    assert prepared.fork(0).digest() == forks[2].digest()
    assert prepared.world.digest() == before
    monkeypatch.setattr(workers, "MOST_SET_UP", 0)
    alone = Prepared(scenarios, prepared.world)
    assert alone.fork(0).digest() == alone.fork(0).digest() == forks[1].digest()
    assert calls == [2, 3, 2, 2]
