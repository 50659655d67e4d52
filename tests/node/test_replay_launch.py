"""A launch recorded from a real node runs in `launch_replay`, trade by trade."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import UsageError
from mayavi.evm.abi.interface import Function
from mayavi.evm.hashing import create_address
from mayavi.replay.history.launch import record_launch
from mayavi.replay.history.node import ReplayNode
from mayavi.scenarios.models.agents.launch_record import read_launch
from mayavi.worlds.artifacts import ArtifactStore
from tests.node.chain_history import ETHER, ChainHistory
from tests.node.hardhat import Hardhat
from tests.node.replica_on_node import put_on_node

pytestmark = [pytest.mark.node, pytest.mark.slow]

FEE, SPACING = 3000, 60
MAXIMUM = 2**256 - 1
PRICE = Decimal("0.0004")
"""Ether for a token at the start."""
_CREATE = "createAndInitializePoolIfNecessary(address,address,uint24,uint160)"
_MINT = "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"
_SWAP = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))"


@dataclass
class LaunchOnNode:
    """Node with a token launched on it."""

    chain: ChainHistory
    token: bytes
    pool: str
    last: int

    def swap(self, name: str, sender: int, amount: int, *, buy: bool) -> None:
        weth = bytes.fromhex(self.chain.labels["WETH"][2:])
        sold, bought = (weth, self.token) if buy else (self.token, weth)
        params = (sold, bought, FEE, self.chain.address(sender), 2**40, amount, 0, 0)
        self.chain.send(name, sender, "UniswapV3.SwapRouter", Function.parse(_SWAP).encode(params))


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchOnNode]:
    """Account 0 launches NOVA with two positions; 1 and 2 trade; 0 sells tokens of its own."""
    replica = Fork.replica("ethereum")
    folder = tmp_path_factory.mktemp("launch")
    node = Hardhat.start(folder, chain_id=1, first_timestamp=replica.timestamp - replica.block_number - 100_000)
    try:
        block = put_on_node(node, replica)
        chain = ChainHistory(node, dict(replica.labels), block + 1, node.rpc("eth_accounts"))
        yield _launched(chain)
    finally:
        node.stop()


def _launched(chain: ChainHistory) -> LaunchOnNode:
    weth, owner = bytes.fromhex(chain.labels["WETH"][2:]), chain.address(0)
    artifact = ArtifactStore().get("Token")
    nonce = int(chain.node.rpc("eth_getTransactionCount", chain.accounts[0], "latest"), 16)
    token = create_address(owner, nonce)
    chain.send("token", 0, None, artifact.initcode(["Nova", "NOVA", 18, "1", owner]))
    chain.labels["NOVA"] = "0x" + token.hex()
    chain.call("supply", 0, "NOVA", "mint(address,uint256)", owner, 10_000_000 * ETHER)
    for sender in (0, 1, 2):
        chain.send("wrap", sender, "WETH", bytes.fromhex("d0e30db0"), value=1_000 * ETHER)
        for spender in ("UniswapV3.PositionManager", "UniswapV3.SwapRouter"):
            for name in ("WETH", "NOVA"):
                chain.call("approve", sender, name, "approve(address,uint256)", spender, MAXIMUM)
    first, second = sorted((token, weth))
    raw = PRICE if token < weth else 1 / PRICE
    root = int(raw.sqrt() * 2**96)
    chain.call("pool", 0, "UniswapV3.PositionManager", _CREATE, first, second, FEE, root, gas=8_000_000)
    factory = Function.parse("getPool(address,address,uint24)(address)")
    found = chain.node.call(bytes.fromhex(chain.labels["UniswapV3.Factory"][2:]), factory.encode(token, weth, FEE))
    made = LaunchOnNode(chain, token, "0x" + found[12:].hex(), 0)
    edge = 887_272 // SPACING * SPACING
    tick = (-78_245 if token < weth else 78_245) // SPACING * SPACING
    for low, high in ((-edge, edge), (tick - 50 * SPACING, tick + 50 * SPACING)):
        amounts = (400_000 * ETHER, 160 * ETHER) if token < weth else (160 * ETHER, 400_000 * ETHER)
        params = (first, second, FEE, low, high, *amounts, 0, 0, owner, 2**40)
        chain.call("liquidity", 0, "UniswapV3.PositionManager", _MINT, params)
    made.swap("first buy", 1, 3 * ETHER, buy=True)
    made.swap("second buy", 2, 10 * ETHER + 12_345, buy=True)
    made.swap("sale", 1, 2_000 * ETHER, buy=False)
    made.swap("dump", 0, 50_000 * ETHER, buy=False)
    made.swap("last buy", 2, ETHER // 7, buy=True)
    made.last = chain.node.block_number
    assert {chain.receipt(name)["status"] for name in chain.hashes} == {"0x1"}
    return made


def test_a_recorded_launch_runs_in_launch_replay_without_a_difference(
    run_mayavi, launch: LaunchOnNode, tmp_path: Path
) -> None:
    out = tmp_path / "nova.csv"
    span = ("--from", str(launch.chain.first), "--to", str(launch.last))
    recorded = run_mayavi(
        "replay", "launch", "--rpc", launch.chain.node.url, "--pool", launch.pool, *span, "--out", str(out), "--json"
    )
    assert recorded.returncode == 0, recorded.stderr
    summary = json.loads(recorded.stdout)
    assert (summary["name"], summary["buys"], summary["sells"]) == (f"NOVA/WETH.{FEE}", 3, 2)
    assert summary["left_out"] == {}

    record = read_launch(out.read_text())
    assert [entry.event for entry in record.trades] == ["buy", "buy", "sell", "sell", "buy"]
    assert abs(record.price / PRICE - 1) < Decimal("1e-9")
    assert len(record.liquidity) == 2
    assert record.liquidity[0].low is None
    assert record.liquidity[1].low is not None
    seller = launch.chain.accounts[0]
    assert {account.lower(): amount for account, amount in record.holdings.items()} == {seller: Decimal(50_000)}

    done = run_mayavi("run", str(tmp_path / "nova.yaml"), "--store", str(tmp_path / "runs.duckdb"), "--json")
    assert done.returncode == 0, done.stderr
    kpis = json.loads(done.stdout.splitlines()[-1])["kpis"]
    assert kpis["trades_on_record"]["value"] == "5"
    assert kpis["largest_difference_from_record"]["value"] == "0"
    assert kpis["failed"]["value"] == "0"


def test_the_record_holds_what_the_chain_paid(launch: LaunchOnNode) -> None:
    with ReplayNode.open(launch.chain.node.url) as node:
        found = record_launch(node, launch.pool, launch.chain.first, launch.last)
    bought = found.trades[0]
    transfers = [
        int(log["data"], 16)
        for log in launch.chain.receipt("first buy")["logs"]
        if log["address"].lower() == "0x" + launch.token.hex() and len(log["topics"]) == 3
    ]
    assert bought.quote == Decimal(3)
    assert bought.token is not None
    assert bought.token.scaleb(18) == transfers[0]


def test_a_range_after_the_creation_and_another_contract_are_refused(launch: LaunchOnNode) -> None:
    with ReplayNode.open(launch.chain.node.url) as node:
        with pytest.raises(UsageError, match="is not created between blocks") as error:
            record_launch(node, launch.pool, launch.last, launch.last)
        assert "begin at or before the block" in str(error.value.hint)
        with pytest.raises(UsageError, match="is not a Uniswap V3 pool"):
            record_launch(node, launch.chain.labels["WETH"], launch.chain.first, launch.last)
        with pytest.raises(UsageError, match="is not a token of the pool"):
            record_launch(node, launch.pool, launch.chain.first, launch.last, token=launch.chain.labels["USDC"])


def test_liquidity_that_changes_after_the_first_trade_is_counted(launch: LaunchOnNode) -> None:
    chain = launch.chain
    moment = chain.node.rpc("evm_snapshot")
    try:
        first, second = sorted((launch.token, bytes.fromhex(chain.labels["WETH"][2:])))
        edge = 887_272 // SPACING * SPACING
        params = (first, second, FEE, -edge, edge, 10 * ETHER, 10 * ETHER, 0, 0, chain.address(0), 2**40)
        chain.call("later", 0, "UniswapV3.PositionManager", _MINT, params)
        with ReplayNode.open(chain.node.url) as node:
            found = record_launch(node, launch.pool, chain.first, chain.node.block_number)
        assert found.left_out == {"later additions of liquidity": 1}
        assert "# left out: 1 later additions of liquidity" in found.csv()
    finally:
        chain.node.rpc("evm_revert", moment)
        del chain.hashes["later"]
