"""`mayavi sweep --ray` and `mayavi train --ray`: two nodes of a Ray cluster give what this machine gives alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mayavi.rl.models import open_model
from mayavi.sim.store import Store
from tests.api.queue.service_process import KEY, ServiceProcess
from tests.own_code import SAVER, OwnCode
from tests.parallel.ray_cluster import two_nodes

pytestmark = pytest.mark.slow
SWEEP = ("depeg_cascade", "--set", "agents.borrowers.count=6", "--set", "prices.WETH.at=1", "--steps", "4")
CONFIG: dict[str, object] = {
    "env": "aave", "framework": "rllib", "timesteps": 1_024, "seed": 2, "runners": 2, "num_envs": 16, "epochs": 2,
    "rollout_steps": 16, "minibatch_size": 64, "network": [16, 16], "checkpoint_every_steps": 256,
    "normalize_observations": True, "normalize_rewards": True,
}  # fmt: skip
TRAIN = ("train", "--env", "aave", "--framework", "rllib", "--no-eval", "--json")


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


@pytest.mark.slow(20)
def test_a_sweep_on_a_cluster_takes_the_code_of_its_own_agents_with_it(
    start_mayavi, cluster: str, own_code: OwnCode
) -> None:
    own_code.write(saver=SAVER)
    own_code.scenario()
    (own_code.folder / "elsewhere").mkdir()
    options = ("sweep", "../saving.yaml", "--seeds", "0:3", "--json")
    found = []
    for store, how in (("ray", ("--ray", cluster)), ("alone", ("--jobs", "1"))):
        place = ("--store", str(own_code.folder / f"{store}.duckdb"))
        finished = start_mayavi(*options, *place, *how, cwd=own_code.folder / "elsewhere")
        assert finished.returncode == 0, finished.stderr
        found.append(json.loads(finished.stdout.splitlines()[-1]))
    assert [run["digest"] for run in found[0]["runs"]] == [run["digest"] for run in found[1]["runs"]]
    assert found[0]["sweep_id"] == found[1]["sweep_id"]
    stored = Store(own_code.folder / "ray.duckdb").run(found[0]["runs"][0]["run_id"])
    assert stored.versions["agent saver:Saver"].startswith("saver, sha256 ")


@pytest.mark.slow(20)
def test_a_sweep_of_a_service_with_a_cluster_gives_the_same_digests(run_mayavi, cluster: str, tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path, "--workers", cluster)
    try:
        options = ("sweep", *SWEEP, "--seeds", "0:4", "--json")
        remote = run_mayavi(*options, "--remote", service.url, env={"MAYAVI_API_KEY": KEY})
        assert remote.returncode == 0, remote.stderr
        alone = json.loads(run_mayavi(*options, "--store", str(tmp_path / "alone.duckdb"), "--jobs", "1").stdout)
        found = json.loads(remote.stdout.splitlines()[-1])
        assert found["points"] == alone["points"]
        assert {run["digest"] for run in found["runs"]} == {run["digest"] for run in alone["runs"]}
    finally:
        service.stop()


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
    resumed = run_mayavi("train", "--resume", "killed", "--no-eval", "--json", *on_cluster)
    assert resumed.returncode == 0, resumed.stderr
    alone = run_mayavi(*TRAIN, *settings, "--models", str(tmp_path))
    assert alone.returncode == 0, alone.stderr
    found, whole = (json.loads(each.stdout.splitlines()[-1]) for each in (resumed, alone))
    assert 512 <= found["resumed_from"] < 768
    assert found["exact"]
    assert (found["steps"], found["episodes"]) == (whole["steps"], whole["episodes"])
    records = [open_model(run, tmp_path).record for run in ("killed", whole["run_id"])]
    assert [each["nodes"] for each in records] == [2, 1]
    assert records[1]["specialise"]["calls"] >= whole["steps"]  # of runners in other processes
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


@pytest.mark.slow(30)
def test_the_trainings_of_a_grid_run_on_the_nodes_of_a_cluster(run_mayavi, cluster: str, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")
    settings = {"num_envs": 4, "rollout_steps": 8, "minibatch_size": 16, "epochs": 1, "network": [8], "horizon": 24}
    settings |= {"evaluate_every": None, "evaluate_episodes": 24}
    options = (
        "train",
        "--env",
        "rwa",
        "--framework",
        "sb3",
        "--timesteps",
        "64",
        "--seeds",
        "0:2",
        "--no-eval",
        "--json",
        *(word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value)}")),
    )
    done = run_mayavi(*options, "--models", str(tmp_path), "--ray", cluster)
    assert done.returncode == 0, done.stderr
    (point,) = json.loads(done.stdout)["points"]
    for each in point["trainings"]:
        assert open_model(each["run_id"], tmp_path).record["steps"] == 64
    gone = run_mayavi(*options, "--models", str(tmp_path / "other"), "--ray", "nowhere")
    assert gone.returncode == 1
    assert "no Ray cluster answers at 'nowhere'" in gone.stderr
