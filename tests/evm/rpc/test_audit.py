"""The audit names every damaged row of a cache file, whatever its kind."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork
from mayavi.evm.rpc.audit import audit_cache
from mayavi.evm.rpc.cache import FILE_NAME, Cache, CacheError
from tests.evm.rpc.scripted_node import ALICE, POOL, scripted_node

BLOCK = 10


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A cache with accounts, code, slots, an ancestor's hash and a block number."""
    with scripted_node() as node:
        fork = Fork.from_rpc(node.url, BLOCK, cache_dir=tmp_path)
        fork.balance(ALICE)
        fork.code(POOL)
        for slot in range(3):
            fork.storage(POOL, slot)
        remote = fork._fetcher.remote
        assert remote is not None
        remote.fetch([("block_hash", b"", 3)])
        fork.close()
    return tmp_path / FILE_NAME


def test_an_intact_cache_has_no_fault_and_shows_its_contents(database: Path) -> None:
    before = database.read_bytes()
    audit = audit_cache(database)
    assert audit.faults == []
    (block,) = audit.blocks
    assert block.name == "block 10 of chain 1"
    assert block.accounts[ALICE][:2] == (5 * 10**18, 7)
    assert block.slots == {(POOL, slot): slot * 1000 + 1 for slot in range(3)}
    assert audit.rows == 9  # one code, one header, two accounts, three slots, one ancestor, one number
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE slots SET value = zeroblob(36) WHERE slot = zeroblob(32)", "slot 0x0 of 0x9001"),
        ("UPDATE accounts SET state = zeroblob(76) WHERE hex(address) LIKE 'A11CE%'", "account"),
        ("UPDATE code SET code = x'00'", "its bytes hash to"),
        ("DELETE FROM code", "is missing or damaged"),
        ("UPDATE ancestors SET hash = zeroblob(36)", "hash of ancestor 3"),
        ("UPDATE canonical SET hash = zeroblob(36)", "hash of block number 10"),
        ("""UPDATE blocks SET header = replace(header, '"number":"0xa"', '"number":"0xb"')""", "header of block 0x"),
        ("UPDATE blocks SET header = 'no json'", "header of block 0x"),
    ],
    ids=["slot", "account", "code", "no code", "ancestor", "number", "header", "no header"],
)
def test_a_damaged_row_is_named(database: Path, statement: str, fault: str) -> None:
    connection = sqlite3.connect(database)
    with connection:
        connection.execute(statement)
    connection.close()
    faults = audit_cache(database).faults
    assert any(fault in each for each in faults), faults


def test_a_number_that_points_to_another_block_is_named(database: Path) -> None:
    with Cache.open(database.parent) as cache:
        block_hash, seen_at = cache.canonical(1, BLOCK) or (b"", 0.0)
        cache.remember_canonical(1, BLOCK + 1, block_hash, seen_at)
    assert audit_cache(database).faults == [
        "hash of block number 11 of chain 1: the header of that block has number 10"
    ]


def test_a_file_that_is_no_cache_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"nothing that SQLite could read, and long enough to see that" * 100)
    with pytest.raises(CacheError, match="is damaged"):
        audit_cache(path)
    path.unlink()
    with pytest.raises(CacheError, match="there is no cache at"):
        audit_cache(path)
    assert not path.exists()
