"""Seeds of a sweep run side by side: rows, figures and errors are those of runs one after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mayavi
from mayavi.agents.lending.borrower import BorrowerAgent
from mayavi.agents.oracle.price_path import PricePathAgent
from mayavi.errors import SimulationError
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.run import side_by_side
from mayavi.scenarios.run.side_by_side import may_run_side_by_side
from mayavi.scenarios.sweep import workers
from mayavi.scenarios.sweep.plan import Task
from mayavi.sim.side_by_side import run_side_by_side
from mayavi.sim.store import Store

SCENARIOS: dict[str, dict[str, Any]] = {
    "aave_borrower": {},
    "spark_borrower": {"steps": 3},
    "compound_v3_borrower": {"steps": 21},
    "depeg_cascade": {"steps": 3, "overrides": {"agents.borrowers.count": 12, "watch.every": 2}},
    "multi_cohort": {"steps": 2},
}
SEEDS = range(5, 10)


@pytest.fixture
def one_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all tasks to the worker at once, which takes two for many."""
    monkeypatch.setattr(workers, "Portions", Everything)
    monkeypatch.setattr(side_by_side, "MANY_RUNS", 2)
    monkeypatch.setattr(side_by_side, "MOST_AGENTS", 1_000)


class Everything:
    def __init__(self, tasks: list[Task], jobs: int) -> None:
        del jobs
        self._portions = iter([tasks])

    def __iter__(self) -> Any:
        return self._portions

    def took(self, tasks: int, seconds: float) -> None:
        pass


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "may_run_side_by_side", lambda runs, scenario, fork: False)


TABLES = {
    "actions": "* EXCLUDE run_id",
    "market_snapshots": "* EXCLUDE run_id",
    "kpis": "* EXCLUDE run_id",
    "accounts": "* EXCLUDE run_id",
    "runs": "status, error, digest, final_world_digest, steps_done, action_count, raised_count, snapshot_count",
}


def contents(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return what a store has of each run, by table and seed."""
    found = {}
    for table, columns in TABLES.items():
        query = f"SELECT seed, {columns} FROM {table} JOIN (SELECT run_id, seed FROM runs) USING (run_id)"
        if table == "runs":
            query = f"SELECT seed, {columns} FROM runs"
        found[table] = sorted(Store(store).sql(query).fetchall(), key=repr)
    return found


@pytest.mark.slow(3)
@pytest.mark.usefixtures("one_portion")
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_store_has_what_runs_one_by_one_leave(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = mayavi.sweep(name, seeds=SEEDS, jobs=1, store=tmp_path / "together.duckdb", **SCENARIOS[name])
    one_by_one(monkeypatch)
    alone = mayavi.sweep(name, seeds=SEEDS, jobs=1, store=tmp_path / "alone.duckdb", **SCENARIOS[name])
    assert together.digests == alone.digests
    assert [run.kpis.rows() for run in together.runs] == [run.kpis.rows() for run in alone.runs]
    assert contents(tmp_path / "together.duckdb") == contents(tmp_path / "alone.duckdb")


@pytest.mark.usefixtures("one_portion")
def test_a_portion_runs_side_by_side_and_a_single_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counting(runners: Any) -> Any:
        sizes.append(len(runners))
        return run_side_by_side(runners)

    monkeypatch.setattr(side_by_side, "run_side_by_side", counting)
    options: dict[str, Any] = {"jobs": 1, "store": tmp_path / "runs.duckdb", "steps": 2}
    first = mayavi.sweep("aave_borrower", seeds=[1], **options)
    assert sizes == []
    swept = mayavi.sweep("aave_borrower", seeds=range(1, 8), **options)
    assert sizes == [7]
    assert swept.digests[0] == first.digests[0]
    assert swept.digests[6] == mayavi.run("aave_borrower", seed=7, steps=2, store=tmp_path / "other.duckdb").digest


def failing(monkeypatch: pytest.MonkeyPatch, agent: type[Any], error: Callable[[], BaseException], seed: int) -> None:
    """Let an agent of the run with `seed` raise in its second step."""
    plain = agent.step

    def step(self: Any, world: Any, step_idx: int) -> Any:
        if (world.seed, step_idx) == (seed, 1):
            raise error()
        return plain(self, world, step_idx)

    monkeypatch.setattr(agent, "step", step)


@pytest.mark.usefixtures("one_portion")
@pytest.mark.parametrize("halts", [False, True])
def test_an_agent_that_raises(halts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, BorrowerAgent, lambda: ValueError("out of ideas"), seed=6)
    options: dict[str, Any] = {"jobs": 1, "steps": 3, "overrides": {"halt_on_exception": halts}}

    def swept(store: Path) -> str:
        try:
            mayavi.sweep("aave_borrower", seeds=SEEDS, store=store, **options)
        except SimulationError as error:
            return error.message
        return ""

    together = swept(tmp_path / "together.duckdb")
    one_by_one(monkeypatch)
    assert swept(tmp_path / "alone.duckdb") == together
    assert ("ended as halted" in together) is halts
    found = contents(tmp_path / "together.duckdb")
    assert found == contents(tmp_path / "alone.duckdb")
    assert [row[-2] for row in found["runs"]] == [0, 1, 0, 0, 0] or halts


@pytest.mark.usefixtures("one_portion")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_ends_a_sweep_leaves_the_runs_before(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose set-up breaks has not begun; runs after it have not either."""
    plain = PricePathAgent.prepare

    def prepare(self: Any, world: Any) -> None:
        if world.seed == 7:
            raise error
        plain(self, world)

    monkeypatch.setattr(PricePathAgent, "prepare", prepare)

    def swept(store: Path) -> Any:
        with pytest.raises(error):
            mayavi.sweep("aave_borrower", seeds=SEEDS, jobs=1, steps=2, store=store)
        return [(row[0], row[1]) for row in contents(store)["runs"]]

    together = swept(tmp_path / "together.duckdb")
    one_by_one(monkeypatch)
    alone = swept(tmp_path / "alone.duckdb")
    if error is MemoryError:
        assert together == alone == [(5, "finished"), (6, "finished"), (7, "interrupted")]
    else:  # nobody waits for runs that an interrupt has overtaken
        assert together == [(5, "interrupted")]


@pytest.mark.usefixtures("one_portion")
def test_counts_of_what_was_replayed_stand_with_the_first_run(tmp_path: Path) -> None:
    found = mayavi.sweep("aave_borrower", seeds=SEEDS, jobs=1, steps=2, store=tmp_path / "runs.duckdb")
    assert found.runs[0].specialise["mode"] == "on"
    assert not any(run.specialise for run in found.runs[1:])


def test_many_agents_code_of_others_and_worlds_of_a_node_run_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = load_scenario("aave_borrower")
    fork = scenario.world().open()
    assert may_run_side_by_side(16, scenario, fork)
    assert not may_run_side_by_side(15, scenario, fork)
    few, many = (load_scenario("depeg_cascade", overrides=[f"agents.borrowers.count={count}"]) for count in (5, 6))
    assert (may_run_side_by_side(16, few, fork), may_run_side_by_side(16, many, fork)) == (True, False)
    monkeypatch.setattr(type(fork), "fetches_missing", True)
    assert not may_run_side_by_side(16, scenario, fork)
    monkeypatch.setattr(type(fork), "fetches_missing", False)
    monkeypatch.setattr(side_by_side, "plugin_versions", lambda config: {"own": "1"})
    assert not may_run_side_by_side(16, scenario, fork)
