"""The scanner against a real node: every transaction exact, every interruption survived."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from mayavi.errors import RpcError
from mayavi.replay.history.node import ReplayNode
from mayavi.replay.history.scanner import Scanner
from mayavi.replay.history.store import HistoryStore
from mayavi.replay.history.transaction_filter import TransactionFilter
from tests.evm.rpc.concurrency import CountedAnswers
from tests.node.chain_history import CREATION, ETHER, ChainHistory
from tests.node.editing_proxy import EditingProxy
from tests.node.hardhat import Hardhat
from tests.node.history_scan import scan

pytestmark = [pytest.mark.node, pytest.mark.slow]


def test_every_transaction_of_the_history_is_exact(history: ChainHistory, tmp_path: Path) -> None:
    statuses = {name: history.receipt(name)["status"] for name in history.hashes}
    assert [name for name, status in statuses.items() if status == "0x0"] == ["too much"]
    assert len({history.block_of(name) for name in history.hashes if "of block" in name}) == 1

    report = scan(history.node.url, tmp_path / "history.duckdb", history.first, history.last)
    assert [str(each) for each in report.differences] == []
    totals = report.totals
    assert totals["matched"] == totals["exact_transactions"] == len(history.hashes) == 27
    assert totals["blocks"] == totals["exact_blocks"] == history.last - history.first + 1
    assert totals["executed_blocks"] == totals["blocks"] - 1, "the empty block has nothing to execute"
    assert totals["state_values"] > 500
    assert report.source == "plain reads"

    with duckdb.connect(str(tmp_path / "history.duckdb"), read_only=True) as database:
        rows = database.execute("SELECT hash, success, gas_used, logs, exact FROM replayed_transactions").fetchall()
    stored = {row[0]: row[1:] for row in rows}
    for name, transaction in history.hashes.items():
        receipt = history.receipt(name)
        expected = (receipt["status"] == "0x1", int(receipt["gasUsed"], 16), len(receipt["logs"]), True)
        assert stored[transaction] == expected, name


def test_stored_blocks_are_not_replayed_again(history: ChainHistory, editing: EditingProxy, tmp_path: Path) -> None:
    store = tmp_path / "history.duckdb"
    first = scan(editing.url, store, history.first, history.first + 5)
    whole = scan(editing.url, store, history.first, history.last)
    assert (first.replayed, whole.replayed) == (6, history.last - history.first - 5)
    before = len(editing.requests)
    again = scan(editing.url, store, history.first, history.last)
    assert again.replayed == 0
    assert len(editing.requests) - before == 2, "the node is identified, and the last block's hash checked"
    assert again.totals == whole.totals
    forced = scan(editing.url, store, history.first, history.last, again=True)
    assert forced.replayed == history.last - history.first + 1
    assert forced.totals == whole.totals


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (("UniswapV3.SwapRouter", None, None), {"swap", "first of block"}),
        ((None, "transfer(address,uint256)", None), {"third of block"}),
        ((None, None, "LiquidationCall(address,address,address,uint256,uint256,address,bool)"), {"liquidation"}),
        (("AaveV3.Pool", "0x617ba037", None), {"supply"}),
    ],
)
def test_filters_choose_transactions_and_replay_them_in_their_place(
    history: ChainHistory, tmp_path: Path, chosen: tuple[str | None, str | None, str | None], names: set[str]
) -> None:
    address, selector, topic = chosen
    wanted = TransactionFilter.parse(history.labels.get(address or ""), selector, topic)
    # Uniswap's router is also called by nobody but these: the filter is by sender, target or log.
    report = scan(history.node.url, tmp_path / "filtered.duckdb", history.first, history.last, wanted)
    assert report.exact
    with duckdb.connect(str(tmp_path / "filtered.duckdb"), read_only=True) as database:
        rows = {row[0] for row in database.execute("SELECT hash FROM replayed_transactions").fetchall()}
    assert rows == {history.hashes[name] for name in names}


def test_blocks_of_a_chain_that_was_reorganised_are_replayed_anew(hardhat: Hardhat, tmp_path: Path) -> None:
    sender, receiver = hardhat.rpc("eth_accounts")[5:7]
    moment = hardhat.rpc("evm_snapshot")
    replayed = []
    for value in ("0x5", "0x6"):
        hardhat.rpc("eth_sendTransaction", {"from": sender, "to": receiver, "value": value, "gasPrice": "0x77359400"})
        number = hardhat.block_number
        for _ in range(2):
            with ReplayNode.open(hardhat.url) as node, HistoryStore(tmp_path / "h.duckdb") as database:
                report = Scanner(node, database).run(number, number)
                assert report.exact
                replayed.append((report.replayed, database.done(Scanner(node, database).scan, number, number)[number]))
        assert hardhat.rpc("evm_revert", moment) is True
        moment = hardhat.rpc("evm_snapshot")
    hashes = [each for _, each in replayed]
    assert [count for count, _ in replayed] == [1, 0, 1, 0]
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]


def test_a_budget_of_requests_ends_the_scan_and_it_resumes(history: ChainHistory, tmp_path: Path) -> None:
    store = tmp_path / "h.duckdb"
    with pytest.raises(RpcError, match="the budget of 40 requests") as error:
        scan(history.node.url, store, history.first, history.last, max_requests=40, concurrency=1)
    assert "are stored" in str(error.value.hint)
    report = scan(history.node.url, store, history.first, history.last)
    assert report.exact
    assert report.replayed < history.last - history.first + 1


def test_no_more_requests_at_once_than_asked_for(history: ChainHistory, editing: EditingProxy, tmp_path: Path) -> None:
    editing.answer = counted = CountedAnswers(editing.answer)  # type: ignore[method-assign]
    with ReplayNode.open(editing.url, concurrency=1) as node, HistoryStore(tmp_path / "h.duckdb") as database:
        assert Scanner(node, database, concurrency=2).run(history.first, history.last).exact
    assert counted.most <= 2


def test_blocks_of_other_hard_forks_are_exact(run_mayavi, other_rules: Hardhat, tmp_path: Path) -> None:
    """Chain 1337, whose headers tell the hard fork."""
    node, hardfork = other_rules, other_rules.hardfork
    sender, receiver = node.rpc("eth_accounts")[:2]
    price, first = {"gasPrice": hex(3 * 10**9)}, node.block_number + 1
    node.rpc("eth_sendTransaction", {"from": sender, "to": receiver, "value": "0x5", **price})
    node.rpc("eth_sendTransaction", {"from": sender, "data": "0x" + CREATION, "gas": hex(10**6), **price})
    cases = tmp_path / "cases"
    span = ("--from", str(first), "--to", str(first + 1), "--store", str(tmp_path / "h.duckdb"), "--json")
    done = run_mayavi("replay", "history", "--rpc", node.url, *span)
    blocks = f"{first}:{first + 1}"
    captured = run_mayavi("replay", "capture", "--rpc", node.url, "--block", blocks, "--out", str(cases))
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["exact_transactions"] == 2
    assert ("block rewards" in str(found["notes"])) == (hardfork == "london")
    assert ("system calls" in str(found["notes"])) == (hardfork != "london")
    assert captured.returncode == 0, captured.stderr
    checked = run_mayavi("validate", "blocks", str(cases), "--json")
    assert checked.returncode == 0, checked.stdout
    assert {block["hardfork"] for block in json.loads(checked.stdout)["details"]} == {hardfork}


def test_a_transaction_of_an_impersonated_account_is_named(hardhat: Hardhat, tmp_path: Path) -> None:
    """A development node accepts a transaction that nobody signed."""
    hardhat.set_balance(b"\x77" * 20, ETHER)
    hardhat.send(b"\x78" * 20, b"", sender=b"\x77" * 20, value=1)
    number = hardhat.block_number
    with ReplayNode.open(hardhat.url) as node, HistoryStore(tmp_path / "h.duckdb") as database:
        report = Scanner(node, database).run(number, number)
    (found,) = report.differences
    assert (found.field, found.transaction, found.expected) == ("from", 0, "0x" + "77" * 20)
    assert "by its signature" in found.got
