"""The record of the CRV short from a node on loopback: the same calls as from the file, and refusals with a reason."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import UsageError, WrongChain
from mayavi.scenarios.incidents import crv_2022
from mayavi.scenarios.incidents.cases import record_of_file, record_of_node
from mayavi.scenarios.incidents.replay import replay_incident
from tests.evm.rpc.scripted_node import ScriptedNode, invented_block, scripted_node


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with scripted_node(height=1) as node:
        node.methods["eth_blockNumber"] = lambda: hex(20_000_000)
        yield node


def serve(node: ScriptedNode, cases: Path) -> list[dict[str, Any]]:
    """Let `node` serve the recorded events, not in order, with the blocks they are in; return its questions."""
    with (cases / crv_2022.FILE).open(newline="") as file:
        rows = list(csv.DictReader(file))
    times = {int(row["block"]): int(datetime.fromisoformat(row["datetime"]).timestamp()) for row in rows}

    def word(value: int) -> str:
        return f"{value:064x}"

    logs = [
        {
            "blockNumber": hex(int(row["block"])),
            "logIndex": hex(number),
            "transactionHash": f"0x{number:064x}",
            "data": "0x"
            + word(int(row["debt_to_cover_crv_raw"]))
            + word(int(row["liquidated_collateral_usdc_raw"]))
            + word(int(row["liquidator"], 16))
            + word(row["receive_atoken"] == "true"),
        }
        for number, row in enumerate(rows)
    ]
    asked: list[dict[str, Any]] = []

    def get_logs(question: dict[str, Any]) -> list[dict[str, str]]:
        asked.append(question)
        return logs[::-1]

    node.methods["eth_getLogs"] = get_logs
    node.methods["eth_getBlockByNumber"] = lambda number, _: invented_block(
        int(number, 16), timestamp=hex(times[int(number, 16)])
    )
    return asked


def test_a_node_gives_the_same_record_as_the_file(node: ScriptedNode, cases: Path) -> None:
    asked = serve(node, cases)
    from_node = record_of_node("crv_calls", node.url)
    from_file = record_of_file("crv_calls", cases)
    assert from_file is not None
    assert from_node.overrides == from_file.overrides
    assert from_node.what == "385 recorded calls of blocks 16,025,860 to 16,027,236"
    (question,) = asked
    assert question["address"] == crv_2022.POOL
    assert (int(question["fromBlock"], 16), int(question["toBlock"], 16)) == (16_025_860, 16_027_236)
    # topic of LiquidationCall(address,address,address,uint256,uint256,address,bool)
    assert question["topics"][0] == "0xe413a321e8681d831f4dbccbca790d2952b56f977908e45be37335533e005286"
    assert question["topics"][3].endswith(crv_2022.ACCOUNT[2:])


def test_a_node_that_limits_the_blocks_of_a_question_is_asked_for_fewer(node: ScriptedNode, cases: Path) -> None:
    serve(node, cases)
    whole = node.methods["eth_getLogs"]
    asked: list[int] = []

    def limited(question: dict[str, Any]) -> Any:
        first, last = (int(question[name], 16) for name in ("fromBlock", "toBlock"))
        asked.append(last - first + 1)
        if last - first >= 500:
            raise ValueError("the range of blocks is too large")
        return [log for log in whole(question) if first <= int(log["blockNumber"], 16) <= last]

    node.methods["eth_getLogs"] = limited
    from_file = record_of_file("crv_calls", cases)
    assert from_file is not None
    assert record_of_node("crv_calls", node.url).overrides == from_file.overrides
    assert asked == [1377, 688, 344, 344, 344, 344, 1]


@pytest.mark.slow(8)
def test_an_incident_runs_on_the_record_of_a_node(node: ScriptedNode, cases: Path, tmp_path: Path) -> None:
    serve(node, cases)
    report = replay_incident("crv_2022_11", only="recorded", rpc_url=node.url, store=tmp_path / "runs.duckdb")
    assert report.exact
    assert report.runs["recorded"].figures[0].simulated == 385


def test_a_node_of_another_chain_is_refused(node: ScriptedNode) -> None:
    node.chain_id = 137
    with pytest.raises(WrongChain, match="the node serves chain 137"):
        record_of_node("crv_calls", node.url)


def test_a_node_that_is_behind_is_refused(node: ScriptedNode) -> None:
    node.methods["eth_blockNumber"] = lambda: hex(16_000_000)
    with pytest.raises(UsageError, match="the node is at block 16,000,000"):
        record_of_node("crv_calls", node.url)


def test_a_node_without_these_logs_is_refused(node: ScriptedNode) -> None:
    node.methods["eth_getLogs"] = lambda question: []
    with pytest.raises(UsageError, match="has no liquidation of 0x57e0") as found:
        record_of_node("crv_calls", node.url)
    assert "archive node" in (found.value.hint or "")
    del node.methods["eth_getLogs"]
    with pytest.raises(UsageError, match="the node gives no logs of blocks 16,025,860"):
        record_of_node("crv_calls", node.url)


def test_an_incident_without_a_record_on_chain_says_so(node: ScriptedNode, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'eigen_2025_10' has no record that a node could give"):
        replay_incident("eigen_2025_10", rpc_url=node.url, store=tmp_path / "runs.duckdb")
