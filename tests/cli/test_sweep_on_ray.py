"""`mayavi sweep --ray`: two nodes of a Ray cluster give the digests that this machine gives alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mayavi.sim.store import Store
from tests.parallel.ray_cluster import two_nodes

SMALL = ("depeg_cascade", "--set", "agents.borrowers.count=6", "--set", "prices.WETH.at=1", "--steps", "4")


@pytest.mark.slow
def test_a_cluster_gives_the_same_digests_and_everything_is_stored_here(run_mayavi, tmp_path: Path) -> None:
    store = tmp_path / "ray.duckdb"
    options = ("sweep", *SMALL, "--seeds", "0:6", "--json")
    with two_nodes() as address:
        finished = run_mayavi(*options, "--store", str(store), "--ray", address)
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout.splitlines()[-1])
    alone = json.loads(run_mayavi(*options, "--store", str(tmp_path / "alone.duckdb"), "--jobs", "1").stdout)
    assert [run["digest"] for run in found["runs"]] == [run["digest"] for run in alone["runs"]]
    assert (found["sweep_id"], found["points"]) == (alone["sweep_id"], alone["points"])
    for run in found["runs"]:
        assert Store(store).digest(run["run_id"]) == run["digest"]
    again = json.loads(run_mayavi(*options, "--store", str(store)).stdout)  # no cluster needed for what is there
    assert again["resumed"] == 6


@pytest.mark.slow
def test_without_a_cluster_it_says_how_to_get_one(run_mayavi, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed; `pip install 'mayavi-sim[cluster]'` installs it")
    options = ("--store", str(tmp_path / "runs.duckdb"), "--ray", "nowhere")
    finished = run_mayavi("sweep", *SMALL, "--seeds", "0:2", *options)
    assert finished.returncode == 1
    assert "no Ray cluster answers at 'nowhere'" in finished.stderr
    assert "ray start --head" in finished.stderr
