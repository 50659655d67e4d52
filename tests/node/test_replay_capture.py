"""Blocks captured from a node without tracer and proofs replay without it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi.replay.history.capture import capture
from mayavi.replay.history.node import ReplayNode
from tests.node.chain_history import ChainHistory
from tests.node.editing_proxy import EditingProxy, editing_proxy
from tests.node.hardhat import Hardhat
from tests.node.prestate_node import prestates

pytestmark = [pytest.mark.node, pytest.mark.slow]


@pytest.fixture
def proxy(history: ChainHistory) -> Iterator[EditingProxy]:
    with editing_proxy(history.node, history.answers) as running:
        yield running


def read(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def scan_with_cases(run_mayavi, made: ChainHistory, folder: Path) -> str:
    """Scan the swaps of the history twice, the second time with cases; return the id of the scan."""
    router = made.labels["UniswapV3.SwapRouter"]
    words = ["replay", "history", "--rpc", made.node.url, "--from", str(made.first), "--to", str(made.last)]
    words += ["--address", router, "--store", str(folder / "history.duckdb"), "--json"]
    first = json.loads(run_mayavi(*words).stdout)
    done = run_mayavi(*words, "--cases", str(folder / "scanned"))
    report = json.loads(done.stdout)
    assert (report["exact"], report["matched"], report["scan"]) == (True, 2, first["scan"])
    assert report["replayed_now"] == 2, "blocks that are stored without their cases are replayed again"
    return str(report["scan"])


def verify_scan(run_mayavi, scan: str, folder: Path) -> None:
    """Bundle the scan and verify the bundle, which needs no node."""
    words = ["artifact", scan, "--store", str(folder / "history.duckdb"), "--output", str(folder / "scan.zip")]
    refused = run_mayavi(*words)
    assert (refused.returncode, "needs the cases of its blocks" in refused.stderr) == (2, True)
    written = run_mayavi(*words, "--cases", str(folder / "scanned"))
    assert written.returncode == 0, written.stderr
    verified = run_mayavi("artifact", "verify", str(folder / "scan.zip"))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "verified: 2 transactions of 2 blocks gave the same rows again" in verified.stdout
    found = json.loads(run_mayavi("artifact", "verify", str(folder / "scan.zip"), "--json").stdout)
    assert (found["verified"], found["kind"], found["scan"]["scan_id"]) == (True, "scan", scan)


def test_captured_blocks_validate_without_the_node(run_mayavi, history: ChainHistory, tmp_path: Path) -> None:
    made, cases = history, tmp_path / "cases"
    span = f"{made.first}:{made.last}"
    done = run_mayavi("replay", "capture", "--rpc", made.node.url, "--block", span, "--out", str(cases), "--json")
    scan = scan_with_cases(run_mayavi, made, tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["exact"]
    assert report["notes"] == [
        "state by plain reads: the node has no prestate tracer",
        "no execution witness: the node lacks debug_executionWitness; --prove builds one from eth_getProof",
    ]
    checked = run_mayavi("validate", "blocks", str(cases), "--json", env={"MAYAVI_RPC_URL": "http://127.0.0.1:9"})
    assert checked.returncode == 0, checked.stdout
    totals = json.loads(checked.stdout)
    assert totals["blocks"] == totals["exact_blocks"] == made.last - made.first + 1
    assert totals["transactions"] == totals["exact_transactions"] == len(made.hashes)

    verify_scan(run_mayavi, scan, tmp_path)
    name = made.hashes["second use"]
    shown = run_mayavi("replay", "tx", name, "--case", str(cases), "--trace", "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["exact"] is True
    (slot,) = found["storage"]
    assert (slot["before"], slot["after"]) == ("0x6", "0x7")


def test_a_case_of_another_chain_names_it(run_mayavi, hardhat: Hardhat, tmp_path: Path) -> None:
    """Chain 31337, whose rules are those of its headers."""
    account = hardhat.rpc("eth_accounts")[0]
    hardhat.rpc(
        "eth_sendTransaction", {"from": account, "to": "0x" + "ab" * 20, "value": "0x5", "gasPrice": "0x77359400"}
    )
    number = hardhat.block_number
    done = run_mayavi("replay", "capture", "--rpc", hardhat.url, "--block", str(number), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / f"{number}/chain.json").read_text()) == {"chain_id": 31337, "hardfork": "shanghai"}
    checked = run_mayavi("validate", "blocks", str(tmp_path))
    assert checked.returncode == 0, checked.stdout
    assert "1 of 1 transactions exact" in checked.stdout


def test_the_prestate_tracer_gives_the_same_cases_with_fewer_requests(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path
) -> None:
    proxy.answers["debug_traceBlockByNumber"] = lambda params: prestates(history.node.url, int(params[0], 16))
    with ReplayNode.open(proxy.url) as node:
        traced = capture(node, history.first, history.last, tmp_path / "traced")
    with ReplayNode.open(proxy.url) as node:
        plain = capture(node, history.first, history.last, tmp_path / "plain", traced=False)
    assert traced.exact
    assert plain.exact
    assert {block.source for block in traced.blocks if block.transactions} == {"prestate tracer"}
    assert {block.source for block in plain.blocks} == {"plain reads"}
    assert traced.requests < plain.requests / 2
    for block in range(history.first, history.last + 1):
        states = [read(tmp_path / kind / f"{block}/pre_state.json.gz") for kind in ("traced", "plain")]
        assert states[0] == states[1], block
    assert "fe" * 20 not in str(read(tmp_path / f"traced/{history.block_of('first gift')}/pre_state.json.gz"))


@pytest.mark.parametrize(
    ("witness", "told"),
    [
        ({"state": ["0xc0"], "codes": ["0x00"], "keys": ["0x01"], "headers": ["0xf9"]}, "ancestor 0"),
        ({"state": [], "prestateRoot": "0x" + "12" * 32}, f"expected {{root}}, got 0x{'12' * 32}"),
    ],
)
def test_a_wrong_witness_is_saved_as_the_node_gives_it_and_named(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path, witness: dict[str, Any], told: str
) -> None:
    proxy.answers["debug_executionWitness"] = lambda params: witness
    number = history.block_of("swap")
    with ReplayNode.open(proxy.url) as node:
        report = capture(node, number, number, tmp_path)
    assert report.blocks[0].witness == "debug_executionWitness"
    assert report.blocks[0].source == "plain reads", "what proves nothing is not used"
    root = history.node.rpc("eth_getBlockByNumber", hex(number - 1), False)["stateRoot"]
    assert told.format(root=root) in str(report.blocks[0].difference)
    assert not report.exact
    saved = json.loads((tmp_path / f"{number}/witness.json").read_text())
    assert saved["witness"] == witness
    assert saved["block"] == history.node.rpc("eth_getBlockByNumber", hex(number), True)
    assert not any("witness" in note for note in report.notes)


@pytest.mark.parametrize("answer", [{"not": "a list"}, [], None, [{"result": {"0x12": {}}}]])
def test_a_tracer_that_answers_nonsense_is_not_used(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path, answer: Any
) -> None:
    proxy.answers["debug_traceBlockByHash"] = proxy.answers["debug_traceBlockByNumber"] = lambda params: answer
    number = history.block_of("borrow")
    with ReplayNode.open(proxy.url) as node:
        report = capture(node, number, number, tmp_path)
    assert report.exact
    assert report.blocks[0].source == "plain reads"


def test_codes_of_several_captures_are_kept_together(history: ChainHistory, tmp_path: Path) -> None:
    for name in ("swap", "supply"):
        with ReplayNode.open(history.node.url) as node:
            capture(node, history.block_of(name), history.block_of(name), tmp_path)
    codes = read(tmp_path / "bytecodes.json.gz")
    used = {
        account["code_hash"]
        for name in ("swap", "supply")
        for account in read(tmp_path / f"{history.block_of(name)}/pre_state.json.gz").values()
        if "code_hash" in account
    }
    assert set(codes) == used


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("bytecodes.json.gz", "lacks its code 0x"),
        ("{number}/pre_state.json.gz", "is not JSON"),
        ("{number}/block.json.gz", "is not JSON"),
        ("{number}/chain.json", "is not JSON"),
    ],
)
def test_a_malformed_case_is_named(run_mayavi, history: ChainHistory, tmp_path: Path, damage: str, words: str) -> None:
    number = history.block_of("swap")
    with ReplayNode.open(history.node.url) as node:
        capture(node, number, number, tmp_path)
    path = tmp_path / damage.format(number=number)
    if path.name == "bytecodes.json.gz":
        path.write_bytes(gzip.compress(b"{}"))
    else:
        raw = b'{"x": 0x' + history.hashes["swap"].encode()
        path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    done = run_mayavi("replay", "tx", history.hashes["swap"], "--case", str(tmp_path))
    assert done.returncode == 1
    assert words in done.stderr
    assert path.name in done.stderr
    assert run_mayavi("validate", "blocks", str(tmp_path)).returncode == 1
