"""Content of price files."""

from __future__ import annotations

from pathlib import Path

import duckdb

GOOD = "time,open,close\n2023-03-11 00:00:00,9,1.0\n2023-03-11 01:00:00,9,0.97\n2023-03-11 02:00:00,9,0.95\n"


def lines(*rows: str, header: str = "time,close") -> str:
    return "\n".join([header, *rows]) + "\n"


def write_parquet(path: Path, select: str, timezone: str = "UTC") -> None:
    rows = [("2023-03-11 00:00:00", 1.0, 0), ("2023-03-11 01:00:00", 0.97, 1), ("2023-03-11 02:00:00", 0.95, 2)]
    values = "(values " + ", ".join(f"('{time}', {price}::double, {i})" for time, price, i in rows) + ")"
    with duckdb.connect() as database:
        database.execute(f"set timezone = '{timezone}'")
        database.execute(f"copy ({select} from {values} as v(t, p, i)) to '{path}' (format parquet)")
