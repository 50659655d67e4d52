"""`--source rpc`: a scenario on a node's world gives the replica's rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mayavi.sim.store import Store
from tests.node.hardhat import Hardhat

pytestmark = [pytest.mark.node, pytest.mark.slow]

SMALL = ("depeg_cascade", "--steps", "3", "--set", "agents.borrowers.count=4", "--set", "prices.WETH.at=1")


def test_a_run_on_a_node_is_the_run_on_the_replica(run_mayavi, ethereum_node: Hardhat, tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    options = ("run", *SMALL, "--seed", "7", "--store", str(store), "--json")
    cache = {"MAYAVI_CACHE_DIR": str(tmp_path / "cache")}
    live = run_mayavi(*options, "--source", "rpc", "--rpc-url", ethereum_node.url, env=cache)
    assert live.returncode == 0, live.stderr
    found, replica = json.loads(live.stdout), json.loads(run_mayavi(*options).stdout)
    assert found["digest"] == replica["digest"]
    record = Store(store).run(found["run_id"])
    assert record.source == "rpc"
    assert ethereum_node.url not in live.stdout + record.scenario_text
    assert {"source: rpc", f"block: {ethereum_node.block_number}"} <= set(record.scenario_text.splitlines())

    mine = tmp_path / "mine.yaml"  # source and block of the file, no option
    mine.write_text(record.scenario_text, encoding="utf-8")
    again = run_mayavi(
        *("run", str(mine), "--seed", "7", "--store", str(store), "--json"),
        env=cache | {"MAYAVI_RPC_URL": ethereum_node.url},
    )
    assert json.loads(again.stdout)["digest"] == replica["digest"]


def test_a_sweep_on_a_node_goes_on_where_it_stopped(run_mayavi, ethereum_node: Hardhat, tmp_path: Path) -> None:
    block = str(ethereum_node.block_number)
    cache = {"MAYAVI_CACHE_DIR": str(tmp_path / "cache")}

    def sweep(seeds: str, *more: str) -> dict[str, object]:
        options = ("--seeds", seeds, "--store", str(tmp_path / "runs.duckdb"), "--json", *more)
        finished = run_mayavi("sweep", *SMALL, *options, env=cache)
        assert finished.returncode == 0, finished.stderr
        found: dict[str, object] = json.loads(finished.stdout)
        return found

    rpc = ("--source", "rpc", "--rpc-url", ethereum_node.url, "--block", block)
    live = sweep("0:2", *rpc, "--jobs", "2")
    again = sweep("0:2", *rpc, "--jobs", "1")
    assert (again["resumed"], again["sweep_id"]) == (2, live["sweep_id"])
    replica = sweep("0:2", "--jobs", "1")
    assert [run["digest"] for run in live["runs"]] == [run["digest"] for run in replica["runs"]]  # type: ignore[attr-defined]
