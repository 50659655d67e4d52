"""Cached state of one block: accounts, slots and the hashes of its ancestors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from sqlite3 import Connection

from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.cache import Cache, seal, unseal

Account = tuple[int, int, bytes]  # balance in wei, nonce, code

_EMPTY_CODE_HASH = bytes.fromhex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")


class BlockCache:
    """Accounts, slots and ancestors' hashes as of one block."""

    def __init__(self, cache: Cache, chain_id: int, block_hash: bytes) -> None:
        self._cache = cache
        self._chain_id = chain_id
        self._hash = block_hash
        self._row_id: int | None = None

    def accounts(self, addresses: Iterable[bytes]) -> dict[bytes, Account]:
        """Return the cached accounts of `addresses` whose checksums match."""
        query = "SELECT address, state FROM accounts WHERE block = ? AND address = ?"
        found = self._rows(query, ((address,) for address in addresses))
        return self._accounts(found)

    def slots(self, keys: Iterable[tuple[bytes, int]]) -> dict[tuple[bytes, int], int]:
        """Return the cached slots of the (address, slot) `keys` whose checksums match."""
        query = "SELECT address, slot, value FROM slots WHERE block = ? AND address = ? AND slot = ?"
        return self._slots(self._rows(query, ((address, slot.to_bytes(32, "big")) for address, slot in keys)))

    def block_hashes(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Return the cached ancestor hashes whose checksums match."""
        query = "SELECT number, hash FROM ancestors WHERE block = ? AND number = ?"
        return self._ancestors(self._rows(query, ((number,) for number in numbers)))

    def everything(self) -> tuple[dict[bytes, Account], dict[tuple[bytes, int], int], dict[int, bytes]]:
        """Return all cached values of this block whose checksums match."""
        return (
            self._accounts(self._rows("SELECT address, state FROM accounts WHERE block = ?", ((),))),
            self._slots(self._rows("SELECT address, slot, value FROM slots WHERE block = ?", ((),))),
            self._ancestors(self._rows("SELECT number, hash FROM ancestors WHERE block = ?", ((),))),
        )

    def store(
        self,
        accounts: Mapping[bytes, Account],
        slots: Mapping[tuple[bytes, int], int],
        block_hashes: Mapping[int, bytes],
    ) -> None:
        """Store values of this block in one transaction. Its header must be stored already."""
        codes: dict[bytes, bytes] = {}
        account_rows: list[tuple[object, ...]] = []
        for address, (balance, nonce, code) in accounts.items():
            code_hash = keccak256(code)
            if code:
                codes[code_hash] = code
            state = balance.to_bytes(32, "big") + nonce.to_bytes(8, "big") + code_hash
            account_rows.append((address, seal(self._hash + address, state)))
        slot_rows: list[tuple[object, ...]] = []
        for (address, number), value in slots.items():
            slot = number.to_bytes(32, "big")
            slot_rows.append((address, slot, seal(self._hash + address + slot, value.to_bytes(32, "big"))))
        ancestor_rows: list[tuple[object, ...]] = [
            (n, seal(self._hash + b"%d" % n, ancestor)) for n, ancestor in block_hashes.items()
        ]

        def work(connection: Connection) -> None:
            find = "SELECT id FROM blocks WHERE chain_id = ? AND hash = ?"
            found = connection.execute(find, (self._chain_id, self._hash)).fetchone()
            if found is None:
                return
            for statement, rows in (
                ("INSERT OR REPLACE INTO accounts VALUES (?, ?, ?)", account_rows),
                ("INSERT OR REPLACE INTO slots VALUES (?, ?, ?, ?)", slot_rows),
                ("INSERT OR REPLACE INTO ancestors VALUES (?, ?, ?)", ancestor_rows),
            ):
                connection.executemany(statement, ((found[0], *row) for row in rows))
            connection.executemany("INSERT OR REPLACE INTO code VALUES (?, ?)", codes.items())

        self._cache.write(work)

    def _rows(self, query: str, keys: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
        with self._cache.reading() as connection:
            if self._row_id is None:
                found = connection.execute(
                    "SELECT id FROM blocks WHERE chain_id = ? AND hash = ?", (self._chain_id, self._hash)
                ).fetchone()
                if found is None:
                    return []
                self._row_id = found[0]
            rows: list[tuple[object, ...]] = []
            for key in keys:
                rows.extend(connection.execute(query, (self._row_id, *key)))
            return rows

    def _accounts(self, rows: list[tuple[object, ...]]) -> dict[bytes, Account]:
        found: dict[bytes, Account] = {}
        codes: dict[bytes, bytes | None] = {_EMPTY_CODE_HASH: b""}
        for address, sealed in rows:
            state = unseal(self._hash + address, sealed, 72) if isinstance(address, bytes) else None
            if state is None:
                continue
            code_hash = state[40:]
            if code_hash not in codes:
                codes[code_hash] = self._code(code_hash)
            code = codes[code_hash]
            if code is not None and isinstance(address, bytes):
                found[address] = (int.from_bytes(state[:32], "big"), int.from_bytes(state[32:40], "big"), code)
        return found

    def _code(self, code_hash: bytes) -> bytes | None:
        row = self._cache.one("SELECT code FROM code WHERE hash = ?", code_hash)
        if row is None or not isinstance(row[0], bytes) or keccak256(row[0]) != code_hash:
            return None
        return row[0]

    def _slots(self, rows: list[tuple[object, ...]]) -> dict[tuple[bytes, int], int]:
        found: dict[tuple[bytes, int], int] = {}
        for address, slot, sealed in rows:
            if isinstance(address, bytes) and isinstance(slot, bytes):
                value = unseal(self._hash + address + slot, sealed, 32)
                if value is not None:
                    found[address, int.from_bytes(slot, "big")] = int.from_bytes(value, "big")
        return found

    def _ancestors(self, rows: list[tuple[object, ...]]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for number, sealed in rows:
            if isinstance(number, int):
                ancestor = unseal(self._hash + b"%d" % number, sealed, 32)
                if ancestor is not None:
                    found[number] = ancestor
        return found
