"""A poisoned replica, cached answer or snapshot is found and named with address and slot."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork
from mayavi.evm.rpc.cache import FILE_NAME, seal
from mayavi.validation.caches.node_answers import check_rpc_cache
from mayavi.validation.caches.replicas import check_replica
from mayavi.validation.caches.snapshots import check_snapshot
from mayavi.validation.caches.world_triples import IMPLEMENTATION_SLOT, chain_triples, replica_triples
from mayavi.validation.gate import GateContext, Tally
from mayavi.validation.gates.cache import CacheGate
from mayavi.validation.run import run_gate
from mayavi.worlds import open_world, world_names
from mayavi.worlds.cache import replica_path
from mayavi.worlds.known_storage import ETHEREUM_BLOCK
from mayavi.worlds.tables.chain import load_table
from tests.evm.rpc.scripted_node import POOL, ScriptedNode, scripted_node

CHAIN = "base"


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    """Cache folder with one replica."""
    open_world(CHAIN, cache_dir=tmp_path)
    return tmp_path


def poison(cached: Path, label: str, slot: int, value: int) -> None:
    """Change one word of the cached replica; the file stays a valid snapshot."""
    path = replica_path(CHAIN, cached)
    fork = Fork.load_snapshot(path)
    fork.set_storage(label, slot, value)
    fork.dump_snapshot(path)


def checked(cached: Path) -> Tally:
    tally = Tally()
    check_replica(CHAIN, replica_path(CHAIN, cached), tally)
    return tally


def test_a_replica_as_built_passes_word_by_word(cached: Path) -> None:
    report = run_gate(CacheGate(), GateContext(cache_dir=cached)).report
    assert report.verdict == "passed"
    assert report.parts[f"replica {CHAIN}"] > 800
    assert "the replica of ethereum is not cached" in report.notes


@pytest.mark.slow(0.3)
@pytest.mark.parametrize(
    ("label", "slot", "named"),
    [
        ("AaveV3.Pool", IMPLEMENTATION_SLOT, "AaveV3 Pool: implementation"),
        ("Chainlink.ETH/USD", 1, "Chainlink.ETH/USD: answer"),
        # No triple knows these two: they are found by building the replica again.
        ("UniswapV3.WETH/USDC.500", 0, "UniswapV3.WETH/USDC.500"),
        ("USDC", 5, "USDC"),
    ],
)
def test_a_poisoned_word_of_a_replica_is_named(cached: Path, label: str, slot: int, named: str) -> None:
    before = Fork.load_snapshot(replica_path(CHAIN, cached)).storage(label, slot)
    poison(cached, label, slot, before + 1)
    tally = checked(cached)
    assert tally.differences >= 1
    assert f"slot {slot:#x} of " in tally.first_difference
    assert named in tally.first_difference
    assert f"{before + 1:#x}, expected" in tally.first_difference


@pytest.mark.slow(0.5)
def test_poisoned_code_a_poisoned_balance_and_a_changed_label_are_named(cached: Path) -> None:
    path = replica_path(CHAIN, cached)
    fork = Fork.load_snapshot(path)
    fork.set_balance("WETH", fork.balance("WETH") + 1)
    fork.dump_snapshot(path)
    assert "balance of WETH" in checked(cached).first_difference
    fork.set_balance("WETH", fork.balance("WETH") - 1)
    fork.set_code("USDC", fork.code("USDC") + b"\0")
    fork.dump_snapshot(path)
    assert "code of USDC" in checked(cached).first_difference
    fork.set_code("USDC", fork.code("USDC")[:-1])
    fork.labels["USDC"] = fork.labels["WETH"]
    fork.dump_snapshot(path)
    assert "label USDC" in checked(cached).first_difference


def test_a_damaged_byte_of_a_cached_replica_is_named(cached: Path) -> None:
    path = replica_path(CHAIN, cached)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    report = run_gate(CacheGate(), GateContext(cache_dir=cached)).report
    assert report.verdict == "failed"
    assert "its checksum does not match" in report.first_difference


@pytest.mark.parametrize("chain", world_names())
def test_every_replica_holds_its_triples(chain: str) -> None:
    fork = open_world(chain)
    triples = replica_triples(load_table(chain))
    assert len(triples) > 40
    assert [each.what for each in triples if each.fault(fork.storage(each.address, each.slot))] == []


def test_chains_without_a_table_have_no_triples() -> None:
    assert chain_triples(1)
    assert chain_triples(31_337) == chain_triples(123_456_789) == []


# -- answers of nodes --------------------------------------------------------------------------------------------------


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with scripted_node() as serving:
        yield serving


def fill(node: ScriptedNode, folder: Path, pool: bytes = POOL, slot: int = 0) -> Path:
    fork = Fork.from_rpc(node.url, 10, cache_dir=folder)
    fork.storage(pool, slot)
    fork.code(POOL)
    fork.close()
    return folder / FILE_NAME


def rewrite(database: Path, value: int) -> None:
    """Poison all cached slots, with checksums that match."""
    connection = sqlite3.connect(database)
    with connection:
        (block_hash,) = connection.execute("SELECT hash FROM blocks").fetchone()
        for address, slot in connection.execute("SELECT address, slot FROM slots").fetchall():
            sealed = seal(block_hash + address + slot, value.to_bytes(32, "big"))
            connection.execute("UPDATE slots SET value = ? WHERE address = ? AND slot = ?", (sealed, address, slot))
    connection.close()


def test_an_answer_that_breaks_an_invariant_of_its_contract_is_named(node: ScriptedNode, tmp_path: Path) -> None:
    weth = bytes.fromhex("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2")
    node.accounts["0x" + weth.hex()] = (0, 1, b"\0")
    node.storage["0x" + weth.hex(), 2] = 18
    database = fill(node, tmp_path, weth, 2)
    clean = Tally()
    check_rpc_cache(database, clean)
    assert clean.differences == 0
    assert clean.cases > 4
    rewrite(database, 19)
    tally = Tally()
    check_rpc_cache(database, tally)
    assert tally.differences == 1
    assert "block 10 of chain 1: slot 0x2 of 0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2" in tally.first_difference
    assert "WETH: decimals" in tally.first_difference


def test_an_answer_that_no_triple_knows_is_found_by_asking_the_node(node: ScriptedNode, tmp_path: Path) -> None:
    database = fill(node, tmp_path)
    clean = Tally()
    check_rpc_cache(database, clean, node.url)
    assert clean.first_difference == ""
    assert clean.parts["words of the node"] == 4
    rewrite(database, 77)
    tally = Tally()
    check_rpc_cache(database, tally, node.url)
    assert tally.differences == 1
    assert "slot 0x0 of 0x9001" in tally.first_difference
    assert "holds 0x4d, the node says 0x1" in tally.first_difference


def test_a_damaged_cache_file_fails_the_gate(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"x" * 5_000)
    report = run_gate(CacheGate(), GateContext(cache_dir=tmp_path)).report
    assert report.verdict == "failed"
    assert "is damaged" in report.first_difference


# -- snapshots and the recorded chain ----------------------------------------------------------------------------------


def test_a_snapshot_passes_and_a_poisoned_pool_in_it_is_named(tmp_path: Path) -> None:
    fork, path = open_world("ethereum").copy(), tmp_path / "world.snapshot"
    fork.dump_snapshot(path)
    tally = Tally()
    check_snapshot(path, tally)
    assert tally.differences == 0
    assert tally.cases > 50
    label = "UniswapV3.WETH/USDC.500"
    fork.set_storage(label, 0, fork.storage(label, 0) ^ 1 << 240)
    fork.dump_snapshot(path)
    poisoned = Tally()
    check_snapshot(path, poisoned)
    assert poisoned.differences == 1
    assert f"({label}: price, tick and lock)" in poisoned.first_difference


def test_a_price_without_its_tick_is_no_sound_pool(tmp_path: Path) -> None:
    fork, label = open_world("ethereum").copy(), "UniswapV3.WETH/USDC.500"
    (triple,) = [each for each in chain_triples(1) if each.what == f"{label}: price, tick and lock"]
    word = fork.storage(label, 0)
    assert triple.fault(word) == ""
    assert triple.fault(0) == ""  # a pool that does not exist yet
    assert triple.fault(word + (1 << 160))
    assert triple.fault(word - (1 << 160))
    assert triple.fault(word >> 160 << 160)


def test_the_recorded_chain_holds_the_triples_and_a_changed_word_is_named(cases: Path, tmp_path: Path) -> None:
    from tests.validation.recorded_copy import change, copy_blocks

    folder = copy_blocks(cases, tmp_path / "cases", ETHEREUM_BLOCK + 1)
    context = GateContext(folder, tmp_path)
    report = run_gate(CacheGate(), context).report
    assert report.parts["recorded chain"] == 5

    def other_fee(accounts) -> None:
        accounts["0xbebc44782c7db0a1a60cb6fe97d0b483032ff1c7"]["storage"]["0x2"] = "0xf4241"

    change(folder / "mainnet" / "blocks" / str(ETHEREUM_BLOCK + 1) / "pre_state.json.gz", other_fee)
    changed = run_gate(CacheGate(), context).report
    assert changed.verdict == "failed"
    assert "3pool: fee" in changed.first_difference


def test_a_snapshot_that_is_cut_off_is_named(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.snapshot", tmp_path / "cut.snapshot"
    open_world(CHAIN).dump_snapshot(whole)
    shutil.copyfile(whole, cut)
    cut.write_bytes(whole.read_bytes()[:-10])
    report = run_gate(CacheGate([whole, cut]), GateContext(cache_dir=tmp_path)).report
    assert report.verdict == "failed"
    assert "cut.snapshot" in report.first_difference
