"""`Figure`, and `FigureTable`: the figures of one reader at one moment, by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from typing import NamedTuple, overload

from mayavi.records.figures import FigureNames, Figures

_SCALES = {"ray": 27, "wad": 18, "usd_e8": 8, "eth_e8": 8, "bps": 4}

Key = tuple[str, str]
"""Subject and metric."""


class Figure(NamedTuple):
    """One figure: subject, metric, exact value and unit."""

    subject: str
    metric: str
    value: int
    unit: str


figure: Callable[[tuple[str, str, int, str]], Figure] = partial(tuple.__new__, Figure)
"""Build a `Figure` from a tuple of its values; faster than `Figure(…)`."""


def number(value: int, unit: str) -> float:
    """Scale `value` by its unit: a `ray` of 10**27 is 1.0. Units `e6`, `e18` … are a token's smallest units."""
    exact: float = value / unit_size(unit)
    return exact


@cache
def unit_size(unit: str) -> int:
    """Return the scale of a unit: 10**27 for `ray`, 10**6 for `e6`, 1 for `count`."""
    scale = _SCALES.get(unit)
    if scale is None:
        scale = int(unit[1:]) if unit[:1] == "e" and unit[1:].isdigit() else 0
    return int(10**scale)


class TableNames:
    """Subjects, metrics and units of the figures of a table."""

    def __init__(self, subjects: Sequence[str], metrics: Sequence[str], units: Sequence[str]) -> None:
        self.subjects, self.metrics, self.units = tuple(subjects), tuple(metrics), tuple(units)

    @cached_property
    def encoded(self) -> FigureNames:
        """The names as the kernel takes them."""
        scales = list(map(unit_size, self.units))
        return FigureNames(list(self.subjects), list(self.metrics), list(self.units), scales)

    @cached_property
    def places(self) -> dict[Key, int]:
        """Index of each figure by subject and metric; of equal ones, the last."""
        return {key: place for place, key in enumerate(zip(self.subjects, self.metrics, strict=True))}


@lru_cache(maxsize=512)
def table_names(subjects: tuple[str, ...], metrics: tuple[str, ...], units: tuple[str, ...]) -> TableNames:
    """Return the names of a table; equal ones are made once."""
    return TableNames(subjects, metrics, units)


class FigureTable(Sequence[Figure]):
    """Figures as names and values. `encoded` has the values as text and as numbers."""

    __slots__ = ("_encoded", "names", "values")

    def __init__(self, names: TableNames, values: list[int]) -> None:
        self.names, self.values = names, values
        self._encoded: Figures | None = None

    @classmethod
    def of(cls, figures: Iterable[Figure]) -> FigureTable:
        """Return `figures` as a table; a table is returned as it is."""
        if isinstance(figures, FigureTable):
            return figures
        subjects, metrics, values, units = zip(*figures, strict=True) if (figures := list(figures)) else ((),) * 4
        return cls(table_names(subjects, metrics, units), list(values))

    @property
    def encoded(self) -> Figures:
        """Values as text and as numbers. Raises `TypeError` if one is no plain integer, such as True."""
        if self._encoded is None:
            self._encoded = Figures(self.names.encoded, self.values)
        return self._encoded

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Figure: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Figure]: ...

    def __getitem__(self, index: int | slice) -> Figure | Sequence[Figure]:
        if isinstance(index, slice):
            return list(self)[index]
        names = self.names
        return figure((names.subjects[index], names.metrics[index], self.values[index], names.units[index]))

    def __iter__(self) -> Iterator[Figure]:
        names = self.names
        return map(figure, zip(names.subjects, names.metrics, self.values, names.units, strict=True))


class FigureIndex(Mapping[Key, Figure]):
    """Figures of several tables by subject and metric; of equal ones, the last."""

    def __init__(self, tables: Sequence[FigureTable] = ()) -> None:
        self._tables = tuple(tables)

    def __getitem__(self, key: Key) -> Figure:
        for table in reversed(self._tables):
            place = table.names.places.get(key)
            if place is not None:
                return table[place]
        raise KeyError(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(dict.fromkeys(key for table in self._tables for key in table.names.places))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(self._tables)

    def __repr__(self) -> str:
        return repr(dict(self))
