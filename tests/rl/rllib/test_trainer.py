"""Training with RLlib, each in a process of its own: it is the same twice, and goes on exactly where it was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")

from mayavi.rl.models import open_model
from tests.parallel.ray_cluster import only_ray

CHASE = {"env": "chase", "framework": "rllib", "seed": 3, "runners": 0}
SMALL = {"num_envs": 16, "rollout_steps": 16, "minibatch_size": 64, "network": [16, 16]}


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with only_ray():
        yield


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def process(hash_seed: str = "random", **asked: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.rl.training.train_process", json.dumps(asked)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)


def told(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("settings", "die_at"),
    [
        ({}, 1_300),
        ({"env": "aave", "runners": 2, "timesteps": 1_200}, 1_000),
        (
            {
                "env": "aave",
                "runners": 2,
                "timesteps": 1_200,
                "normalize_observations": True,
                "normalize_rewards": True,
            },
            1_000,
        ),
    ],
    ids=["alone", "two-runners", "two-runners-normalised"],
)
def test_the_same_seed_gives_the_same_weights_and_a_killed_training_ends_with_them(
    tmp_path: Path, settings: dict[str, Any], die_at: int
) -> None:
    """Beyond what RLlib's own checkpoints promise: the rows and episodes of its runners are kept with them."""
    config = {**CHASE, **SMALL, "timesteps": 2_000, "checkpoint_every_steps": 500, **settings}
    whole = told(process(config=config, models=str(tmp_path), run_id="whole"))
    killed = process(config=config, models=str(tmp_path), run_id="killed", die_at=die_at)
    assert killed.returncode == -9
    assert open_model("killed", tmp_path).record["status"] == "interrupted"
    resumed = told(process(config=config, models=str(tmp_path), resume="killed"))
    assert 0 < resumed["resumed_from"] < die_at
    assert resumed["exact"]
    assert [resumed[key] for key in ("digest", "steps", "episodes")] == [
        whole[key] for key in ("digest", "steps", "episodes")
    ]


def test_a_market_is_trained_alike_whatever_order_sets_have(tmp_path: Path) -> None:
    """Hash seeds 1 and 3 order both the names of the roles and those of the six agents differently."""
    config = {**CHASE, **SMALL, "env": "market", "num_envs": 2, "minibatch_size": 32, "timesteps": 64, "epochs": 2}
    one, other = (
        told(process(seed, config=config, models=str(tmp_path), run_id=f"hash-{seed}")) for seed in ("1", "3")
    )
    assert one["digest"] == other["digest"]


def test_every_algorithm_goes_on_exactly(repository: Path) -> None:
    """In one process of its own, since starting Ray takes longer than all of these trainings."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/rl/rllib/work.py"]
    finished = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=600, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "8 passed" in finished.stdout
