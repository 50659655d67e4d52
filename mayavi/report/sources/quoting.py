"""SQL literals. Queries hold their values as text: binding parameters makes DuckDB import pandas, which is slow."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(text: str) -> str:
    """Return `text` as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_list(texts: Iterable[str]) -> str:
    """Return texts as the list of an `IN`, never empty: `('a', 'b')`."""
    return f"({', '.join(map(quoted, texts)) or 'NULL'})"
