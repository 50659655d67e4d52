"""A witness that `mayavi replay capture` writes is read back, and leads to the state root without a node."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi import Fork
from tests.replay.history.recorded_node import RecordedNode

PARENT, NUMBER = 2_971_845, 2_971_846
HASH = "0xf91a7f61b32cfbacb2cac4c38ea85affabd58cb08c629c135af3d31592a57bef"
NOWHERE = {"MAYAVI_RPC_URL": "http://127.0.0.1:9"}


@pytest.fixture(scope="module")
def recordings(cases: Path) -> list[Any]:
    folder = cases / "mainnet" / "witness"
    files = [folder / f"holesky-{number}.json.gz" for number in (NUMBER, PARENT)]
    return [json.loads(gzip.decompress(path.read_bytes())) for path in files]


@pytest.fixture
def node(recordings: list[Any]) -> Iterator[RecordedNode]:
    running = RecordedNode(*recordings)
    yield running
    running.close()


def capture(run_mayavi: Any, node: RecordedNode, out: Path, *more: str) -> Any:
    options = ("--rpc", node.url, "--block", str(NUMBER), "--out", str(out), "--json")
    return run_mayavi("replay", "capture", *options, *more)


def captured(run_mayavi: Any, node: RecordedNode, out: Path) -> Any:
    """Capture the block and return the report of its only case."""
    done = capture(run_mayavi, node, out)
    assert done.returncode == 0, done.stdout + done.stderr
    (case,) = json.loads(done.stdout)["details"]
    return case


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("named", ["folder", "case", "file"])
def test_a_captured_witness_validates_offline_to_the_state_root(
    run_mayavi, node: RecordedNode, tmp_path: Path, named: str
) -> None:
    case = captured(run_mayavi, node, tmp_path)
    assert (case["exact"], case["witness"], case["state_from"]) == (
        True,
        "debug_executionWitness",
        "execution witness",
    )
    assert node.asked("debug_executionWitness") == 1
    assert not node.asked("eth_getBalance") + node.asked("debug_traceBlockByHash"), "the witness is all the state"
    node.close()

    path = {"folder": ".", "case": str(NUMBER), "file": f"{NUMBER}/witness.json"}[named]
    done = run_mayavi("validate", "witness", str(tmp_path / path), "--hash", HASH, "--json", env=NOWHERE)
    assert done.returncode == 0, done.stdout
    (found,) = json.loads(done.stdout)["details"]
    assert (found["exact"], found["executed"], found["block_hash"]) == (True, True, HASH)
    assert (found["chain_id"], found["block"], found["transactions"]) == (17_000, NUMBER, 9)
    assert found["pre_state_root"] == node.parent["stateRoot"]
    assert found["state_root"] == node.block["stateRoot"]


@pytest.mark.slow(0.3)
def test_a_captured_witness_opens_as_a_fork_and_its_case_replays(
    run_mayavi, node: RecordedNode, tmp_path: Path
) -> None:
    captured(run_mayavi, node, tmp_path)
    node.close()
    transaction = node.block["transactions"][0]
    fork = Fork.from_witness(tmp_path / f"{NUMBER}/witness.json")
    assert fork.nonce(transaction["from"]) == int(transaction["nonce"], 16)
    done = run_mayavi("validate", "blocks", str(tmp_path), "--json", env=NOWHERE)
    assert done.returncode == 0, done.stdout
    totals = json.loads(done.stdout)
    assert (totals["exact_blocks"], totals["exact_transactions"]) == (1, 9)


@pytest.mark.parametrize("headers", ["none", "objects"])
def test_headers_may_be_left_out_or_be_objects(run_mayavi, node: RecordedNode, tmp_path: Path, headers: str) -> None:
    """Nodes differ: the parent's header is then read by its hash."""
    header = {name: value for name, value in node.parent.items() if isinstance(value, str)}
    node.witness = node.witness | {"headers": [] if headers == "none" else [header]}
    assert captured(run_mayavi, node, tmp_path)["exact"]
    assert node.asked("eth_getBlockByHash") == (headers == "none")
    node.close()
    done = run_mayavi("validate", "witness", str(tmp_path), "--json", env=NOWHERE)
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["details"][0]["state_root"] == node.block["stateRoot"]


@pytest.mark.slow(0.3)
def test_a_wrong_witness_is_named_and_the_case_is_right(run_mayavi, node: RecordedNode, tmp_path: Path) -> None:
    """One changed byte of a trie node: nothing proves the account below it, which is then read from the node."""
    state = list(node.witness["state"])
    state[5] = state[5][:-2] + ("00" if state[5][-2:] != "00" else "01")
    node.reads, node.witness = True, node.witness | {"state": state}
    done = capture(run_mayavi, node, tmp_path)
    assert done.returncode == 1, done.stdout
    (case,) = json.loads(done.stdout)["details"]
    assert not case["exact"]
    assert "trie node" in str(case["difference"])
    assert node.asked("eth_getStorageAt") or node.asked("eth_getBalance")
    assert run_mayavi("validate", "witness", str(tmp_path), env=NOWHERE).returncode == 1
    assert run_mayavi("validate", "blocks", str(tmp_path), env=NOWHERE).returncode == 0
