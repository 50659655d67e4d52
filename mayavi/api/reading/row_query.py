"""`RowQuery`: which rows of a table, as SQL in which values are parameters and names come from the schema."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from mayavi.api.errors import ApiError
from mayavi.api.models.base import Problem
from mayavi.api.models.rows import TableName
from mayavi.errors import did_you_mean
from mayavi.records.parquet import Kind
from mayavi.sim.store.database.schema import TABLES

EXACT = {
    "actions": {"fee_wei"},
    "market_snapshots": {"value"},
    "kpis": {"value"},
    "accounts": {"collateral", "debt", "health_factor", "liquidated", "bad_debt"},
}
"""Columns of exact integers, which are decimal text and are compared and sorted as numbers."""
_COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TEXTUAL = {"contains": "contains", "starts": "starts_with"}
OPERATORS = (*_COMPARISONS, *_TEXTUAL)
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A checked request for rows. `condition` and `order` are SQL, `values` their parameters after the run's id."""

    table: TableName
    columns: tuple[str, ...]
    condition: str
    order: str
    values: list[object] = field(default_factory=list)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kinds of the chosen columns."""
        return {name: TABLES[self.table][name] for name in self.columns}

    @property
    def counting(self) -> str:
        """SQL that counts all rows of the query."""
        return f"SELECT count(*) FROM {self.table} WHERE {self.condition}"

    def selecting(self, expressions: Sequence[str]) -> str:
        """SQL for a page of expressions; limit and offset are the last two parameters."""
        last = len(self.values) + 1
        return (
            f"SELECT {', '.join(expressions)} FROM {self.table} WHERE {self.condition} ORDER BY {self.order}"
            f" LIMIT ${last + 1} OFFSET ${last + 2}"
        )


def row_query(
    table: TableName, where: Sequence[str] = (), sort: str | None = None, columns: str | None = None
) -> RowQuery:
    """Check filters, order and columns against the schema of the table; 422 with every problem if one is wrong."""
    known = TABLES[table]
    problems: list[Problem] = []
    conditions, values = ["run_id = $1"], list[object]()
    for number, text in enumerate(where):
        try:
            condition, value = _filter(table, text, len(values) + 2)
        except _Wrong as wrong:
            problems.append(Problem(message=wrong.message, hint=wrong.hint, field=f"where.{number}"))
        else:
            conditions.append(condition)
            values.append(value)
    chosen = tuple(known)[1:] if columns is None else tuple(dict.fromkeys(each.strip() for each in columns.split(",")))
    order = "seq"
    try:
        for name in chosen:
            _column(table, name)
    except _Wrong as wrong:
        problems.append(Problem(message=wrong.message, hint=wrong.hint, field="columns"))
    if sort is not None:
        try:
            name = _column(table, sort.removeprefix("-"))
            order = f"{_comparable(table, name)}{' DESC' if sort.startswith('-') else ''} NULLS LAST, seq"
        except _Wrong as wrong:
            problems.append(Problem(message=wrong.message, hint=wrong.hint, field="sort"))
    if problems:
        raise ApiError(422, problems[0].message, problems[0].hint, problems=tuple(problems))
    return RowQuery(table, chosen, " AND ".join(conditions), order, values)


class _Wrong(Exception):  # noqa: N818
    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message, self.hint = message, hint


def _filter(table: TableName, text: str, place: int) -> tuple[str, object]:
    """Return the SQL of a filter `COLUMN:OPERATOR:VALUE`, and its parameter numbered `place`."""
    if len(text) > _LONGEST:
        raise _Wrong(f"a filter has {len(text):,} characters", f"at most {_LONGEST} are allowed")
    parts = text.split(":", 2)
    if len(parts) < 3:
        raise _Wrong(
            f"'{text}' is not a valid filter", "write it as COLUMN:OPERATOR:VALUE, such as `kind:eq:liquidate`"
        )
    name, operator, written = parts
    _column(table, name)
    if operator in _TEXTUAL:
        if TABLES[table][name] != "text":
            raise _Wrong(f"'{operator}' is for texts, and '{name}' holds numbers", "use eq, ne, lt, le, gt or ge")
        return f"{_TEXTUAL[operator]}({name}, ${place}::VARCHAR)", written
    if operator not in _COMPARISONS:
        raise _Wrong(
            f"'{operator}' is not a valid operator", did_you_mean(operator, OPERATORS) or f"use {', '.join(OPERATORS)}"
        )
    sign = _COMPARISONS[operator]
    kind = TABLES[table][name]
    if name in EXACT[table]:
        return f"{_comparable(table, name)} {sign} ${place}::BIGNUM", str(_integer(name, written))
    if kind == "integer":
        value = _integer(name, written)
        return f"{name}::HUGEINT {sign} ${place}::HUGEINT", max(-(2**100), min(2**100, value))
    if kind == "float":
        return f"{name} {sign} ${place}::DOUBLE", _float(name, written)
    return f"{name} {sign} ${place}::VARCHAR", written


def _column(table: TableName, name: str) -> str:
    if name not in TABLES[table]:
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        names = ", ".join(list(TABLES[table])[1:])
        raise _Wrong(
            f"'{shown}' is not a column of {table}", did_you_mean(name, TABLES[table]) or f"the columns are {names}"
        )
    return name


def _comparable(table: TableName, name: str) -> str:
    """SQL by which a column is compared; a text that is not an integer counts as missing."""
    return f"TRY_CAST({name} AS BIGNUM)" if name in EXACT[table] else name


def _integer(name: str, written: str) -> int:
    text = written.strip()
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 200:
        raise _Wrong(f"'{name}' holds integers, and '{written[:60]}' is not an integer", "write digits alone")
    return int(text)


def _float(name: str, written: str) -> float:
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _Wrong(f"'{name}' holds numbers, and '{written[:60]}' is not a number", "write it as 1.5 or 2e6")
    return value
