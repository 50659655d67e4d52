"""`mayavi snapshot prove` and proofs in `mayavi snapshot info`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork
from tests.evm.rpc.proving_node import ProvingNode, proving_node
from tests.evm.rpc.scripted_node import ALICE, POOL


@pytest.fixture
def node() -> Iterator[ProvingNode]:
    with proving_node() as running:
        yield running


@pytest.fixture
def file(node: ProvingNode, tmp_path: Path) -> Path:
    return written(node, tmp_path, "market.snapshot")


def written(node: ProvingNode, folder: Path, name: str) -> Path:
    fork = Fork.from_rpc(node.url, 90, cache_dir=folder / f"cache of {name}")
    fork.balance(ALICE)
    for slot in range(3):
        fork.storage(POOL, slot)
    fork.dump_snapshot(folder / name)
    fork.close()
    return folder / name


def test_proofs_are_fetched_then_used_without_a_node(run_mayavi, node: ProvingNode, file: Path) -> None:
    finished = run_mayavi("snapshot", "prove", str(file), "--rpc-url", node.url)
    assert finished.returncode == 0, finished.stderr
    assert "2 accounts and 3 slots" in finished.stdout
    assert "requests to the node" in finished.stdout
    assert node.url not in finished.stdout + finished.stderr
    node.close()
    again = run_mayavi("snapshot", "prove", str(file), "--json")
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert (report["proven"], report["requests"], report["differences"]) == (True, 0, [])
    info = json.loads(run_mayavi("snapshot", "info", str(file), "--json").stdout)
    assert "bytes of trie nodes" in info["proof"]
    assert "proof" not in info["metadata"]


def test_a_node_that_lies_about_one_slot_is_caught(run_mayavi, node: ProvingNode, tmp_path: Path) -> None:
    node.storage["0x" + POOL.hex(), 1] = 5
    file = written(node, tmp_path, "lie.snapshot")
    finished = run_mayavi("snapshot", "prove", str(file), "--rpc-url", node.url)
    assert finished.returncode == 1
    assert "1 values are not proven" in finished.stdout
    assert "slot 0x1: 0x5 is stated, 0x3e9 is proven" in finished.stdout
    assert json.loads(run_mayavi("snapshot", "info", str(file), "--json").stdout)["proof"] is None


def test_misuse_ends_with_2(run_mayavi, node: ProvingNode, file: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ([str(tmp_path / "absent")], "there is no snapshot at"),
        ([str(file), "--offline"], "has no proofs"),
        ([str(file), "--offline", "--rpc-url", node.url], "--offline and --rpc-url exclude each other"),
    ):
        finished = run_mayavi("snapshot", "prove", *arguments)
        assert (finished.returncode, finished.stdout) == (2, "")
        assert message in finished.stderr
    replica = Fork.empty()
    replica.dump_snapshot(tmp_path / "empty.snapshot")
    finished = run_mayavi("snapshot", "prove", str(tmp_path / "empty.snapshot"))
    assert finished.returncode == 2
    assert "is of no block of a real chain" in finished.stderr


def test_only_a_node_proves_what_is_warmed(run_mayavi) -> None:
    finished = run_mayavi("snapshot", "warm", "--env", "aave", "--source", "replica", "--prove")
    assert finished.returncode == 2
    assert "has no node that proves it" in finished.stderr
