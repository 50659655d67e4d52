"""`mayavi train --ray`: runners on two nodes of a Ray cluster give the weights that this machine gives alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.parallel.ray_cluster import only_ray, two_nodes

pytestmark = pytest.mark.slow
SMALL = (
    "train", "--env", "aave", "--framework", "rllib", "--timesteps", "600", "--seed", "2", "--set", "runners=2",
    "--set", "num_envs=16", "--set", "rollout_steps=16", "--set", "minibatch_size=64", "--set", "network=[16, 16]",
    "--json",
)  # fmt: skip


def test_the_same_command_on_two_nodes_gives_the_same_weights(run_mayavi, tmp_path: Path) -> None:
    pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    from tests.rl.training.train_process import weights_digest

    with two_nodes() as address:
        spread = run_mayavi(*SMALL, "--models", str(tmp_path), "--ray", address)
        assert spread.returncode == 0, spread.stderr
        many = run_mayavi(*SMALL, "--models", str(tmp_path), "--ray", address, "--set", "runners=3")
        assert many.returncode == 2
        assert "3 runners need as many cores, and the Ray cluster has 2" in many.stderr
    with only_ray():
        alone = run_mayavi(*SMALL, "--models", str(tmp_path))
    assert alone.returncode == 0, alone.stderr
    runs = [json.loads(each.stdout.splitlines()[-1])["run_id"] for each in (spread, alone)]
    nodes = [json.loads((tmp_path / run / "run.json").read_text())["nodes"] for run in runs]
    assert nodes == [2, 1]
    assert len({weights_digest(run, tmp_path) for run in runs}) == 1


def test_without_a_cluster_it_says_how_to_get_one(run_mayavi, tmp_path: Path) -> None:
    pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    by_option = run_mayavi(*SMALL, "--models", str(tmp_path), "--ray", "nowhere")
    by_variable = run_mayavi(*SMALL, "--models", str(tmp_path), env={"RAY_ADDRESS": "nowhere"})
    # Ray alone asks a port at which nobody listens for many minutes.
    unheard = run_mayavi(*SMALL, "--models", str(tmp_path), "--ray", "127.0.0.1:1")
    for finished, where in ((by_option, "nowhere"), (by_variable, "nowhere"), (unheard, "127.0.0.1:1")):
        assert finished.returncode == 1
        assert f"no Ray cluster answers at '{where}'" in finished.stderr
        assert "ray start --head" in finished.stderr
