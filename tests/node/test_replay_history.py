"""The scanner against a real node: every transaction exact, every lie named, every interruption survived."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mayavi.errors import RpcError, UsageError, WrongChain
from mayavi.replay.history import scanner
from mayavi.replay.history.node import ReplayNode
from mayavi.replay.history.scanner import HistoryReport, Scanner
from mayavi.replay.history.store import HistoryStore
from mayavi.replay.history.transaction_filter import TransactionFilter
from tests.node.chain_history import CREATION, ETHER, ChainHistory, start_history
from tests.node.editing_proxy import EditingProxy, editing_proxy
from tests.node.hardhat import Hardhat

pytestmark = [pytest.mark.node, pytest.mark.slow]


@pytest.fixture
def proxy(history: ChainHistory) -> Iterator[EditingProxy]:
    with editing_proxy(history.node, history.answers) as running:
        yield running


def scan(
    url: str, store: Path, first: int, last: int, chosen: TransactionFilter | None = None, **options: Any
) -> HistoryReport:
    again = options.pop("again", False)
    with ReplayNode.open(url, chain="ethereum", **options) as node, HistoryStore(store) as database:
        return Scanner(node, database, chosen).run(first, last, again=again)


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


def test_stored_blocks_are_not_replayed_again(history: ChainHistory, proxy: EditingProxy, tmp_path: Path) -> None:
    store = tmp_path / "history.duckdb"
    first = scan(proxy.url, store, history.first, history.first + 5)
    whole = scan(proxy.url, store, history.first, history.last)
    assert (first.replayed, whole.replayed) == (6, history.last - history.first - 5)
    before = len(proxy.requests)
    again = scan(proxy.url, store, history.first, history.last)
    assert again.replayed == 0
    assert len(proxy.requests) - before == 2, "the node is identified, and the last block's hash checked"
    assert again.totals == whole.totals
    forced = scan(proxy.url, store, history.first, history.last, again=True)
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


def flip(text: str, at: int = -1) -> str:
    digits = list(text)
    digits[at] = "1" if digits[at] != "1" else "2"
    return "".join(digits)


def flipped(*path: str | int) -> Callable[[dict[str, Any]], None]:
    """Return a function that changes the last digit of the text at `path`."""

    def change(receipt: dict[str, Any]) -> None:
        place: Any = receipt
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = flip(place[path[-1]])

    return change


ALTERED: dict[str, tuple[tuple[str | int, ...], str]] = {
    "gas": (("gasUsed",), "gas used"),
    "log data": (("logs", 0, "data"), "log 0 data"),
    "topic": (("logs", 1, "topics", 1), "log 1 topics"),
    "emitter": (("logs", 2, "address"), "log 2 address"),
    "bloom": (("logsBloom",), "logsBloom"),
    "cumulative gas": (("cumulativeGasUsed",), "cumulativeGasUsed"),
    "price": (("effectiveGasPrice",), "effectiveGasPrice"),
    "sender": (("from",), "from"),
    "log index": (("logs", 1, "logIndex"), "log 1 logIndex"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_one_altered_byte_of_a_receipt_is_named_with_its_transaction(
    run_mayavi, history: ChainHistory, proxy: EditingProxy, tmp_path: Path, name: str
) -> None:
    """In the whole history for one field, and in the block alone for the others."""
    path, field = ALTERED[name]
    target, block = history.hashes["first of block"], history.block_of("first of block")
    first, last = (history.first, history.last) if name == "gas" else (block, block)
    replayed = sum(first <= history.block_of(each) <= last for each in history.hashes)

    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"] != "eth_getTransactionReceipt" or call["params"][0] != target:
            return result
        altered = deepcopy(result)
        flipped(*path)(altered)
        assert altered != result
        return altered

    proxy.edits.append(edit)
    span = ("--from", str(first), "--to", str(last), "--store", str(tmp_path / "h.duckdb"))
    done = run_mayavi("replay", "history", "--rpc", proxy.url, *span)
    assert done.returncode == 1, done.stderr
    assert f"block {block}, transaction 0 ({target}): {field}: expected" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"differs: block {block}, transaction 0 ({target}): {field}: ")
    assert replayed > 3
    assert f"{replayed - 1} of {replayed} exact" in done.stdout


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all texts in a JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))


def test_no_field_of_a_receipt_can_be_altered_unseen(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path
) -> None:
    receipt, block = history.receipt("first of block"), history.block_of("first of block")
    paths = list(leaves(receipt))
    assert len(paths) > 30
    altered: dict[str, Any] = {}

    def edit(call: dict[str, Any], result: Any) -> Any:
        wanted = call["method"] == "eth_getTransactionReceipt" and call["params"][0] == receipt["transactionHash"]
        return altered["receipt"] if wanted else result

    proxy.edits.append(edit)
    for path in paths:
        altered["receipt"] = deepcopy(receipt)
        flipped(*path)(altered["receipt"])
        (found,) = scan(proxy.url, tmp_path / "h.duckdb", block, block, again=True).differences
        assert found.transaction == 0, path
        named = next(part for part in reversed(path) if isinstance(part, str))
        shown = {"gasUsed": "gas used", "status": "status", "transactionHash": "hash"}.get(named, named)
        assert shown.lower() in found.field.lower(), path
        if path[0] == "logs":
            assert f"log {path[1]} " in found.field, path


def test_a_lie_about_the_state_after_a_block_is_named(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path
) -> None:
    """The node's answers for one balance after the block differ from what the transactions make of it."""
    block = history.node.rpc("eth_getBlockByNumber", hex(history.block_of("third of block")), False)
    holder = history.accounts[4].lower()

    def edit(call: dict[str, Any], result: Any) -> Any:
        after = call["method"] == "eth_getBalance" and call["params"][1] == {"blockHash": block["hash"]}
        return hex(int(result, 16) + 1) if after and call["params"][0] == holder else result

    proxy.edits.append(edit)
    report = scan(proxy.url, tmp_path / "h.duckdb", history.first, history.last)
    found = report.differences[0]
    assert found.block == int(block["number"], 16)
    assert found.transaction_hash == history.hashes["fourth of block"], "the last that changed it"
    assert found.field.lower() == f"balance of {holder}"
    assert int(found.expected) == int(found.got) + 1


