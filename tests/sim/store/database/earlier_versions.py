"""Databases and segments as earlier versions of the schema wrote them, made by code.

A released version is frozen here as SQL: a later change of `mayavi/sim/store/database/schema.py` must not change it.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

V1_TABLES = {
    "mayavi_schema": "version BIGINT NOT NULL",
    "merged_segments": "segment VARCHAR NOT NULL",
    "runs": "run_id VARCHAR, sweep_id VARCHAR, scenario VARCHAR, scenario_text VARCHAR, seed UBIGINT, steps BIGINT,"
    " chain VARCHAR, source VARCHAR, world_digest VARCHAR, versions VARCHAR, started_at TIMESTAMP, status VARCHAR,"
    " digest VARCHAR, final_world_digest VARCHAR, timings VARCHAR, error VARCHAR",
    "actions": "run_id VARCHAR, seq BIGINT, step BIGINT, block VARCHAR, position BIGINT, agent VARCHAR,"
    " account VARCHAR, kind VARCHAR, status VARCHAR, reason VARCHAR, transactions BIGINT, gas_used BIGINT,"
    " fee_wei VARCHAR, block_number BIGINT, timestamp BIGINT, details VARCHAR",
    "market_snapshots": "run_id VARCHAR, seq BIGINT, step BIGINT, block_number BIGINT, timestamp BIGINT,"
    " subject VARCHAR, metric VARCHAR, value VARCHAR, number DOUBLE, unit VARCHAR",
    "kpis": "run_id VARCHAR, seq BIGINT, name VARCHAR, value VARCHAR, number DOUBLE, unit VARCHAR",
}

V1_ROWS = {
    "mayavi_schema": "(1)",
    "merged_segments": "('20250101-000000000-aaaaaaaa.000000.v1')",
    "runs": "('20250101-000000000-aaaaaaaa', NULL, 'depeg_cascade', 'name: depeg_cascade', 18446744073709551615, 2,"
    " 'base', 'replica', 'ab', '{\"mayavi\":\"0.1.0\"}', TIMESTAMP '2025-01-01 00:00:00.000001', 'finished',"
    " 'the digest', 'cd', '{\"total\":2.5}', '')",
    "actions": "('20250101-000000000-aaaaaaaa', 0, 0, 'b', 0, 'alice', 'alice', 'borrow', 'success', '', 1, 21000,"
    " '115792089237316195423570985008687907853269984665640564039457584007913129639935', 1, 2, '{}'),"
    " ('20250101-000000000-aaaaaaaa', 1, 1, 'b', 0, 'alice', 'alice', 'borrow', 'failed', 'no', 1, 21000,"
    " '7', 1, 2, '{}')",
    "market_snapshots": "('20250101-000000000-aaaaaaaa', 2, 1, 1, 2, 'AaveV3.USDC', 'price', '99999999999999999999',"
    " 1e20, 'e8')",
    "kpis": "('20250101-000000000-aaaaaaaa', 3, 'bad_debt', '123', 123.0, 'usd_e8')",
}

V2_TABLES = {
    **V1_TABLES,
    "runs": V1_TABLES["runs"] + ", seconds DOUBLE, steps_done BIGINT, action_count BIGINT, failed_count BIGINT,"
    " raised_count BIGINT, snapshot_count BIGINT",
    "actions": V1_TABLES["actions"] + ", fee_wei_number DOUBLE",
    "sweeps": "sweep_id VARCHAR, scenario VARCHAR, scenario_text VARCHAR, plan VARCHAR, status VARCHAR,"
    " summary VARCHAR, versions VARCHAR, started_at TIMESTAMP, updated_at TIMESTAMP",
}

V2_ROWS = {
    **V1_ROWS,
    "mayavi_schema": "(2)",
    "merged_segments": "('20250101-000000000-aaaaaaaa.000000.v2')",
    "runs": V1_ROWS["runs"].removesuffix(")") + ", 2.5, 2, 2, 1, 0, 1)",
    "actions": V1_ROWS["actions"].replace("'{}'),", "'{}', 1.157920892373162e77),").removesuffix(")") + ", 7.0)",
}

V3_TABLES = {
    **V2_TABLES,
    "accounts": "run_id VARCHAR, seq BIGINT, agent VARCHAR, account VARCHAR, market VARCHAR, unit VARCHAR,"
    " collateral VARCHAR, debt VARCHAR, health_factor VARCHAR, liquidations BIGINT, liquidated VARCHAR,"
    " bad_debt VARCHAR, reason VARCHAR, collateral_number DOUBLE, debt_number DOUBLE, liquidated_number DOUBLE,"
    " bad_debt_number DOUBLE",
}

V3_ROWS = {
    **V2_ROWS,
    "mayavi_schema": "(3)",
    "merged_segments": "('20250101-000000000-aaaaaaaa.000000.v3')",
    "accounts": "('20250101-000000000-aaaaaaaa', 4, 'borrowers', 'borrower_0', 'AaveV3', 'usd_e8', '300', '200',"
    " '1500000000000000000', 0, '0', '0', '', 3e-06, 2e-06, 0.0, 0.0)",
}

EARLIER = {1: (V1_TABLES, V1_ROWS), 2: (V2_TABLES, V2_ROWS), 3: (V3_TABLES, V3_ROWS)}
RUN = "20250101-000000000-aaaaaaaa"


def make_database(path: Path, version: int) -> None:
    """The database that `version` wrote of one run."""
    tables, rows = EARLIER[version]
    with duckdb.connect(path) as connection:
        for table, columns in tables.items():
            connection.execute(f"CREATE TABLE {table} ({columns})")
            if table in rows:
                connection.execute(f"INSERT INTO {table} VALUES {rows[table]}")


def make_segment(path: Path, version: int) -> None:
    """The segment that `version` wrote of the same run."""
    tables, rows = EARLIER[version]
    folder = path.with_name(path.name + ".segments") / "rows" / f"{RUN}.000000.v{version}"
    folder.mkdir(parents=True)
    with duckdb.connect() as connection:
        for table, columns in tables.items():
            if "run_id" in columns:
                connection.execute(f"CREATE TABLE {table} ({columns})")
                connection.execute(f"INSERT INTO {table} VALUES {rows[table]}")
                connection.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
