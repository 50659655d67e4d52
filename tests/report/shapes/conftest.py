"""Results that tests of pages share, each made once: a grid, five trainings, a backtest, an incident."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mayavi.portfolio.backtest.backtest import backtest
from mayavi.portfolio.backtest.document import document_of
from mayavi.sim.store import Store
from tests.portfolio.backtest.worlds import QUICK, making
from tests.report.shapes.stored_runs import lending, store_sweep

SIZES, COUNTS = ("-20%", "-40%"), ("50", "100")
GRID = tuple((f"prices.WETH.size={size}", f"agents.borrowers.count={count}") for size in SIZES for count in COUNTS)
SEEDS = 60
TRAININGS = 5


def losses(point: int, seed: int) -> float:
    """Bad debt of a run of the grid: none at the first point, more at each of the others."""
    return 1_000.0 * point * (1 + seed % 7) if point else 0.0


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with a sweep over two parameters."""
    points = {
        point: {seed: lending(losses(at, seed), 50_000.0 + 10 * seed) for seed in range(SEEDS)}
        for at, point in enumerate(GRID)
    }
    return store_sweep(tmp_path_factory.mktemp("grid") / "runs.duckdb", points)


@pytest.fixture(scope="session")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with five trainings that differ in their seed, each evaluated on the same episodes."""
    pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")
    import tests.rl.chase_env  # noqa: F401  registers the environment
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.evaluation.document import eval_name, write_eval
    from mayavi.rl.evaluation.evaluate import EvaluationSettings
    from mayavi.rl.evaluation.models import evaluate_models
    from mayavi.rl.models import open_model
    from mayavi.rl.training.train import train
    from mayavi.statistics.bootstrap import Bootstrap

    models = tmp_path_factory.mktemp("models")
    told = {"env": "chase", "framework": "sb3", "timesteps": 1_024, "num_envs": 16, "rollout_steps": 16, "epochs": 2,
            "minibatch_size": 64, "learning_rate": 3e-3, "network": [16, 16], "evaluate_every": 256,
            "evaluate_episodes": 24}  # fmt: skip
    settings = EvaluationSettings(episodes=40, bootstrap=Bootstrap(resamples=400))
    for seed in range(TRAININGS):
        trained = train(TrainConfig.of(told, {"seed": seed}), models=models, run_id=f"chase-{seed}")
        model = open_model(trained.path)
        document = evaluate_models([model], None, settings, config={"split": "test"})
        write_eval(document, model.folder.eval_path / eval_name(document))
    return models


@pytest.fixture(scope="session")
def evaluation(trainings: Path) -> Path:
    """The evaluation of the first of the trainings."""
    (file,) = (trainings / "chase-0" / "eval").glob("*.json")
    return file


@pytest.fixture(scope="session")
def drawn() -> dict[str, Any]:
    """The document of a backtest on drawn markets."""
    done = backtest(making(), [], ["equal_weight", "meth_only", "momentum"], replace(QUICK, episodes=24))
    return document_of(done, command="mayavi backtest rwa --simulated --episodes 24", versions={"mayavi": "0"})


@pytest.fixture(scope="session")
def incident(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of a replayed incident with a counterfactual, as `mayavi replay incident --json` prints it."""
    from mayavi.cli.printing.incident import document
    from mayavi.scenarios.incidents.replay import replay_incident

    store = tmp_path_factory.mktemp("incident") / "runs.duckdb"
    change = "aave_v2.USDC.liquidation_bonus=2%"
    report = replay_incident("crv_2022_11", only="recorded", counterfactuals=[change], store=store)
    return json.loads(json.dumps(document(report)))
