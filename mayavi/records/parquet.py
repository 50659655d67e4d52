"""Parquet files of integers, floats and texts, written by the kernel.

We have our own writer for two reasons. Its bytes depend on the rows alone, so a bundle has the same hash whatever
library versions wrote it. And a run needs no database engine until it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from mayavi import _kernel
from mayavi.records.figures import SnapshotColumns

Kind = Literal["integer", "unsigned", "float", "text", "time"]
"""Column types; `time` is in microseconds since 1970, UTC."""

Value = int | float | str
Table = list[list[Value]] | SnapshotColumns
"""Rows of a table of the store, by column, in the order of the schema."""


def parquet_bytes(columns: Mapping[str, tuple[Kind, Sequence[Value]]]) -> bytes:
    """Encode `columns`, each a kind and its values, as a Parquet file. All have one length and no missing value."""
    return _kernel.parquet_bytes([(name, kind, values) for name, (kind, values) in columns.items()])


def table_bytes(table: Table, kinds: Mapping[str, Kind]) -> bytes:
    """Encode a table whose columns have the names and kinds `kinds` as a Parquet file."""
    if isinstance(table, SnapshotColumns):
        return table.parquet()
    return parquet_bytes({name: (kind, values) for (name, kind), values in zip(kinds.items(), table, strict=True)})
