"""`Rows`: the lazy result of a query, which never keeps the database open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from mayavi.errors import SetupError
from mayavi.sim.store.database.schema import TABLES
from mayavi.sim.store.database.views import reading

T = TypeVar("T")

SHOWN_ROWS = 10


class Rows(Generic[T]):
    """Result of a query: iterate or index for records, `.df()` for a pandas data frame, `.fetchall()` for tuples.

    Each access runs the query again, so that rows of a running run appear as they are written.
    """

    def __init__(
        self,
        path: Path,
        query: str,
        make: Callable[[Mapping[str, Any]], T],
        parameters: Sequence[object] | Mapping[str, object] | None = None,
        *,
        tables: Collection[str] = tuple(TABLES),
    ) -> None:
        """Ask `query`, which reads no other tables than `tables`, and convert each row by `make`."""
        self._path = path
        self.query = query
        self._make = make
        self._parameters = parameters
        self._tables = tables

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows as tuples, in the order of `columns`."""
        return self._ask(self.query)[1]

    @property
    def columns(self) -> list[str]:
        """Column names."""
        return self._ask(f"SELECT * FROM ({self.query}) LIMIT 0")[0]

    def records(self) -> list[T]:
        """Return all rows as records."""
        columns, rows = self._ask(self.query)
        return [self._make(dict(zip(columns, row, strict=True))) for row in rows]

    def df(self) -> Any:
        """Return a pandas data frame. Exact integers stay text; use the float columns beside them for arithmetic."""
        try:
            import_module("pandas")
        except ImportError as error:
            raise SetupError(
                "data frames need pandas, which is not installed", "run `pip install 'mayavi-sim[notebook]'`"
            ) from error
        with reading(self._path, self._tables) as connection:
            return self._execute(connection, self.query).df()

    def __iter__(self) -> Iterator[T]:
        return iter(self.records())

    def __len__(self) -> int:
        return int(self._ask(f"SELECT count(*) FROM ({self.query})")[1][0][0])

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        if isinstance(at, slice):
            return self.records()[at]
        count = len(self) if at < 0 else 0
        place = at + count
        columns, rows = self._ask(f"SELECT * FROM ({self.query}) LIMIT 1 OFFSET {place}") if place >= 0 else ([], [])
        if not rows:
            raise IndexError(f"no row {at}: the result has {len(self):,}")
        return self._make(dict(zip(columns, rows[0], strict=True)))

    def __repr__(self) -> str:
        return f"<{len(self):,} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        columns, rows = self._ask(f"SELECT * FROM ({self.query}) LIMIT {SHOWN_ROWS}")
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{len(self):,} rows</p>"

    def _ask(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        with reading(self._path, self._tables) as connection:
            answer = self._execute(connection, query)
            return [column[0] for column in answer.description or ()], answer.fetchall()

    def _execute(self, connection: Any, query: str) -> Any:
        return connection.execute(query, self._parameters) if self._parameters else connection.execute(query)
