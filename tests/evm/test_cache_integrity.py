"""A fact of the chain stays that fact on every way through the fork cache: cold, warm, damaged and from a snapshot."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork
from mayavi.evm.rpc.cache import FILE_NAME
from tests.evm.rpc.scripted_node import ScriptedNode, scripted_node
from tests.evm.storage_triples import BLOCK, TRIPLES, StorageTriple

FINAL_BLOCK = 10  # of the node's hundred: deep enough to be final, so its number needs no second look

every_triple = pytest.mark.parametrize("triple", TRIPLES, ids=lambda triple: triple.what)


@pytest.fixture(scope="module")
def node() -> Iterator[ScriptedNode]:
    """A node whose contracts hold the triples."""
    with scripted_node() as serving:
        for triple in TRIPLES:
            account = f"0x{triple.address.hex()}"
            serving.accounts[account] = (0, 1, b"\x00")
            serving.storage[account, triple.slot] = triple.value
        yield serving


def open_fork(node: ScriptedNode, cache_dir: Path) -> Fork:
    return Fork.from_rpc(node.url, FINAL_BLOCK, cache_dir=cache_dir)


@every_triple
def test_the_recorded_chain_holds_the_triple(cases: Path, triple: StorageTriple) -> None:
    recorded = cases / "mainnet" / "blocks" / str(BLOCK + 1) / "pre_state.json.gz"
    state = {
        address.lower(): account for address, account in json.loads(gzip.decompress(recorded.read_bytes())).items()
    }
    account = state.get(f"0x{triple.address.hex()}", {"storage": {}})
    slots = {int(key, 16): int(value, 16) for key, value in account["storage"].items()}
    assert triple.slot in slots, (
        f"the recording of block {BLOCK + 1} does not hold slot {triple.slot:#x} of 0x{triple.address.hex()}: it holds "
        "what that block touched; take a triple of those, or check this one against a node in tests/network"
    )
    assert slots[triple.slot] == triple.value


@every_triple
def test_cold_warm_and_from_a_snapshot_it_is_the_same_word(
    node: ScriptedNode, tmp_path: Path, triple: StorageTriple
) -> None:
    cold = open_fork(node, tmp_path)
    assert cold.storage(triple.address, triple.slot) == triple.value
    assert cold.requests > 0

    warm = open_fork(node, tmp_path)
    assert warm.storage(triple.address, triple.slot) == triple.value
    assert warm.requests == 0

    warm.dump_snapshot(tmp_path / "world.snapshot")
    assert Fork.load_snapshot(tmp_path / "world.snapshot").storage(triple.address, triple.slot) == triple.value


@every_triple
def test_a_damaged_row_is_fetched_again_and_never_believed(
    node: ScriptedNode, tmp_path: Path, triple: StorageTriple
) -> None:
    assert open_fork(node, tmp_path).storage(triple.address, triple.slot) == triple.value
    (database,) = tmp_path.rglob(FILE_NAME)
    connection = sqlite3.connect(database)
    with connection:
        ((kept,),) = connection.execute("SELECT value FROM slots").fetchall()
        connection.execute("UPDATE slots SET value = ?", (bytes([kept[0] ^ 1]) + kept[1:],))
    connection.close()
    assert open_fork(node, tmp_path).storage(triple.address, triple.slot) == triple.value
