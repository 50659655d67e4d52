"""Single transactions of a node replayed and changed, and requests that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import RpcError, UsageError, WrongChain
from mayavi.replay.history.node import ReplayNode
from tests.node.chain_history import ChainHistory
from tests.node.editing_proxy import EditingProxy
from tests.node.history_scan import scan

pytestmark = [pytest.mark.node, pytest.mark.slow]


def test_a_node_of_another_chain_is_refused(history: ChainHistory) -> None:
    with pytest.raises(WrongChain, match="serves chain 1, not chain 8453"):
        ReplayNode.open(history.node.url, chain="base")


def test_a_block_in_the_future_and_an_empty_range_are_refused(history: ChainHistory, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=f"block {history.last + 9} of chain 1 does not exist yet: .* at block {history.last}"
    ):
        scan(history.node.url, tmp_path / "h.duckdb", history.first, history.last + 9)
    with pytest.raises(UsageError, match="is empty"):
        scan(history.node.url, tmp_path / "h.duckdb", history.last, history.first)
    with pytest.raises(UsageError, match="no parent"):
        scan(history.node.url, tmp_path / "h.duckdb", 0, 3)


def test_a_pruned_node_is_reported_with_what_to_do(
    history: ChainHistory, editing: EditingProxy, tmp_path: Path
) -> None:
    pruned = {"code": -32000, "message": "missing trie node 0123 (path ) state 0x45 is not available"}
    editing.refuses = dict.fromkeys(
        ("eth_getBalance", "eth_getCode", "eth_getStorageAt", "eth_getTransactionCount"), pruned
    )
    with pytest.raises(RpcError, match="missing trie node") as error:
        scan(editing.url, tmp_path / "h.duckdb", history.first, history.last)
    assert "use an archive node" in str(error.value.hint)


def test_a_malformed_receipt_is_an_error_and_no_difference(
    history: ChainHistory, editing: EditingProxy, tmp_path: Path
) -> None:
    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_getTransactionReceipt":
            return {key: value for key, value in result.items() if key != "logs"}
        return result

    editing.edits.append(edit)
    with pytest.raises(RpcError, match="malformed receipt: a receipt has no logs"):
        scan(editing.url, tmp_path / "h.duckdb", history.first, history.last)


def test_an_unknown_transaction_is_named(run_mayavi, history: ChainHistory) -> None:
    done = run_mayavi("replay", "tx", "0x" + "12" * 32, "--rpc", history.node.url)
    assert done.returncode == 2
    assert f"knows no transaction 0x{'12' * 32}" in done.stderr


def test_a_single_transaction_is_replayed_after_those_before_it(run_mayavi, history: ChainHistory) -> None:
    name = history.hashes["fourth of block"]
    done = run_mayavi("replay", "tx", name, "--rpc", history.node.url, "--trace", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["exact"] is True
    assert (found["index"], found["gas_used"]) == (3, int(history.receipt("fourth of block")["gasUsed"], 16))
    assert found["call"]["function"] == "withdraw(uint256)"
    assert "state from plain reads: the node has no prestate tracer" in found["notes"]


def test_a_failed_transaction_is_shown_with_its_decoded_reason(run_mayavi, history: ChainHistory) -> None:
    done = run_mayavi("replay", "tx", history.hashes["too much"], "--rpc", history.node.url, "--trace")
    assert done.returncode == 0, done.stderr
    (status,) = [line for line in done.stdout.splitlines() if line.startswith("status")]
    assert "failed: 36 COLLATERAL_CANNOT_COVER_NEW_BORROW" in status
    assert "status, gas and 0 logs equal the chain's" in done.stdout
    calls = done.stdout.partition("\ncalls\n")[2].splitlines()
    assert calls[0].startswith("CALL AaveV3.Pool.borrow(asset: USDC, amount: 90,000,000,000, ")
    assert "✗ 36 COLLATERAL_CANNOT_COVER_NEW_BORROW" in calls[0]


def test_a_price_can_be_changed_before_a_liquidation(run_mayavi, history: ChainHistory) -> None:
    name = history.hashes["liquidation"]
    change = ("--what-if", "price.Chainlink.ETH/USD=2600")
    done = run_mayavi("replay", "tx", name, "--rpc", history.node.url, *change, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["success"]
    tried = found["what_if"]
    assert not tried["outcome"]["success"]
    assert "HEALTH_FACTOR_NOT_BELOW_THRESHOLD" in tried["outcome"]["reason"]
    assert tried["differences"][0]["what"] == "status"


def test_a_parameter_can_be_changed_before_a_liquidation(run_mayavi, history: ChainHistory) -> None:
    """Half the bonus, set by the market's own admin: the liquidator gets less collateral."""
    setter = (
        "call.AaveV3.PoolConfigurator=configureReserveAsCollateral(address,uint256,uint256,uint256)"
        f" {history.labels['WETH']} 8050 8300 10250 from {history.labels['AaveV3.Admin']}"
    )
    name = history.hashes["liquidation"]
    done = run_mayavi("replay", "tx", name, "--rpc", history.node.url, "--what-if", setter, "--json")
    assert done.returncode == 0, done.stderr
    tried = json.loads(done.stdout)["what_if"]
    assert tried["outcome"]["success"], tried["outcome"]["reason"]
    liquidator = history.accounts[1].lower()
    (gain,) = [
        each
        for each in tried["differences"]
        if each.get("account", "").lower() == liquidator and each.get("symbol") == "WETH"
    ]
    assert 0 < int(gain["changed"]) < int(gain["original"])
    # A tenth of the bonus is the protocol's: of 5 % the liquidator keeps 4.5 %, of 2.5 % she keeps 2.25 %.
    assert int(gain["changed"]) / int(gain["original"]) == pytest.approx(1.0225 / 1.045, rel=1e-9)
