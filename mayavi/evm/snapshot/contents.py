"""Contents of a world, parsed from its canonical dump, and the differences between two worlds.

The kernel does not list the contents of a world, but it writes them to a dump. docs/reference/snapshot-format.md
specifies the layout, which this module parses in plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mayavi.errors import SnapshotCorrupt
from mayavi.evm.hashing import keccak256
from mayavi.evm.snapshot.file import read_snapshot

MAGIC = b"MKD1"


@dataclass(frozen=True, slots=True)
class AccountContents:
    """One account. An absent slot is zero if the account is `complete`, otherwise unknown."""

    balance: int
    nonce: int
    code: bytes
    complete: bool
    slots: dict[int, int]


_EMPTY = AccountContents(balance=0, nonce=0, code=b"", complete=True, slots={})


@dataclass(frozen=True, slots=True)
class WorldContents:
    """Contents of a world. An absent account is empty if the world is `closed`, otherwise unknown."""

    chain_id: int
    closed: bool
    hardfork: str
    block: dict[str, int | str | None]
    block_hashes: dict[int, bytes]
    accounts: dict[bytes, AccountContents]

    @classmethod
    def of(cls, dump: bytes) -> WorldContents:
        """Parse the canonical bytes `dump`; raise `SnapshotCorrupt` if they are malformed."""
        read = _Reader(dump)
        if read.take(4) != MAGIC:
            raise SnapshotCorrupt("these are not the bytes of a kernel dump")
        chain_id, closed = read.integer(8), bool(read.integer(1))
        hardfork = read.take(read.integer(1)).decode("ascii")
        block = _read_block(read)
        block_hashes = {read.integer(8): read.take(32) for _ in range(read.integer(4))}
        codes = [b"", *(read.take(read.integer(4)) for _ in range(read.integer(4)))]
        accounts = {read.take(20): _read_account(read, codes) for _ in range(read.integer(4))}
        if read.at != len(dump):
            raise SnapshotCorrupt(f"the dump has {len(dump) - read.at} bytes too many")
        return cls(chain_id, closed, hardfork, block, block_hashes, accounts)

    @classmethod
    def of_snapshot(cls, path: Path) -> WorldContents:
        """Parse the snapshot file at `path`; raise `SnapshotError` if it cannot be read."""
        state, _ = read_snapshot(path)
        return cls.of(state.dump())

    def account(self, address: bytes) -> AccountContents | None:
        """Account at `address`; None if unknown in this world."""
        return self.accounts.get(address, _EMPTY if self.closed else None)


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs between two worlds. A value unknown in one of them is None."""

    address: bytes | None
    """Account; None for a field of the chain or the block."""
    field: str
    slot: int | None
    before: object
    after: object


def differences(before: WorldContents, after: WorldContents) -> Iterator[Difference]:
    """Yield the fields that differ: chain and block first, then accounts by address and slots by number."""
    for field in ("chain_id", "closed", "hardfork"):
        yield from _unequal(None, field, None, getattr(before, field), getattr(after, field))
    for field in before.block:
        yield from _unequal(None, f"block.{field}", None, before.block[field], after.block[field])
    for number in sorted(before.block_hashes.keys() | after.block_hashes.keys()):
        hashes = (before.block_hashes.get(number), after.block_hashes.get(number))
        yield from _unequal(None, "block_hash", number, *hashes)
    for address in sorted(before.accounts.keys() | after.accounts.keys()):
        yield from _account_differences(address, before.account(address), after.account(address))


def _account_differences(
    address: bytes, before: AccountContents | None, after: AccountContents | None
) -> Iterator[Difference]:
    for field in ("balance", "nonce", "complete"):
        yield from _unequal(address, field, None, getattr(before, field, None), getattr(after, field, None))
    codes = [None if account is None else _name_of_code(account.code) for account in (before, after)]
    yield from _unequal(address, "code", None, *codes)
    for slot in sorted({*(before.slots if before else ()), *(after.slots if after else ())}):
        yield from _unequal(address, "slot", slot, _slot_of(before, slot), _slot_of(after, slot))


def _unequal(
    address: bytes | None, field: str, slot: int | None, before: object, after: object
) -> Iterator[Difference]:
    if before != after:
        yield Difference(address, field, slot, before, after)


def _slot_of(account: AccountContents | None, slot: int) -> int | None:
    return None if account is None else account.slots.get(slot, 0 if account.complete else None)


def _name_of_code(code: bytes) -> str:
    return f"{len(code):,} bytes, keccak 0x{keccak256(code).hex()}" if code else "none"


def _read_block(read: _Reader) -> dict[str, int | str | None]:
    block: dict[str, int | str | None] = {"number": read.integer(32), "timestamp": read.integer(32)}
    block["coinbase"] = f"0x{read.take(20).hex()}"
    block["gas_limit"] = read.integer(8)
    block["base_fee"] = read.integer(8)
    block["difficulty"] = read.integer(32)
    has_prevrandao, prevrandao = read.integer(1), f"0x{read.take(32).hex()}"
    block["prevrandao"] = prevrandao if has_prevrandao else None
    has_blob, excess_blob_gas, blob_gas_price = read.integer(1), read.integer(8), read.integer(16)
    block["excess_blob_gas"] = excess_blob_gas if has_blob else None
    block["blob_gas_price"] = blob_gas_price if has_blob else None
    return block


def _read_account(read: _Reader, codes: list[bytes]) -> AccountContents:
    balance, nonce, code, complete = read.integer(32), read.integer(8), read.integer(4), bool(read.integer(1))
    if code >= len(codes):
        raise SnapshotCorrupt(f"the dump names code {code} and holds {len(codes) - 1}")
    pairs = read.take(64 * read.integer(4))
    words = [int.from_bytes(pairs[at : at + 32], "big") for at in range(0, len(pairs), 32)]
    return AccountContents(balance, nonce, codes[code], complete, dict(zip(words[::2], words[1::2], strict=True)))


class _Reader:
    """Sequential reader of bytes; raises `SnapshotCorrupt` past the end."""

    __slots__ = ("at", "content")

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, count: int) -> bytes:
        part = self.content[self.at : self.at + count]
        if len(part) != count:
            raise SnapshotCorrupt(f"the dump ends at byte {len(self.content)} where {count} more were expected")
        self.at += count
        return part

    def integer(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")
