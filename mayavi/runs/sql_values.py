"""Values written as SQL text. To bind a parameter, DuckDB imports pandas if it is installed, which takes a second."""

from __future__ import annotations

from collections.abc import Sequence


def sql_value(value: object) -> str:
    """Write None, a boolean, a number, a text or a list of them as SQL; raise `TypeError` for anything else."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(sql_value, value)) + "]"
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as SQL")


def filled(query: str, values: Sequence[object]) -> str:
    """Return `query` with each `?` replaced by the value in its place. The query itself must hold no other `?`."""
    first, *rest = query.split("?")
    return first + "".join(sql_value(value) + part for value, part in zip(values, rest, strict=True))
