"""Adapters through an independent node read the same values as from the replica."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.protocols import AaveV3
from tests.network.readings import READINGS
from tests.node.hardhat import Hardhat
from tests.node.replica_on_node import put_on_node

pytestmark = [pytest.mark.node, pytest.mark.slow]

ALICE = "0x00000000000000000000000000000000000A11cE"


@pytest.fixture(scope="module")
def replica() -> Fork:
    """Ethereum's replica, on which Alice owes 1,500 USDC against 1 WETH on Aave."""
    fork = Fork.replica("ethereum")
    alice = AaveV3(fork).account(ALICE)
    fork.deal("WETH", alice.address, 10**18)
    alice.supply("WETH", 10**18)
    alice.borrow("USDC", 1_500 * 10**6)
    return fork


@pytest.fixture(scope="module")
def node(replica: Fork, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hardhat]:
    """Node of chain 1 that holds the replica, at its block and time."""
    first = replica.timestamp - replica.block_number - 60
    running = Hardhat.start(tmp_path_factory.mktemp("ethereum"), chain_id=1, first_timestamp=first)
    try:
        put_on_node(running, replica)
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def remote(node: Hardhat, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fork]:
    fork = Fork.from_rpc(node.url, chain="ethereum", cache_dir=tmp_path_factory.mktemp("cache"))
    yield fork
    fork.close()


@pytest.mark.parametrize("protocol", READINGS)
def test_every_reading_is_the_replica_s(replica: Fork, remote: Fork, protocol: str) -> None:
    assert READINGS[protocol](remote) == READINGS[protocol](replica)


def test_mayavi_position_reads_the_node(run_mayavi, replica: Fork, node: Hardhat, tmp_path: Path) -> None:
    replica.dump_snapshot(tmp_path / "here.snapshot")
    here = run_mayavi("position", ALICE, "--snapshot", str(tmp_path / "here.snapshot"), "--json")
    environment = {"MAYAVI_RPC_URL": node.url, "MAYAVI_CACHE_DIR": str(tmp_path / "cache")}
    there = run_mayavi("position", ALICE, "--rpc", "--block", "latest", "--json", env=environment)
    assert there.returncode == 0, there.stderr
    found = json.loads(there.stdout)
    assert found.pop("source") == "chain"
    assert found == {key: value for key, value in json.loads(here.stdout).items() if key != "source"}
    assert found["positions"][0]["assets"][0]["liquidation_price_e8"] is not None


def test_many_accounts_are_fetched_together(replica: Fork, remote: Fork) -> None:
    accounts = [ALICE, *(number.to_bytes(20, "big") for number in range(1_000, 1_200))]
    before = remote.requests
    found = AaveV3(remote).account_data(accounts)
    assert found[0] == AaveV3(replica).account(ALICE).data()
    assert {found[row].debt_usd_e8 for row in range(1, len(accounts))} == {0}
    assert remote.requests - before < 40, "two hundred accounts in a handful of batches"
