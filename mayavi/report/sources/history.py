"""Read the scans of a database of replayed blocks: exactness, differences by field, gas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import StoreUnreadable, UsageError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_BARS = 120
"""Bars of a chart over blocks; more blocks than that are summed in groups of equal size."""
MOST_DIFFERENCES = 200
_KEY = "chain_id = ? AND genesis = ? AND filter = ? AND state_check = ?"
SCANS = "SELECT DISTINCT chain_id, genesis, filter, state_check FROM replayed_blocks ORDER BY ALL"
TOTALS = f"""
SELECT min(number), max(number), count(*), count(*) FILTER (WHERE exact), count(*) FILTER (WHERE matched > 0),
       coalesce(sum(transactions), 0), coalesce(sum(matched), 0), coalesce(sum(gas_used), 0),
       coalesce(sum(state_values), 0), coalesce(sum(differences), 0), min(timestamp), max(timestamp),
       coalesce(string_agg(DISTINCT source, ', ' ORDER BY source) FILTER (WHERE source <> ''), '')
FROM replayed_blocks WHERE {_KEY}
"""
EXACT_TRANSACTIONS = f"SELECT count(*), count(*) FILTER (WHERE exact) FROM replayed_transactions WHERE {_KEY}"
BLOCKS = f"""
SELECT min(number), max(number), CAST(coalesce(sum(gas_used) FILTER (WHERE exact), 0) AS BIGINT),
       CAST(coalesce(sum(gas_used) FILTER (WHERE NOT exact), 0) AS BIGINT), count(*), count(*) FILTER (WHERE exact)
FROM replayed_blocks WHERE {_KEY} GROUP BY (number - ?) // ? ORDER BY 1
"""
HARD_FORKS = f"""
SELECT hardfork, count(*), count(*) FILTER (WHERE exact), CAST(sum(matched) AS BIGINT), CAST(sum(gas_used) AS BIGINT)
FROM replayed_blocks WHERE {_KEY} GROUP BY hardfork ORDER BY min(number)
"""
FIELDS = f"""
SELECT field, count(*), count(DISTINCT number), min(number) FROM (
    SELECT field, number FROM replayed_blocks WHERE {_KEY} AND NOT exact
) GROUP BY field ORDER BY 2 DESC, 1
"""
DIFFERENCES = f"""
SELECT number, transaction_index, transaction_hash, field, expected, got
FROM replayed_blocks WHERE {_KEY} AND NOT exact ORDER BY number LIMIT {MOST_DIFFERENCES}
"""
CALLS = f"""
SELECT recipient, selector, count(*), count(*) FILTER (WHERE exact),
       CAST(coalesce(sum(gas_used), 0) AS BIGINT)
FROM replayed_transactions WHERE {_KEY} GROUP BY recipient, selector ORDER BY 5 DESC, 1, 2 LIMIT 12
"""


@dataclass(frozen=True, slots=True)
class ScanData:
    """One scan: a chain, a filter and what was compared, with sums over its blocks."""

    chain_id: int
    genesis: str
    filter: str
    state_check: str
    first: int
    last: int
    blocks: int
    exact_blocks: int
    executed_blocks: int
    transactions: int
    matched: int
    exact_transactions: int
    gas_used: int
    state_values: int
    differences: int
    begin: int
    end: int
    source: str
    bars: list[tuple[int, int, int, int, int, int]]
    """Groups of blocks: first, last, gas of exact and of differing blocks, blocks, exact blocks."""
    hard_forks: list[tuple[str, int, int, int, int]]
    fields: list[tuple[str, int, int, int]]
    """First differences of blocks by field: field, number, blocks, first block."""
    listed: list[tuple[int, int | None, str | None, str, str, str]]
    calls: list[tuple[str | None, str | None, int, int, int]]

    @property
    def exact(self) -> bool:
        """Whether nothing differs from the chain."""
        return self.exact_blocks == self.blocks


def read_history(path: Path) -> list[ScanData]:
    """Read all scans of the database at `path`, the largest first."""
    with _reading(path) as database:
        scans = database.execute(SCANS).fetchall()
        found = [_scan(database, list(key)) for key in scans]
    return sorted(found, key=lambda scan: (-scan.blocks, scan.chain_id, scan.filter))


def _scan(database: DuckDBPyConnection, key: list[Any]) -> ScanData:
    totals = database.execute(TOTALS, key).fetchone()
    counted = database.execute(EXACT_TRANSACTIONS, key).fetchone()
    assert totals is not None
    assert counted is not None
    first, last, blocks, exact, executed, transactions, matched, gas, values, differences, begin, end, source = totals
    size = max(1, -(-(last - first + 1) // MOST_BARS))
    return ScanData(
        chain_id=key[0],
        genesis=key[1],
        filter=key[2],
        state_check=key[3],
        first=first,
        last=last,
        blocks=blocks,
        exact_blocks=exact,
        executed_blocks=executed,
        transactions=int(transactions),
        matched=int(matched),
        exact_transactions=counted[1],
        gas_used=int(gas),
        state_values=int(values),
        differences=int(differences),
        begin=begin,
        end=end,
        source=source,
        bars=database.execute(BLOCKS, [*key, first, size]).fetchall(),
        hard_forks=database.execute(HARD_FORKS, key).fetchall(),
        fields=database.execute(FIELDS, key).fetchall(),
        listed=database.execute(DIFFERENCES, key).fetchall(),
        calls=database.execute(CALLS, key).fetchall(),
    )


@contextmanager
def _reading(path: Path) -> Iterator[DuckDBPyConnection]:
    import duckdb

    if not path.is_file():
        raise UsageError(f"there is no database of replays at '{path}'", "`mayavi replay history` writes one")
    try:
        database = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        text = str(error).splitlines()[0]
        raise StoreUnreadable(f"'{path}' cannot be opened: {text}", "close the program that uses it") from None
    try:
        yield database
    except duckdb.CatalogException:
        raise UsageError(f"'{path}' is not a database of replays", "`mayavi replay history` writes one") from None
    finally:
        database.close()
