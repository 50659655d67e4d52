"""Tuples with named fields, the decoded form of structs and multiple return values."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar

from mayavi.errors import did_you_mean


class Record(tuple[Any, ...]):
    """Tuple whose fields are also attributes, named in `_fields`.

    Compares, hashes and unpacks like a plain tuple, and can be pickled. A field whose name is a Python keyword is read
    with `getattr(record, "from")`.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    __slots__ = ()

    def _asdict(self) -> dict[str, Any]:
        """The fields by name, in order."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({inside})"

    def __getattr__(self, name: str) -> Any:  # only reached when no field has this name
        hint = did_you_mean(name, self._fields) or f"fields: {', '.join(self._fields)}"
        raise AttributeError(f"{type(self).__name__} has no field '{name}'; {hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._fields, tuple(self))


@cache
def record_type(fields: tuple[str, ...]) -> type[Record]:
    """Return the record class of these fields; unnamed ones become `_0`, `_1`, … by position."""
    names = tuple(name or f"_{place}" for place, name in enumerate(fields))
    members: dict[str, Any] = {name: property(itemgetter(place)) for place, name in enumerate(names)}
    return type("Record", (Record,), {**members, "__slots__": (), "_fields": names})


def _rebuild(fields: tuple[str, ...], values: Iterable[Any]) -> Record:
    return record_type(fields)(values)
