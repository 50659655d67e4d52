"""Training with RLlib, each in a process of its own: it is the same twice, and goes on exactly where it was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")

from mayavi.rl.models import open_model
from tests.parallel.ray_cluster import only_ray, two_nodes

CHASE = {"env": "chase", "framework": "rllib", "seed": 3, "runners": 0}
SMALL = {"num_envs": 16, "rollout_steps": 16, "minibatch_size": 64, "epochs": 2, "network": [16, 16]}
AAVE = {"env": "aave", "runners": 2}

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def process(hash_seed: str = "random", **asked: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.rl.training.train_process", json.dumps(asked)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)


@pytest.mark.slow(50)
def test_every_algorithm_goes_on_exactly(repository: Path) -> None:
    """In one process of its own, since starting Ray takes longer than all of these trainings."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/rl/rllib/work.py"]
    with only_ray():
        finished = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=600, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "8 passed" in finished.stdout


def last_line(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two nodes, for trainings with two runners."""
    with two_nodes() as address:
        yield address


@pytest.mark.slow(30)
@pytest.mark.parametrize(
    "settings",
    [{}, AAVE, AAVE | {"normalize_observations": True, "normalize_rewards": True}],
    ids=["alone", "two-runners", "two-runners-normalised"],
)
def test_the_same_seed_gives_the_same_weights_and_a_killed_training_ends_with_them(
    tmp_path: Path,
    settings: dict[str, Any],
    request: pytest.FixtureRequest,
    train_process: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Beyond what RLlib's own checkpoints promise: the rows and episodes of its runners are kept with them."""
    config = {**CHASE, **SMALL, "timesteps": 1_024, "checkpoint_every_steps": 256, **settings}
    fresh = not settings  # forks share the seed of hashes, new interpreters do not
    asked = {"config": config, "models": str(tmp_path)}
    asked |= {"ray": request.getfixturevalue("cluster")} if settings else {}
    with only_ray():
        whole = last_line(train_process(fresh=fresh, **asked, run_id="whole"))
        killed = train_process(**asked, run_id="killed", die_at=768)
        assert killed.returncode == -9
        assert open_model("killed", tmp_path).record["status"] == "interrupted"
        resumed = last_line(train_process(fresh=fresh, **asked, resume="killed"))
    assert 512 <= resumed["resumed_from"] < 768
    assert resumed["exact"]
    assert [resumed[key] for key in ("digest", "steps", "episodes")] == [
        whole[key] for key in ("digest", "steps", "episodes")
    ]


def test_a_market_is_trained_alike_whatever_order_sets_have(tmp_path: Path) -> None:
    """Hash seeds 1 and 3 order both the names of the roles and those of the six agents differently."""
    config = {**CHASE, **SMALL, "env": "market", "num_envs": 2, "minibatch_size": 32, "timesteps": 64, "epochs": 2}
    one, other = (
        last_line(process(seed, config=config, models=str(tmp_path), run_id=f"hash-{seed}")) for seed in ("1", "3")
    )
    assert one["digest"] == other["digest"]
