"""`SnapshotRows`: market figures of one or more moments, kept by column. Rows are created on access."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, overload

from mayavi.sim.figure_table import FigureTable
from mayavi.sim.rows import SnapshotRow

Moment = tuple[int, int, int]
"""Step, block number and timestamp."""

snapshot_row: Callable[[tuple[int, int, int, str, str, str, float, str]], SnapshotRow] = partial(
    tuple.__new__, SnapshotRow
)
"""Build a row from a tuple of its values; faster than `SnapshotRow(…)`."""


class FigureRows:
    """Rows of one table of figures, read at one moment."""

    __slots__ = ("moment", "table")

    def __init__(self, moment: Moment, table: FigureTable) -> None:
        self.moment, self.table = moment, table
        table.encoded  # noqa: B018  # raises now if a value is no plain integer

    def lines(self) -> bytes:
        """Return the lines of the digest."""
        return self.table.encoded.lines(*self.moment)

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[SnapshotRow]:
        names, encoded, moment = self.table.names, self.table.encoded, self.moment
        columns = (names.subjects, names.metrics, encoded.texts(), encoded.numbers(), names.units)
        return (snapshot_row((*moment, *row)) for row in zip(*columns, strict=True))


class SnapshotRows(Sequence[SnapshotRow]):
    """Rows of market figures in parts: tables, and lists of single rows."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[FigureRows | list[SnapshotRow]] = ()) -> None:
        self.parts = [part for part in parts if len(part)]

    @classmethod
    def of(cls, rows: Iterable[SnapshotRow]) -> SnapshotRows:
        """Return `rows` in parts; `SnapshotRows` are returned as they are."""
        return rows if isinstance(rows, SnapshotRows) else cls([list(rows)])

    def add(self, rows: Iterable[SnapshotRow]) -> None:
        """Append more rows."""
        self.parts += SnapshotRows.of(rows).parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[SnapshotRow]:
        return chain.from_iterable(self.parts)

    @overload
    def __getitem__(self, index: int) -> SnapshotRow: ...

    @overload
    def __getitem__(self, index: slice) -> list[SnapshotRow]: ...

    def __getitem__(self, index: int | slice) -> SnapshotRow | list[SnapshotRow]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # like a list

    def __reduce__(self) -> tuple[Any, ...]:
        return SnapshotRows, ([list(self)],)

    def __repr__(self) -> str:
        return repr(list(self))
