"""`mayavi replay incident --rpc` executes the recorded transactions in the real blocks of a node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import RpcError
from mayavi.evm.abi.interface import Function
from mayavi.scenarios.incidents import crv_2022
from mayavi.scenarios.incidents.real_blocks import BlockSettings
from mayavi.scenarios.incidents.replay import ComparedFigure, IncidentReport, replay_incident
from tests.node.editing_proxy import EditingProxy, editing_proxy
from tests.node.liquidation_history import LiquidationHistory, start_liquidations

pytestmark = [pytest.mark.node, pytest.mark.slow(2)]

_SCENARIO = """
name: small_short
chain: ethereum
steps: 5
step_blocks: 1
aave_v2:
  USDC: {price: 1, ltv: 87%, liquidation_threshold: 89%, liquidation_bonus: 4.5%}
  CRV: {price: 0.6, ltv: 55%, liquidation_threshold: 61%, liquidation_bonus: 8%, supplied: 3_000_000}
prices:
  CRV: {process: step, at: 0, size: 5%}
agents:
  positions:
    kind: positions
    protocol: aave_v2
    data: |
      account,asset,collateral,debt
      short,USDC,900000,
      short,CRV,,1300000
  liquidators:
    kind: recorded_liquidations
    protocol: aave_v2
    data: |
      time,liquidator,borrower,collateral,debt,repaid,seized
      12,all,positions-short,USDC,CRV,1,
ordering: fifo
"""
_INCIDENT = """
name: small_short
title: a small short
date: 2022-11-22
protocol: Aave V2
summary: three liquidations
facts: [{{what: a fact, value: "1", source: this test}}]
runs:
  recorded:
    title: the recorded calls
    scenario: small.yaml
    record: crv_calls
    figures:
      - {{asset: CRV, name: liquidations, recorded: 3, unit: "", source: node, input: true,
         measure: {{actions: liquidate}}}}
      - {{asset: CRV, name: debt repaid, recorded: {repaid}, unit: CRV, source: node,
         measure: {{actions: liquidate, sum: covered, decimals: 18}}}}
      - {{asset: USDC, name: collateral seized, recorded: {seized}, unit: USDC, source: node, within: 0,
         measure: {{actions: liquidate, sum: seized, decimals: 6}}}}
      - {{asset: USDC, name: largest difference of one call, recorded: 0, unit: "%", source: node,
         measure: {{actions: liquidate, sum: seized, differs_from: recorded_seized}}}}
      - {{asset: USDC, name: collateral left, recorded: 0, unit: USDC, source: node, of_account: collateral,
         measure: {{figure: AaveV2.USDC supplied}}}}
      - {{asset: CRV, name: debt left, recorded: 0, unit: CRV, source: node, of_account: debt,
         measure: {{figure: AaveV2.CRV borrowed}}}}
"""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiquidationHistory]:
    made = start_liquidations(tmp_path_factory.mktemp("liquidations"))
    yield made
    made.node.stop()


@pytest.fixture
def proxy(history: LiquidationHistory) -> Iterator[EditingProxy]:
    with editing_proxy(history.node) as running:
        yield running


@pytest.fixture(scope="module")
def incident(history: LiquidationHistory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An incident whose recorded figures are the sums of the node's receipts."""
    folder = tmp_path_factory.mktemp("incident") / "small_short"
    folder.mkdir()
    events = [history.event(name) for name in ("first", "second", "third")]
    repaid = Decimal(sum(each for each, _ in events)).scaleb(-18)
    seized = Decimal(sum(each for _, each in events)).scaleb(-6)
    (folder / "incident.yaml").write_text(_INCIDENT.format(repaid=repaid, seized=seized))
    (folder / "small.yaml").write_text(_SCENARIO)
    return folder


def replayed(incident: Path, url: str, store: Path, **settings: Any) -> IncidentReport:
    blocks = BlockSettings(store / "history.duckdb", **settings)
    return replay_incident(incident, rpc_url=url, blocks=blocks, store=store / "runs.duckdb")


def figures(report: IncidentReport) -> dict[str, ComparedFigure]:
    return {each.expected.name: each for each in report.runs["recorded"].figures}


