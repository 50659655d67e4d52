"""Tables of the store, their versions, and migrations from earlier versions.

Integers that may exceed 64 bits are decimal text, with a float column beside them for sums and plots. `seq` numbers the
rows of a run across all its tables in the order of the digest.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mayavi.errors import StoreFutureVersion, StoreUnreadable
from mayavi.records.parquet import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection

VERSION = 4

Columns = dict[str, Kind]

TABLES: dict[str, Columns] = {
    "runs": {
        "run_id": "text",
        "sweep_id": "text",
        "scenario": "text",
        "scenario_text": "text",
        "seed": "unsigned",
        "steps": "integer",
        "chain": "text",
        "source": "text",
        "world_digest": "text",
        "versions": "text",
        "started_at": "time",
        "status": "text",
        "digest": "text",
        "final_world_digest": "text",
        "timings": "text",
        "error": "text",
        "seconds": "float",
        "steps_done": "integer",
        "action_count": "integer",
        "failed_count": "integer",
        "raised_count": "integer",
        "snapshot_count": "integer",
        "specialise": "text",
    },
    "actions": {
        "run_id": "text",
        "seq": "integer",
        "step": "integer",
        "block": "text",
        "position": "integer",
        "agent": "text",
        "account": "text",
        "kind": "text",
        "status": "text",
        "reason": "text",
        "transactions": "integer",
        "gas_used": "integer",
        "fee_wei": "text",
        "block_number": "integer",
        "timestamp": "integer",
        "details": "text",
        "fee_wei_number": "float",
    },
    "market_snapshots": {
        "run_id": "text",
        "seq": "integer",
        "step": "integer",
        "block_number": "integer",
        "timestamp": "integer",
        "subject": "text",
        "metric": "text",
        "value": "text",
        "number": "float",
        "unit": "text",
    },
    "kpis": {
        "run_id": "text",
        "seq": "integer",
        "name": "text",
        "value": "text",
        "number": "float",
        "unit": "text",
    },
    "accounts": {
        "run_id": "text",
        "seq": "integer",
        "agent": "text",
        "account": "text",
        "market": "text",
        "unit": "text",
        "collateral": "text",
        "debt": "text",
        "health_factor": "text",
        "liquidations": "integer",
        "liquidated": "text",
        "bad_debt": "text",
        "reason": "text",
        "collateral_number": "float",
        "debt_number": "float",
        "liquidated_number": "float",
        "bad_debt_number": "float",
    },
    "sweeps": {
        "sweep_id": "text",
        "scenario": "text",
        "scenario_text": "text",
        "plan": "text",
        "status": "text",
        "summary": "text",
        "versions": "text",
        "started_at": "time",
        "updated_at": "time",
    },
}
"""Tables of this version with their columns in order."""

DERIVED = {"fee_wei_number", "collateral_number", "debt_number", "liquidated_number", "bad_debt_number"}
"""Columns that repeat an exact integer as a float, for sums and plots."""

SQL_TYPES: dict[Kind, str] = {
    "integer": "BIGINT",
    "unsigned": "UBIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "time": "TIMESTAMP",
}

NEW_TABLES: dict[int, tuple[str, ...]] = {2: ("sweeps",), 3: ("accounts",)}
"""Tables added by each version."""

NULL_WHEN_EMPTY = {("runs", "sweep_id")}
"""Texts that are NULL in the database where a segment, which has no NULL, holds an empty text."""

_NOT_COUNTED = "CAST(NULL AS BIGINT)"

ADDED: dict[int, dict[str, dict[str, str]]] = {
    2: {
        "runs": {
            "seconds": "CAST(json_extract_string(timings, '$.total') AS DOUBLE)",
            "steps_done": _NOT_COUNTED,
            "action_count": _NOT_COUNTED,
            "failed_count": _NOT_COUNTED,
            "raised_count": _NOT_COUNTED,
            "snapshot_count": _NOT_COUNTED,
        },
        "actions": {"fee_wei_number": "CAST(fee_wei AS DOUBLE)"},
    },
    3: {},
    4: {"runs": {"specialise": "CAST('{}' AS VARCHAR)"}},
}
"""By version, table and added column: SQL expression for rows written before, over their columns."""

COUNTS = {
    "steps_done": "1 + coalesce(greatest((SELECT max(a.step) FROM actions AS a WHERE a.run_id = runs.run_id),"
    " (SELECT max(s.step) FROM market_snapshots AS s WHERE s.run_id = runs.run_id)), -1)",
    "action_count": "(SELECT count(*) FROM actions AS a WHERE a.run_id = runs.run_id)",
    "failed_count": "(SELECT count(*) FROM actions AS a WHERE a.run_id = runs.run_id AND a.status = 'failed')",
    "raised_count": "(SELECT count(*) FROM actions AS a WHERE a.run_id = runs.run_id AND a.status = 'raised')",
    "snapshot_count": "(SELECT count(*) FROM market_snapshots AS s WHERE s.run_id = runs.run_id)",
}
"""SQL counts for runs without their own: killed runs, and runs of version 1."""

ADDED_IN_DATABASES: dict[int, dict[str, dict[str, str]]] = {2: {"runs": COUNTS}}
"""Like `ADDED`, for databases only: the expressions read other tables, of which a segment may hold only a part."""

_BOOKKEEPING = (
    "CREATE TABLE mayavi_schema (version BIGINT NOT NULL)",
    "CREATE TABLE merged_segments (segment VARCHAR NOT NULL)",
)


def create_statements() -> list[str]:
    """Return the statements that create the tables of this version."""
    return [*_BOOKKEEPING, *map(create_table, TABLES), f"INSERT INTO mayavi_schema VALUES ({VERSION})"]


def create_table(table: str, version: int | None = None) -> str:
    """Return the statement that creates `table` as of `version`, by default this one."""
    later = {name for target in range((version or VERSION) + 1, VERSION + 1) for name in ADDED[target].get(table, ())}
    columns = [f"{name} {SQL_TYPES[kind]}" for name, kind in TABLES[table].items() if name not in later]
    return f"CREATE TABLE {table} ({', '.join(columns)})"


def version_of(connection: DuckDBPyConnection, path: Path) -> int:
    """Return the schema version of a database; 0 if it is empty.

    Raises `StoreUnreadable` if its tables are not ours, `StoreFutureVersion` if a newer Mayavi wrote them.
    """
    import _duckdb as duckdb

    try:
        row = connection.execute("SELECT max(version) FROM mayavi_schema").fetchone()
    except duckdb.CatalogException:
        if not connection.execute(
            "SELECT 1 FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() LIMIT 1"
        ).fetchall():
            return 0
        raise StoreUnreadable(
            f"'{path}' is a database, but holds no runs of mayavi",
            "name another file with `--store` or MAYAVI_STORE",
        ) from None
    version = row[0] if row and isinstance(row[0], int) else 0
    if version < 1:
        raise StoreUnreadable(f"'{path}' does not say which version it has", "move it away; a new one is made")
    if version > VERSION:
        raise StoreFutureVersion(
            f"'{path}' has schema version {version}, this mayavi knows versions up to {VERSION}",
            "use the newer mayavi that wrote it, or name another file with `--store` or MAYAVI_STORE",
        )
    return version


def bring_up_to_date(connection: DuckDBPyConnection, path: Path) -> None:
    """Create or migrate the tables in one transaction; do nothing for a database of this version."""
    version = version_of(connection, path)
    if version == VERSION:
        return
    statements = migration_statements(version) if version else create_statements()
    connection.execute("BEGIN")
    try:
        for statement in statements:
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(Exception):  # a failed commit has already rolled back
            connection.execute("ROLLBACK")
        raise


def migration_statements(version: int) -> list[str]:
    """Return the statements that migrate from `version` to this one: new tables, and new columns with their values.

    A table that gains columns is rewritten: DuckDB does not commit values of a column added in the same transaction.
    """
    statements = []
    for target in range(version + 1, VERSION + 1):
        for table, columns in ADDED.get(target, {}).items():
            known = ADDED_IN_DATABASES.get(target, {}).get(table, {})
            values = ", ".join(
                f"CAST({known.get(name, value)} AS {SQL_TYPES[TABLES[table][name]]}) AS {name}"
                for name, value in columns.items()
            )
            statements.append(f"CREATE TABLE {table}_next AS SELECT *, {values} FROM {table}")
            statements.append(f"DROP TABLE {table}")
            statements.append(f"ALTER TABLE {table}_next RENAME TO {table}")
        statements += [create_table(table, target) for table in NEW_TABLES.get(target, ())]
    return [*statements, f"UPDATE mayavi_schema SET version = {VERSION}"]


def literal(text: str) -> str:
    """Quote `text` for SQL. A bound parameter would make DuckDB import pandas, which takes longer than a run."""
    return "'" + text.replace("'", "''") + "'"


def listed(texts: list[str]) -> str:
    """Write `texts` as an SQL list."""
    return "[" + ", ".join(map(literal, texts)) + "]"
