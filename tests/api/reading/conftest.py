"""A service over a store with real runs of several scenarios, a sweep, a training and an evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from mayavi.scenarios.run.run import run
from mayavi.scenarios.sweep.sweep import sweep
from mayavi.sim.store import Store
from tests.api.live_server import LiveServer
from tests.rl.training_runs.stored import stored_training

SMALL = {
    "aave_borrower": (None, ()),
    "compound_v3_borrower": (24, ()),
    "curve_depeg": (
        4,
        (
            "agents.holders.count=12",
            "agents.savers.count=4",
            "agents.loopers.count=2",
            "prices.USDC={process: step, at: 1, size: -12%}",
        ),
    ),
    "depeg_cascade": (5, ("agents.borrowers.count=30",)),
    "launch_replay": (6, ()),
    "vesting_cliff": (None, ()),
}


@dataclass
class Served:
    """A running service and what its store holds."""

    server: LiveServer
    client: httpx.Client
    store: Store
    runs: dict[str, str]
    """Run id by scenario."""
    sweep_id: str
    models: Path


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve one store to all tests that only read."""
    folder = tmp_path_factory.mktemp("reading")
    store = Store(folder / "runs.duckdb")
    runs = {
        name: run(name, seed=3, steps=steps, overrides=overrides, store=store.path).run_id
        for name, (steps, overrides) in SMALL.items()
    }
    swept = sweep("aave_borrower", seeds="0:3", steps=2, jobs=1, store=store.path)
    models = folder / "models"
    evaluated_training(models)
    with LiveServer(folder, models=models, requests_per_minute=1_000_000) as server:
        yield Served(server, server.client(server.read), store, runs, swept.sweep_id, models)


def evaluated_training(models: Path) -> None:
    """Store a training with an evaluation of real episodes."""
    import tests.rl.chase_env  # noqa: F401  registers the environment
    from mayavi.rl.evaluation.document import write_eval
    from mayavi.rl.evaluation.models import evaluate_baselines
    from mayavi.rl.evaluation.settings import EvaluationSettings
    from mayavi.statistics.bootstrap import Bootstrap

    folder = stored_training(models, "20260314-092653000-trained0")
    settings = EvaluationSettings(episodes=12, bootstrap=Bootstrap(resamples=100))
    write_eval(evaluate_baselines("chase", None, settings), folder.eval_path / "test-12-deterministic-0a1b2c3d.json")


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """A client with a read-only key."""
    return served.client
