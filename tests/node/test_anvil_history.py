"""The scanner and captures against anvil: a real prestate tracer, and a chain that outlives its node."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mayavi.replay.history.capture import capture
from mayavi.replay.history.node import ReplayNode
from tests.evm.rpc.faulty_server import hang_up
from tests.node.chain_history import ChainHistory, SavedHistory, save_history
from tests.node.editing_proxy import EditingProxy, editing_proxy

pytestmark = [pytest.mark.node, pytest.mark.slow]
BLOCKS, TRANSACTIONS = 21, 27


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SavedHistory]:
    """History under Prague's rules; no node runs."""
    made = save_history(tmp_path_factory.mktemp("history"), "prague")
    yield made
    made.file.unlink()  # some 70 MB


@pytest.fixture(scope="module")
def history(saved: SavedHistory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChainHistory]:
    """Node with the history, started from its file."""
    running = saved.start(tmp_path_factory.mktemp("node"))
    yield running
    running.node.stop()


def last_line(stdout: str) -> Any:
    return json.loads(stdout.splitlines()[-1])


def scan_options(history: ChainHistory, store: Path) -> tuple[str, ...]:
    return ("--from", str(history.first), "--to", str(history.last), "--store", str(store), "--json")


def rows(store: Path) -> dict[str, tuple[Any, ...]]:
    """Stored transactions by hash; every hash is stored once."""
    with duckdb.connect(str(store), read_only=True) as database:
        found = database.execute("SELECT hash, success, gas_used, logs, exact FROM replayed_transactions").fetchall()
    assert len({row[0] for row in found}) == len(found)
    return {row[0]: row[1:] for row in found}


def expected_rows(history: ChainHistory) -> dict[str, tuple[Any, ...]]:
    receipts = map(history.receipt, history.hashes)
    return {
        each["transactionHash"]: (each["status"] == "0x1", int(each["gasUsed"], 16), len(each["logs"]), True)
        for each in receipts
    }


def test_every_transaction_is_exact_by_the_nodes_own_tracer(run_mayavi, history: ChainHistory, tmp_path: Path) -> None:
    assert history.receipt("too much")["status"] == "0x0"
    assert len({history.block_of(name) for name in history.hashes if "of block" in name}) == 1
    with editing_proxy(history.node) as proxy:
        options = scan_options(history, tmp_path / "h.duckdb")
        done = run_mayavi("replay", "history", "--rpc", proxy.url, *options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert proxy.asked("debug_traceBlockByHash") + proxy.asked("debug_traceBlockByNumber") >= BLOCKS - 1
    found = last_line(done.stdout)
    assert (found["exact"], found["blocks"], found["exact_transactions"]) == (True, BLOCKS, TRANSACTIONS)
    assert found["state_from"] == "prestate tracer"
    assert found["state_values"] > 500
    assert rows(tmp_path / "h.duckdb") == expected_rows(history)


class KillingProxy(EditingProxy):
    """Proxy that kills its node at a request."""

    kills_at = 30

    def answer(self, question: Any) -> Any:
        if len(self.requests) == self.kills_at:
            self.node.kill()
        if len(self.requests) >= self.kills_at:
            self.faults.append(hang_up)
            return None
        return super().answer(question)


def test_a_scan_goes_on_when_its_killed_node_has_been_started_again(
    run_mayavi, saved: SavedHistory, tmp_path: Path
) -> None:
    """No transaction is replayed twice, and none is left out."""
    store = tmp_path / "h.duckdb"
    first = saved.start(tmp_path / "first")
    options = scan_options(first, store)
    proxy = KillingProxy(first.node)
    try:
        done = run_mayavi("replay", "history", "--rpc", proxy.url, *options, "--concurrency", "1")
    finally:
        proxy.close()
        first.node.stop()
    assert first.node.process.returncode == -9
    assert done.returncode == 1
    error = last_line(done.stdout)
    assert "cannot be reached" in error["error"]
    assert "Traceback" not in done.stderr
    stored = int(error["hint"].rpartition("\n")[2].split()[0])
    assert error["hint"].endswith(f"{stored} of {BLOCKS} blocks are stored; the same command replays the rest")
    assert 0 < stored < BLOCKS
    before = rows(store)
    assert 0 < len(before) < TRANSACTIONS

    again = saved.start(tmp_path / "again", port=first.node.port)
    try:
        with editing_proxy(again.node) as proxy:
            done = run_mayavi("replay", "history", "--rpc", proxy.url, *options)
            traced = [
                call["params"][0]
                for request in proxy.requests
                for call in request
                if call["method"] == "debug_traceBlockByHash"
            ]
        blocks = {again.receipt(name)["blockHash"] for name in again.hashes}
        replayed = {again.receipt(name)["blockHash"] for name in again.hashes if again.hashes[name] in before}
        assert done.returncode == 0, done.stdout + done.stderr
        assert rows(store) == expected_rows(again)
    finally:
        again.node.stop()
    assert sorted(traced) == sorted(blocks - replayed)
    found = last_line(done.stdout)
    assert (found["stored_before"], found["replayed_now"]) == (stored, BLOCKS - stored)
    assert (found["exact"], found["exact_transactions"]) == (True, TRANSACTIONS)


def test_captured_blocks_validate_with_the_node_killed(run_mayavi, saved: SavedHistory, tmp_path: Path) -> None:
    made = saved.start(tmp_path / "node")
    cases, plain = tmp_path / "cases", tmp_path / "plain"
    try:
        span = f"{made.first}:{made.last}"
        done = run_mayavi("replay", "capture", "--rpc", made.node.url, "--block", span, "--out", str(cases), "--json")
        with ReplayNode.open(made.node.url) as node:
            compared = capture(node, made.first, made.last, plain, traced=False)
        in_place = made.block_of("second use")
    finally:
        made.node.kill()
    assert done.returncode == 0, done.stderr
    report = last_line(done.stdout)
    assert report["exact"]
    assert {each["state_from"] for each in report["details"]} == {"prestate tracer"}
    assert report["requests"] < compared.requests
    for number in range(made.first, made.last + 1):
        states = [gzip.decompress((each / f"{number}/pre_state.json.gz").read_bytes()) for each in (cases, plain)]
        assert states[0] == states[1], f"the tracer's state of block {number} differs from plain reads"

    nowhere = {"MAYAVI_RPC_URL": "http://127.0.0.1:9"}
    checked = run_mayavi("validate", "blocks", str(cases), "--json", env=nowhere)
    assert checked.returncode == 0, checked.stdout
    totals = last_line(checked.stdout)
    assert (totals["exact_blocks"], totals["exact_transactions"]) == (BLOCKS, TRANSACTIONS)
    shown = run_mayavi("replay", "tx", made.hashes["second use"], "--case", str(cases), "--trace", "--json")
    found = last_line(shown.stdout)
    assert (found["exact"], found["block"], found["index"]) == (True, in_place, 2)
    (slot,) = found["storage"]
    assert (slot["before"], slot["after"]) == ("0x6", "0x7")