def balance(history: LiquidationHistory, token: str, holder: str) -> int:
    data = Function.parse("balanceOf(address)").encode(holder)
    call = {"to": history.chain.labels[token], "data": "0x" + data.hex()}
    return int(history.node.rpc("eth_call", call, hex(history.chain.last)), 16)


def test_recorded_replayed_and_simulated_figures_stand_side_by_side(
    history: LiquidationHistory, incident: Path, tmp_path: Path
) -> None:
    report = replayed(incident, history.node.url, tmp_path)
    assert report.real_blocks is not None
    assert [str(each) for each in report.real_blocks.report.differences] == []
    totals = report.real_blocks.report.totals
    assert (totals["blocks"], totals["matched"], totals["exact_transactions"]) == (2, 3, 3)
    assert totals["state_values"] > 50
    found = figures(report)
    for name in ("liquidations", "debt repaid", "collateral seized"):
        assert found[name].replayed == found[name].simulated == found[name].expected.recorded, name
    assert found["largest difference of one call"].replayed == 0
    debt = balance(history, "AaveV2.variableDebtCRV", crv_2022.ACCOUNT)
    assert found["debt left"].replayed == Decimal(debt).scaleb(-18)
    collateral = balance(history, "AaveV2.aUSDC", crv_2022.ACCOUNT)
    assert found["collateral left"].replayed == Decimal(collateral).scaleb(-6)
    assert report.exact


def test_an_interrupted_replay_continues_where_it_ended(
    history: LiquidationHistory, proxy: EditingProxy, incident: Path, tmp_path: Path
) -> None:
    whole = replayed(incident, history.node.url, tmp_path / "whole").real_blocks
    assert whole is not None
    with pytest.raises(RpcError) as stopped:
        replayed(incident, proxy.url, tmp_path, max_requests=whole.report.requests // 2)
    assert "blocks are stored; the same command replays the rest" in str(stopped.value.hint)
    seen: list[tuple[int, int]] = []
    again = replayed(incident, proxy.url, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert again.real_blocks is not None
    assert again.real_blocks.report.totals == whole.report.totals
    assert seen[-1] == (2, 2)
    third = replayed(incident, proxy.url, tmp_path)
    assert third.real_blocks is not None
    assert third.real_blocks.report.replayed == 0
    assert figures(third)["collateral seized"].replayed == figures(again)["collateral seized"].replayed


def test_a_receipt_that_the_replay_contradicts_is_named_by_the_command(
    run_mayavi, history: LiquidationHistory, proxy: EditingProxy, incident: Path, tmp_path: Path
) -> None:
    wrong = history.chain.hashes["third"]

    def edit(call: dict[str, Any], result: Any) -> Any:
        listed = result if call["method"] == "eth_getBlockReceipts" else [result]
        for each in listed if call["method"] in ("eth_getBlockReceipts", "eth_getTransactionReceipt") else ():
            if each["transactionHash"] == wrong:
                each["gasUsed"] = hex(int(each["gasUsed"], 16) + 1)
        return result

    options = ("--store", str(tmp_path / "runs.duckdb"), "--history", str(tmp_path / "history.duckdb"))
    done = run_mayavi("replay", "incident", f"{incident}/", "--rpc", history.node.url, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    header = next(line for line in done.stdout.splitlines() if "simulated" in line)
    assert header.split()[:5] == ["asset", "figure", "recorded", "replayed", "simulated"]
    assert "3 of 3 transactions in 2 of 2 blocks are exact: status, gas, logs, roots" in done.stdout

    proxy.edits.append(edit)
    other = (*options[:3], str(tmp_path / "other.duckdb"))
    done = run_mayavi("replay", "incident", f"{incident}/", "--rpc", proxy.url, *other, "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    (difference,) = document["real_blocks"]["first_differences"]
    assert (difference["transaction_hash"], difference["field"]) == (wrong, "gas used")
    assert document["exact"] is False
    seized = next(each for each in document["runs"]["recorded"]["figures"] if each["name"] == "collateral seized")
    assert seized["replayed"] == seized["recorded"]


def test_options_for_real_blocks_need_a_node(run_mayavi, incident: Path) -> None:
    done = run_mayavi("replay", "incident", f"{incident}/", "--record-only")
    assert (done.returncode, "name a node with --rpc URL" in done.stderr) == (2, True)
