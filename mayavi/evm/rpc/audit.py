"""Check every row of a cache file, without changing it.

`RemoteState` treats a damaged row as absent and fetches it again. The audit names it instead: headers against their
block hash, code against its keccak, accounts, slots, block numbers and ancestors against their checksums.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mayavi.errors import MayaviError
from mayavi.evm.address import checksum
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.answers import BadValue
from mayavi.evm.rpc.cache import FILE_NAME, Cache, CacheError, unseal
from mayavi.evm.rpc.header import Header
from mayavi.evm.rpc.opening import checked_header

_EMPTY_CODE_HASH = keccak256(b"")
_ACCOUNT_BYTES, _WORD_BYTES = 72, 32


@dataclass(slots=True)
class CachedBlock:
    """Intact rows of one block: accounts as (balance, nonce, code hash), and slots."""

    chain_id: int
    hash: bytes
    header: Header | None
    accounts: dict[bytes, tuple[int, int, bytes]] = field(default_factory=dict)
    slots: dict[tuple[bytes, int], int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Block number, or its hash if the header is damaged."""
        number = f"0x{self.hash.hex()}" if self.header is None else f"{self.header.number:,}"
        return f"block {number} of chain {self.chain_id}"


@dataclass(slots=True)
class CacheAudit:
    """Rows checked, faults found, and the blocks of the file."""

    rows: int = 0
    faults: list[str] = field(default_factory=list)
    blocks: list[CachedBlock] = field(default_factory=list)

    def check(self, intact: bool, fault: str) -> bool:
        """Count a row; note `fault` unless it is intact."""
        self.rows += 1
        if not intact:
            self.faults.append(fault)
        return intact


def audit_cache(path: Path) -> CacheAudit:
    """Check all rows of the cache file at `path`; raise `CacheError` if it is not a readable cache."""
    if path.name != FILE_NAME or not path.is_file():
        raise CacheError(f"there is no cache at '{path}'", f"the file is called {FILE_NAME}")
    audit = CacheAudit()
    with Cache.open(path.parent) as cache, cache.reading() as connection:
        codes = _audit_codes(connection, audit)
        for row_id, block in _audit_blocks(connection, audit):
            _audit_accounts(connection, audit, row_id, block, codes)
            _audit_slots(connection, audit, row_id, block)
            _audit_ancestors(connection, audit, row_id, block)
            audit.blocks.append(block)
        _audit_numbers(connection, audit)
    return audit


def _audit_codes(connection: sqlite3.Connection, audit: CacheAudit) -> set[bytes]:
    """Return the hashes of all code that is intact."""
    intact = {_EMPTY_CODE_HASH}
    for code_hash, code in connection.execute("SELECT hash, code FROM code"):
        actual = keccak256(code) if isinstance(code, bytes) else b""
        if audit.check(actual == code_hash, f"code 0x{code_hash.hex()}: its bytes hash to 0x{actual.hex()}"):
            intact.add(code_hash)
    return intact


def _audit_blocks(connection: sqlite3.Connection, audit: CacheAudit) -> Iterator[tuple[int, CachedBlock]]:
    rows = connection.execute("SELECT id, chain_id, hash, header FROM blocks ORDER BY id").fetchall()
    for row_id, chain_id, block_hash, text in rows:
        header, why = None, ""
        try:
            header = checked_header(json.loads(text), None, chain_id, True, "the cache")
            if header.hash != block_hash:
                why = f"it belongs to block 0x{header.hash.hex()}"
        except (ValueError, BadValue, MayaviError) as error:
            why = str(error)
        audit.check(not why, f"header of block 0x{block_hash.hex()} of chain {chain_id}: {why}")
        yield row_id, CachedBlock(chain_id, block_hash, None if why else header)


def _audit_accounts(
    connection: sqlite3.Connection, audit: CacheAudit, row_id: int, block: CachedBlock, codes: set[bytes]
) -> None:
    for address, sealed in connection.execute("SELECT address, state FROM accounts WHERE block = ?", (row_id,)):
        state = unseal(block.hash + address, sealed, _ACCOUNT_BYTES)
        what = f"account {checksum(address)} at {block.name}"
        if not audit.check(state is not None, f"{what}: its checksum does not match") or state is None:
            continue
        code_hash = state[40:]
        if code_hash not in codes:
            audit.faults.append(f"{what}: its code 0x{code_hash.hex()} is missing or damaged")
            continue
        balance, nonce = int.from_bytes(state[:32], "big"), int.from_bytes(state[32:40], "big")
        block.accounts[address] = (balance, nonce, code_hash)


def _audit_slots(connection: sqlite3.Connection, audit: CacheAudit, row_id: int, block: CachedBlock) -> None:
    for address, slot, sealed in connection.execute(
        "SELECT address, slot, value FROM slots WHERE block = ?", (row_id,)
    ):
        value, number = unseal(block.hash + address + slot, sealed, _WORD_BYTES), int.from_bytes(slot, "big")
        what = f"slot {number:#x} of {checksum(address)} at {block.name}"
        if audit.check(value is not None, f"{what}: its checksum does not match") and value is not None:
            block.slots[address, number] = int.from_bytes(value, "big")


def _audit_ancestors(connection: sqlite3.Connection, audit: CacheAudit, row_id: int, block: CachedBlock) -> None:
    for number, sealed in connection.execute("SELECT number, hash FROM ancestors WHERE block = ?", (row_id,)):
        intact = unseal(block.hash + b"%d" % number, sealed, _WORD_BYTES) is not None
        audit.check(intact, f"hash of ancestor {number} of {block.name}: its checksum does not match")


def _audit_numbers(connection: sqlite3.Connection, audit: CacheAudit) -> None:
    """Check which block each number stands for; the header of that block must have the number."""
    numbers = {block.hash: block.header.number for block in audit.blocks if block.header is not None}
    for chain_id, number, sealed in connection.execute("SELECT chain_id, number, hash FROM canonical"):
        block_hash = unseal(b"%d/%d" % (chain_id, number), sealed, _WORD_BYTES)
        what = f"hash of block number {number:,} of chain {chain_id}"
        if audit.check(block_hash is not None, f"{what}: its checksum does not match") and block_hash is not None:
            actual = numbers.get(block_hash, number)
            if actual != number:
                audit.faults.append(f"{what}: the header of that block has number {actual:,}")
