"""DuckDB file of replayed blocks and transactions: what a scan resumes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import StoreError, StoreUnreadable
from mayavi.replay.history.block_replay import ReplayedBlock
from mayavi.runs.sql_values import filled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DEFAULT = Path("data/runs/history.duckdb")
VERSION = 1
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS replay_version (version INTEGER)",
    """CREATE TABLE IF NOT EXISTS replayed_blocks (
        chain_id BIGINT, genesis VARCHAR, filter VARCHAR, state_check VARCHAR, number BIGINT, hash VARCHAR,
        hardfork VARCHAR, timestamp BIGINT, transactions INTEGER, matched INTEGER, gas_used BIGINT, exact BOOLEAN,
        state_values INTEGER, source VARCHAR, seconds DOUBLE, differences INTEGER,
        transaction_index INTEGER, transaction_hash VARCHAR, field VARCHAR, expected VARCHAR, got VARCHAR,
        PRIMARY KEY (chain_id, genesis, filter, state_check, number))""",
    """CREATE TABLE IF NOT EXISTS replayed_transactions (
        chain_id BIGINT, genesis VARCHAR, filter VARCHAR, state_check VARCHAR, block BIGINT, index INTEGER,
        hash VARCHAR, sender VARCHAR, recipient VARCHAR, selector VARCHAR, success BOOLEAN, gas_used BIGINT,
        logs INTEGER, exact BOOLEAN, field VARCHAR, expected VARCHAR, got VARCHAR)""",
)
_KEY = "chain_id = ? AND genesis = ? AND filter = ? AND state_check = ?"


@dataclass(frozen=True, slots=True)
class Scan:
    """Identity of a scan: the same blocks with the same filter are not replayed twice."""

    chain_id: int
    genesis: bytes
    filter: str
    state_check: str

    @property
    def key(self) -> list[Any]:
        """Values of the key columns."""
        return [self.chain_id, "0x" + self.genesis.hex(), self.filter, self.state_check]


@dataclass(frozen=True, slots=True)
class StoredDifference:
    """First difference of a stored block."""

    block: int
    transaction: int | None
    transaction_hash: str | None
    field: str
    expected: str
    got: str

    def __str__(self) -> str:
        where = "" if self.transaction is None else f", transaction {self.transaction} ({self.transaction_hash})"
        return f"block {self.block}{where}: {self.field}: expected {self.expected}, got {self.got}"

    def to_json(self) -> dict[str, Any]:
        """Return the difference as JSON data."""
        return {name: getattr(self, name) for name in self.__slots__}


class HistoryStore:
    """Database of replays. Close it, or use it as a context manager."""

    def __init__(self, path: Path) -> None:
        import duckdb

        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = duckdb.connect(str(path))
            for statement in _SCHEMA:
                self._database.execute(statement)
            stored = self._database.execute("SELECT version FROM replay_version").fetchone()
        except (duckdb.Error, OSError) as error:
            text = str(error).splitlines()[0]
            raise StoreUnreadable(
                f"'{path}' cannot be opened: {text}", "close the program that uses it, or name another with --store"
            ) from None
        if stored is None:
            self._ask("INSERT INTO replay_version VALUES (?)", [VERSION])
        elif stored[0] != VERSION:
            self._database.close()
            raise StoreError(
                f"'{path}' has format {stored[0]}, this Mayavi reads {VERSION}", "name another with --store"
            )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> HistoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def done(self, scan: Scan, first: int, last: int) -> dict[int, bytes]:
        """Return number and hash of the stored blocks from `first` to `last`."""
        rows = self._ask(
            f"SELECT number, hash FROM replayed_blocks WHERE {_KEY} AND number BETWEEN ? AND ? ORDER BY number",
            [*scan.key, first, last],
        ).fetchall()
        return {number: bytes.fromhex(text[2:]) for number, text in rows}

    def forget(self, scan: Scan, first: int, last: int) -> None:
        """Delete the stored blocks from `first` to `last`."""
        for table, column in (("replayed_blocks", "number"), ("replayed_transactions", "block")):
            self._ask(f"DELETE FROM {table} WHERE {_KEY} AND {column} BETWEEN ? AND ?", [*scan.key, first, last])

    def add(self, scan: Scan, blocks: list[ReplayedBlock]) -> None:
        """Store replayed blocks and their matching transactions, all or none."""
        if not blocks:
            return
        rows = [[*scan.key, *_transaction_row(block, each)] for block in blocks for each in block.matched]
        self._database.execute("BEGIN")
        try:
            self._insert("replayed_blocks", [[*scan.key, *_block_row(block)] for block in blocks])
            self._insert("replayed_transactions", rows)
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise

    def _insert(self, table: str, rows: list[list[Any]]) -> None:
        if not rows:
            return
        places = ", ".join("(" + ", ".join("?" * len(rows[0])) + ")" for _ in rows)
        self._ask(f"INSERT INTO {table} VALUES {places}", [value for row in rows for value in row])

    def _ask(self, query: str, values: list[Any]) -> DuckDBPyConnection:
        return self._database.execute(filled(query, values))

    def totals(self, scan: Scan, first: int, last: int) -> dict[str, int]:
        """Return sums over the stored blocks from `first` to `last`."""
        row = self._ask(
            "SELECT count(*), coalesce(sum(transactions), 0), coalesce(sum(matched), 0), coalesce(sum(gas_used), 0),"
            " count(*) FILTER (WHERE exact), coalesce(sum(state_values), 0), coalesce(sum(differences), 0),"
            f" count(*) FILTER (WHERE matched > 0) FROM replayed_blocks WHERE {_KEY} AND number BETWEEN ? AND ?",
            [*scan.key, first, last],
        ).fetchone()
        exact = self._ask(
            f"SELECT count(*) FILTER (WHERE exact) FROM replayed_transactions WHERE {_KEY} AND block BETWEEN ? AND ?",
            [*scan.key, first, last],
        ).fetchone()
        names = ("blocks", "transactions", "matched", "gas_used", "exact_blocks", "state_values", "differences")
        if row is None or exact is None:  # aggregates always give a row
            raise StoreError(f"'{self.path}' gives no sums")
        found = {name: int(value) for name, value in zip(names, row, strict=False)}
        return {**found, "executed_blocks": int(row[-1]), "exact_transactions": int(exact[0])}

    def differences(self, scan: Scan, first: int, last: int) -> list[StoredDifference]:
        """Return the first difference of each block that differs, in order."""
        rows = self._ask(
            "SELECT number, transaction_index, transaction_hash, field, expected, got FROM replayed_blocks"
            f" WHERE {_KEY} AND NOT exact AND number BETWEEN ? AND ? ORDER BY number",
            [*scan.key, first, last],
        ).fetchall()
        return [StoredDifference(*row) for row in rows]


def _block_row(done: ReplayedBlock) -> list[Any]:
    block, first = done.block, done.differences[0] if done.differences else None
    return [
        block.number,
        "0x" + block.header.hash.hex(),
        block.hardfork,
        block.header.timestamp,
        len(block.transactions),
        len(done.matched),
        done.gas_used,
        done.exact,
        done.state_values,
        done.source,
        done.seconds,
        len(done.differences),
        *((first.transaction, first.transaction_hash, first.field, first.expected, first.got) if first else [None] * 5),
    ]


def _transaction_row(done: ReplayedBlock, row: Any) -> list[Any]:
    each, difference = row.transaction, row.difference
    return [
        done.block.number,
        each.index,
        "0x" + each.hash.hex(),
        "0x" + each.sender.hex(),
        None if each.to is None else "0x" + each.to.hex(),
        "0x" + each.selector.hex() if each.selector else None,
        row.success,
        row.gas_used,
        row.logs,
        difference is None,
        *((difference.field, difference.expected, difference.got) if difference else [None] * 3),
    ]
