"""Blocks captured from a real node replay when the node has ended."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi.replay.history.capture import capture
from mayavi.replay.history.node import ReplayNode
from tests.node.chain_history import ChainHistory, start_history
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


def test_captured_blocks_validate_with_the_node_stopped(run_mayavi, tmp_path: Path) -> None:
    made = start_history(tmp_path)
    cases = tmp_path / "cases"
    try:
        span = f"{made.first}:{made.last}"
        done = run_mayavi("replay", "capture", "--rpc", made.node.url, "--block", span, "--out", str(cases), "--json")
    finally:
        made.node.stop()
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["exact"]
    assert report["notes"] == [
        "state by plain reads: the node has no prestate tracer",
        "no execution witness: the node lacks debug_executionWitness",
    ]
    # No node runs any more, and no address of one is set.
    checked = run_mayavi("validate", "blocks", str(cases), "--json", env={"MAYAVI_RPC_URL": "http://127.0.0.1:9"})
    assert checked.returncode == 0, checked.stdout
    totals = json.loads(checked.stdout)
    assert totals["blocks"] == totals["exact_blocks"] == made.last - made.first + 1
    assert totals["transactions"] == totals["exact_transactions"] == len(made.hashes)

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


def test_a_witness_is_saved_as_the_node_gives_it(history: ChainHistory, proxy: EditingProxy, tmp_path: Path) -> None:
    witness = {"state": ["0xc0"], "codes": ["0x00"], "keys": ["0x01"], "headers": ["0xf9"]}
    proxy.answers["debug_executionWitness"] = lambda params: witness
    number = history.block_of("swap")
    with ReplayNode.open(proxy.url) as node:
        report = capture(node, number, number, tmp_path)
    assert report.blocks[0].witness
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
