"""A fact of the chain stays that fact on every way through the fork cache, and a poisoned one is named."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork
from mayavi.evm.rpc.audit import audit_cache
from mayavi.evm.rpc.cache import FILE_NAME, seal
from mayavi.evm.storage_triples import Invariant, StorageTriple
from mayavi.worlds.known_storage import ETHEREUM, ETHEREUM_BLOCK, known_triples
from tests.evm.rpc.scripted_node import ScriptedNode, scripted_node

FINAL_BLOCK = 10  # of the node's hundred: deep enough to be final, so its number needs no second look

every_triple = pytest.mark.parametrize("triple", ETHEREUM, ids=lambda triple: triple.what)


@pytest.fixture(scope="module")
def node() -> Iterator[ScriptedNode]:
    """A node whose contracts hold the triples."""
    with scripted_node() as serving:
        for triple in ETHEREUM:
            account = f"0x{triple.address.hex()}"
            serving.accounts[account] = (0, 1, b"\x00")
            serving.storage[account, triple.slot] = triple.expected
        yield serving


def open_fork(node: ScriptedNode, cache_dir: Path) -> Fork:
    return Fork.from_rpc(node.url, FINAL_BLOCK, cache_dir=cache_dir)


@every_triple
def test_the_recorded_chain_holds_the_triple(cases: Path, triple: StorageTriple) -> None:
    recorded = cases / "mainnet" / "blocks" / str(ETHEREUM_BLOCK + 1) / "pre_state.json.gz"
    state = {
        address.lower(): account for address, account in json.loads(gzip.decompress(recorded.read_bytes())).items()
    }
    account = state.get(f"0x{triple.address.hex()}", {"storage": {}})
    slots = {int(key, 16): int(value, 16) for key, value in account["storage"].items()}
    assert triple.slot in slots, (
        f"the recording of block {ETHEREUM_BLOCK + 1} does not hold slot {triple.slot:#x} of 0x{triple.address.hex()}: "
        "it holds what that block touched; take a triple of those, or check this one against a node in tests/network"
    )
    assert slots[triple.slot] == triple.expected


@every_triple
def test_cold_warm_and_from_a_snapshot_it_is_the_same_word(
    node: ScriptedNode, tmp_path: Path, triple: StorageTriple
) -> None:
    cold = open_fork(node, tmp_path)
    assert cold.storage(triple.address, triple.slot) == triple.expected
    assert cold.requests > 0

    warm = open_fork(node, tmp_path)
    assert warm.storage(triple.address, triple.slot) == triple.expected
    assert warm.requests == 0

    warm.dump_snapshot(tmp_path / "world.snapshot")
    assert Fork.load_snapshot(tmp_path / "world.snapshot").storage(triple.address, triple.slot) == triple.expected


@every_triple
def test_a_damaged_row_is_named_fetched_again_and_never_believed(
    node: ScriptedNode, tmp_path: Path, triple: StorageTriple
) -> None:
    assert open_fork(node, tmp_path).storage(triple.address, triple.slot) == triple.expected
    (database,) = tmp_path.rglob(FILE_NAME)
    assert audit_cache(database).faults == []
    rewrite_slot(database, lambda key, sealed: bytes([sealed[0] ^ 1]) + sealed[1:])
    (fault,) = audit_cache(database).faults
    assert fault.startswith(f"slot {triple.slot:#x} of 0x")
    assert fault.endswith("its checksum does not match")
    assert open_fork(node, tmp_path).storage(triple.address, triple.slot) == triple.expected


@every_triple
def test_a_poisoned_row_with_a_valid_checksum_contradicts_its_triple(
    node: ScriptedNode, tmp_path: Path, triple: StorageTriple
) -> None:
    open_fork(node, tmp_path).storage(triple.address, triple.slot)
    (database,) = tmp_path.rglob(FILE_NAME)
    poison = (int(str(triple.expected)) + 1).to_bytes(32, "big")
    rewrite_slot(database, lambda key, sealed: seal(key, poison))
    audit = audit_cache(database)
    assert audit.faults == []  # the row alone cannot show it
    (block,) = audit.blocks
    fault = triple.fault(block.slots[triple.address, triple.slot])
    assert triple.what in fault
    assert f"slot {triple.slot:#x}" in fault


def rewrite_slot(database: Path, change) -> None:
    """Replace the value of the only cached slot by `change(key of its checksum, sealed value)`."""
    connection = sqlite3.connect(database)
    with connection:
        (block_hash,) = connection.execute("SELECT hash FROM blocks").fetchone()
        ((address, slot, sealed),) = connection.execute("SELECT address, slot, value FROM slots").fetchall()
        connection.execute("UPDATE slots SET value = ?", (change(block_hash + address + slot, sealed),))
    connection.close()


def test_a_triple_says_what_contradicts_it() -> None:
    value = StorageTriple("a fee", bytes(19) + b"\1", 2, 5)
    assert value.fault(5) == ""
    assert value.fault(6) == "slot 0x2 of 0x0000000000000000000000000000000000000001 (a fee) holds 0x6, expected 0x5"
    even = value._replace(expected=Invariant("an even number", lambda word: word % 2 == 0))
    assert even.fault(6) == ""
    assert even.fault(7).endswith("holds 0x7, expected an even number")


def test_known_triples_belong_to_one_chain_and_one_block() -> None:
    assert known_triples(1, ETHEREUM_BLOCK) == ETHEREUM
    assert known_triples(1, ETHEREUM_BLOCK + 1) == known_triples(8453, ETHEREUM_BLOCK) == ()
