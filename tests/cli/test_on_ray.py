"""`mayavi sweep --ray` and `mayavi train --ray`: two nodes of a Ray cluster give what this machine gives alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mayavi.rl.models import open_model
from mayavi.sim.store import Store
from tests.parallel.ray_cluster import two_nodes

pytestmark = pytest.mark.slow
SWEEP = ("depeg_cascade", "--set", "agents.borrowers.count=6", "--set", "prices.WETH.at=1", "--steps", "4")
CONFIG: dict[str, object] = {
    "env": "aave", "framework": "rllib", "timesteps": 1_024, "seed": 2, "runners": 2, "num_envs": 16, "epochs": 2,
    "rollout_steps": 16, "minibatch_size": 64, "network": [16, 16], "checkpoint_every_steps": 256,
    "normalize_observations": True, "normalize_rewards": True,
}  # fmt: skip
TRAIN = ("train", "--env", "aave", "--framework", "rllib", "--json")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two nodes."""
    with two_nodes() as address:
        yield address


@pytest.mark.slow(20)
def test_a_sweep_on_a_cluster_gives_the_same_digests_and_everything_is_stored_here(
    run_mayavi, cluster: str, tmp_path: Path
) -> None:
    store = tmp_path / "ray.duckdb"
    options = ("sweep", *SWEEP, "--seeds", "0:6", "--json")
    finished = run_mayavi(*options, "--store", str(store), "--ray", cluster)
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout.splitlines()[-1])
    alone = json.loads(run_mayavi(*options, "--store", str(tmp_path / "alone.duckdb"), "--jobs", "1").stdout)
    assert [run["digest"] for run in found["runs"]] == [run["digest"] for run in alone["runs"]]
    assert (found["sweep_id"], found["points"]) == (alone["sweep_id"], alone["points"])
    for run in found["runs"]:
        assert Store(store).digest(run["run_id"]) == run["digest"]
    again = json.loads(run_mayavi(*options, "--store", str(store)).stdout)  # no cluster needed for what is there
    assert again["resumed"] == 6


def test_a_sweep_without_a_cluster_says_how_to_get_one(run_mayavi, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed; `pip install 'mayavi-sim[cluster]'` installs it")
    options = ("--store", str(tmp_path / "runs.duckdb"), "--ray", "nowhere")
    finished = run_mayavi("sweep", *SWEEP, "--seeds", "0:2", *options)
    assert finished.returncode == 1
    assert "no Ray cluster answers at 'nowhere'" in finished.stderr
    assert "ray start --head" in finished.stderr


@pytest.mark.slow(40)
def test_a_training_killed_on_two_nodes_ends_with_the_weights_of_one_on_this_machine(
    run_mayavi, train_process: Callable[..., subprocess.CompletedProcess[str]], cluster: str, tmp_path: Path
) -> None:
    pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    from tests.rl.training.train_process import weights_digest

    settings = [word for key, value in CONFIG.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    on_cluster = ("--models", str(tmp_path), "--ray", cluster)
    many = run_mayavi(*TRAIN, *on_cluster, *settings, "--set", "runners=3")
    assert many.returncode == 2
    assert "3 runners need as many cores, and the Ray cluster has 2" in many.stderr
    killed = train_process(config=CONFIG, models=str(tmp_path), run_id="killed", ray=cluster, die_at=768)
    assert killed.returncode == -9
    assert open_model("killed", tmp_path).record["status"] == "interrupted"
    resumed = run_mayavi("train", "--resume", "killed", "--json", *on_cluster)
    assert resumed.returncode == 0, resumed.stderr
    alone = run_mayavi(*TRAIN, *settings, "--models", str(tmp_path))
    assert alone.returncode == 0, alone.stderr
    found, whole = (json.loads(each.stdout.splitlines()[-1]) for each in (resumed, alone))
    assert 512 <= found["resumed_from"] < 768
    assert found["exact"]
    assert (found["steps"], found["episodes"]) == (whole["steps"], whole["episodes"])
    records = [open_model(run, tmp_path).record for run in ("killed", whole["run_id"])]
    assert [each["nodes"] for each in records] == [2, 1]
    assert len({weights_digest(run, tmp_path) for run in ("killed", whole["run_id"])}) == 1


def test_a_training_without_a_cluster_says_how_to_get_one(run_mayavi, tmp_path: Path) -> None:
    pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    by_option = run_mayavi(*TRAIN, "--models", str(tmp_path), "--ray", "nowhere")
    by_variable = run_mayavi(*TRAIN, "--models", str(tmp_path), env={"RAY_ADDRESS": "nowhere"})
    # Ray alone asks a port at which nobody listens for many minutes.
    unheard = run_mayavi(*TRAIN, "--models", str(tmp_path), "--ray", "127.0.0.1:1")
    for finished, where in ((by_option, "nowhere"), (by_variable, "nowhere"), (unheard, "127.0.0.1:1")):
        assert finished.returncode == 1
        assert f"no Ray cluster answers at '{where}'" in finished.stderr
        assert "ray start --head" in finished.stderr