def test_a_wrong_value_before_a_block_shows_in_a_receipt_or_the_state(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path
) -> None:
    parent = history.node.rpc("eth_getBlockByNumber", hex(history.block_of("swap") - 1), False)["hash"]
    pool = history.labels["UniswapV3.WETH/USDC.500"].lower()

    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_getStorageAt" and call["params"][0] == pool and call["params"][1] == f"0x{4:064x}":
            return hex(int(result, 16) + 10**12) if call["params"][2] == {"blockHash": parent} else result
        return result

    proxy.edits.append(edit)
    report = scan(proxy.url, tmp_path / "h.duckdb", history.first, history.last)
    assert report.differences[0].transaction_hash == history.hashes["swap"]


def test_a_killed_node_stops_the_scan_with_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "CHUNK", 4)
    made = start_history(tmp_path)

    def kill(done: int, _total: int) -> None:
        if done == 8:
            made.node.process.kill()
            made.node.process.wait()

    try:
        with ReplayNode.open(made.node.url) as node, HistoryStore(tmp_path / "h.duckdb") as database:
            scanning = Scanner(node, database)
            with pytest.raises(RpcError, match="cannot be reached") as error:
                scanning.run(made.first, made.last, progress=kill)
            assert sorted(database.done(scanning.scan, made.first, made.last)) == list(
                range(made.first, made.first + 8)
            )
    finally:
        made.node.stop()
    assert "8 of 21 blocks are stored; the same command replays the rest" in str(error.value.hint)


def test_a_scan_that_lost_its_node_resumes_where_it_ended(
    run_mayavi, history: ChainHistory, proxy: EditingProxy, tmp_path: Path
) -> None:
    span = ("--from", str(history.first), "--to", str(history.last), "--store", str(tmp_path / "h.duckdb"))
    proxy.gone_after = 40
    done = run_mayavi("replay", "history", "--rpc", proxy.url, *span, "--concurrency", "1", "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout.splitlines()[-1])
    assert "cannot be reached" in answer["error"]
    assert "Traceback" not in done.stderr
    stored = int(answer["hint"].rpartition("\n")[2].split()[0])
    assert 0 < stored < 21

    done = run_mayavi("replay", "history", "--rpc", history.node.url, *span, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["stored_before"], found["replayed_now"], found["exact"]) == (stored, 21 - stored, True)
    assert found["exact_transactions"] == 27


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


def test_no_more_requests_at_once_than_asked_for(history: ChainHistory, proxy: EditingProxy, tmp_path: Path) -> None:
    import threading

    now, most = 0, 0
    lock = threading.Lock()
    answer = proxy.answer

    def counted(question: Any) -> Any:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        try:
            return answer(question)
        finally:
            with lock:
                now -= 1

    proxy.answer = counted  # type: ignore[method-assign]
    with ReplayNode.open(proxy.url, concurrency=1) as node, HistoryStore(tmp_path / "h.duckdb") as database:
        assert Scanner(node, database, concurrency=2).run(history.first, history.last).exact
    assert most <= 2


@pytest.mark.parametrize("hardfork", ["london", "cancun", "prague"])
def test_blocks_of_other_hard_forks_are_exact(run_mayavi, tmp_path: Path, hardfork: str) -> None:
    """Chain 31337, whose headers tell the hard fork."""
    node = Hardhat.start(tmp_path, hardfork=hardfork)
    try:
        sender, receiver = node.rpc("eth_accounts")[:2]
        price = {"gasPrice": hex(3 * 10**9)}
        node.rpc("eth_sendTransaction", {"from": sender, "to": receiver, "value": "0x5", **price})
        node.rpc("eth_sendTransaction", {"from": sender, "data": "0x" + CREATION, "gas": hex(10**6), **price})
        cases = tmp_path / "cases"
        span = ("--from", "1", "--to", "2", "--store", str(tmp_path / "h.duckdb"), "--json")
        done = run_mayavi("replay", "history", "--rpc", node.url, *span)
        captured = run_mayavi("replay", "capture", "--rpc", node.url, "--block", "1:2", "--out", str(cases))
    finally:
        node.stop()
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


# -- bad input --------------------------------------------------------------------------------------------------------


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


def test_a_pruned_node_is_reported_with_what_to_do(history: ChainHistory, proxy: EditingProxy, tmp_path: Path) -> None:
    pruned = {"code": -32000, "message": "missing trie node 0123 (path ) state 0x45 is not available"}
    proxy.refuses = dict.fromkeys(
        ("eth_getBalance", "eth_getCode", "eth_getStorageAt", "eth_getTransactionCount"), pruned
    )
    with pytest.raises(RpcError, match="missing trie node") as error:
        scan(proxy.url, tmp_path / "h.duckdb", history.first, history.last)
    assert "use an archive node" in str(error.value.hint)


def test_a_malformed_receipt_is_an_error_and_no_difference(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path
) -> None:
    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_getTransactionReceipt":
            return {key: value for key, value in result.items() if key != "logs"}
        return result

    proxy.edits.append(edit)
    with pytest.raises(RpcError, match="malformed receipt: a receipt has no logs"):
        scan(proxy.url, tmp_path / "h.duckdb", history.first, history.last)


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
