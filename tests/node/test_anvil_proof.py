"""Witnesses built from anvil's `eth_getProof`: blocks of an ordinary node, executed offline up to the state root."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import ProofError
from mayavi.evm.address import checksum
from mayavi.replay.history.capture import capture
from mayavi.replay.history.node import ReplayNode
from mayavi.replay.witness import validate_witnesses
from tests.node.chain_history import ChainHistory, save_history
from tests.node.editing_proxy import EditingProxy, editing_proxy

pytestmark = [pytest.mark.node, pytest.mark.slow]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChainHistory]:
    """History under Cancun's rules: a development node makes none of the requests that end a block since Prague."""
    folder = tmp_path_factory.mktemp("history")
    saved = save_history(folder / "made", "cancun")
    running = saved.start(folder / "node")
    saved.file.unlink()  # some 70 MB, which the node has in memory now
    yield running
    running.node.stop()


@pytest.fixture
def proxy(history: ChainHistory) -> Iterator[EditingProxy]:
    with editing_proxy(history.node) as running:
        yield running


def zero_leaves(history: ChainHistory, number: int, at: int, cases: Path) -> set[tuple[str, str]]:
    """Slots read by block `number` that anvil keeps at block `at` as leaves with the value zero.

    Ethereum's tries have no such leaves: a slot that is zero is not in them.
    """
    accounts = json.loads(gzip.decompress((cases / f"{number}/pre_state.json.gz").read_bytes()))
    found = set()
    for address, account in accounts.items():
        slots = [f"0x{int(slot, 16):064x}" for slot in account["storage"]]
        if not slots:
            continue
        for each in history.node.rpc("eth_getProof", address, slots, hex(at))["storageProof"]:
            if int(each["value"], 16) == 0 and each["proof"] and each["proof"][-1].endswith("8180"):
                found.add((address, each["key"]))
    return found


def test_blocks_lead_to_the_nodes_state_root_offline(run_mayavi, history: ChainHistory, tmp_path: Path) -> None:
    names = ("swap", "supply", "too much", "creation", "fourth of block", "liquidation")
    numbers = [history.block_of(name) for name in names]
    with ReplayNode.open(history.node.url) as node:
        cases = [capture(node, number, number, tmp_path, prove=True).blocks[0] for number in numbers]
    assert {each.witness for each in cases} == {"eth_getProof"}
    differ = {each.number for each in cases if each.difference is not None}
    for number in numbers:
        new = zero_leaves(history, number, number, tmp_path) - zero_leaves(history, number, number - 1, tmp_path)
        # Where anvil adds a leaf that Ethereum's rules forbid, its root is not Ethereum's: that is what we report.
        assert (number in differ) == bool(new), number
    assert {each.difference.field for each in cases if each.difference} == {"state root"}

    done = run_mayavi("validate", "witness", str(tmp_path), "--json", env={"MAYAVI_RPC_URL": "http://127.0.0.1:9"})
    found = json.loads(done.stdout.splitlines()[-1])["details"]
    assert [each["block"] for each in found] == numbers
    for each in found:
        block = history.node.rpc("eth_getBlockByNumber", hex(each["block"]), False)
        assert (each["executed"], each["block_hash"]) == (True, block["hash"])
        assert each["exact"] == (each["state_root"] == block["stateRoot"]) == (each["block"] not in differ)
    exact = [name for name, each in zip(names, found, strict=True) if each["exact"]]
    assert exact == ["swap", "creation", "liquidation"]
    assert found[-1]["trie_nodes"] > 100


def test_a_node_that_changes_one_slot_is_caught_and_the_slot_named(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path
) -> None:
    """The lie is told by the tracer, which is the source of the state, and not by the proof."""
    number = history.block_of("swap")
    slot, pool = f"0x{4:064x}", history.labels["UniswapV3.WETH/USDC.500"].lower()

    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"].startswith("debug_traceBlock"):
            for each in result:
                storage = each["result"].get(pool, {}).get("storage", {})
                if slot in storage:
                    storage[slot] = f"0x{int(storage[slot], 16) + 1:064x}"
        return result

    proxy.edits.append(edit)
    with ReplayNode.open(proxy.url) as node:
        report = capture(node, number, number, tmp_path, prove=True)
    found = report.blocks[0].difference
    assert found is not None
    assert found.field == f"proven slot 0x4 of {checksum(bytes.fromhex(pool[2:]))}"
    assert int(found.got, 16) == int(found.expected, 16) + 1
    assert not report.exact


def test_a_proof_that_contradicts_itself_ends_the_capture(
    history: ChainHistory, proxy: EditingProxy, tmp_path: Path
) -> None:
    number = history.block_of("swap")
    pool = history.labels["UniswapV3.WETH/USDC.500"]

    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_getProof" and call["params"][0] == pool.lower():
            (entry,) = (each for each in result["storageProof"] if int(each["key"], 16) == 4)
            entry["value"] = hex(int(entry["value"], 16) + 1)
        return result

    proxy.edits.append(edit)
    with ReplayNode.open(proxy.url) as node, pytest.raises(ProofError, match=f"in {pool} slot 0x4, its proof gives"):
        capture(node, number, number, tmp_path, prove=True)
    assert not (tmp_path / str(number)).exists()


def test_a_node_without_proofs_is_named(run_mayavi, history: ChainHistory, proxy: EditingProxy, tmp_path: Path) -> None:
    proxy.refuses["eth_getProof"] = {"code": -32601, "message": "Method not found"}
    number = history.block_of("swap")
    options = ("--block", str(number), "--out", str(tmp_path), "--prove", "--json")
    done = run_mayavi("replay", "capture", "--rpc", proxy.url, *options)
    assert done.returncode == 0, "the case itself needs no proofs"
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["details"][0]["witness"] is None
    (note,) = report["notes"]
    assert note.startswith("no execution witness: the node at")
    assert "eth_getProof" in note
    assert not (tmp_path / f"{number}/witness.json").exists()


def test_a_witness_of_a_development_chain_follows_the_rules_of_its_header(
    history: ChainHistory, tmp_path: Path
) -> None:
    number = history.block_of("swap")
    with ReplayNode.open(history.node.url) as node:
        capture(node, number, number, tmp_path, prove=True)
    (found,) = validate_witnesses([tmp_path]).witnesses
    assert (found.exact, found.hardfork) == (True, "cancun")
