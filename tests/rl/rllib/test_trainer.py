"""Training with RLlib, each in a process of its own: it is the same twice, and goes on exactly where it was killed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")

from mayavi.rl.models import open_model
from tests.command_server import CommandServer
from tests.parallel.ray_cluster import only_ray

MARKET = {
    "env": "market", "framework": "rllib", "seed": 3, "runners": 0, "num_envs": 2, "rollout_steps": 16,
    "minibatch_size": 32, "epochs": 2, "network": [16, 16], "timesteps": 128, "checkpoint_every_steps": 32,
}  # fmt: skip
OTHER_HASHES = "3"
"""Hash seed that orders the names of the roles and those of the six agents otherwise than that of forked trainings."""

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.slow(25)
@pytest.mark.usefixtures("shared_ray")
def test_every_algorithm_goes_on_exactly(repository: Path, learning_server: CommandServer) -> None:
    """In a process of its own: it joins Ray once, and its frameworks are imported already."""
    with only_ray():
        finished = learning_server.run(
            ["-q", "-n", "0", "tests/rl/rllib/work.py"], os.environ, repository, module="pytest"
        )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "7 passed" in finished.stdout


def last_line(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return found


@pytest.mark.slow(15)
@pytest.mark.usefixtures("shared_ray")
def test_a_killed_market_ends_with_the_weights_of_one_that_was_not_whatever_order_sets_have(
    tmp_path: Path, train_process: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """Beyond what RLlib's own checkpoints promise: the rows and episodes of its runners are kept with them."""
    asked = {"config": MARKET, "models": str(tmp_path)}
    with only_ray():
        whole = last_line(train_process(**asked, run_id="whole"))
        killed = train_process(**asked, run_id="killed", die_at=96)
        assert killed.returncode == -9
        assert open_model("killed", tmp_path).record["status"] == "interrupted"
        resumed = last_line(train_process(hash_seed=OTHER_HASHES, **asked, resume="killed"))
    assert 32 <= resumed["resumed_from"] < 96
    assert resumed["exact"]
    assert not resumed["compiler"]
    assert [resumed[key] for key in ("digest", "steps", "episodes")] == [
        whole[key] for key in ("digest", "steps", "episodes")
    ]
