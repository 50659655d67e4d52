"""`RowsDigest`: the digest that identifies the rows of a run.

It covers what happened, not when or where it was computed: the same scenario and seed give the same digest on every
machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from mayavi.sim.rows import AccountRow, ActionRow, KpiRow, Row, SnapshotRow, json_parts
from mayavi.sim.snapshot_rows import FigureRows, SnapshotRows


class RowsDigest:
    """SHA-256 over rows as lines of JSON, in the order they were produced."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, rows: Iterable[Row]) -> None:
        """Hash more rows."""
        for part in rows.parts if isinstance(rows, SnapshotRows) else [rows]:
            self._hash.update(part.lines() if isinstance(part, FigureRows) else _lines(part).encode())

    def hexdigest(self) -> str:
        """Return the digest of all rows added so far."""
        return self._hash.hexdigest()


def _lines(rows: Iterable[Row]) -> str:
    parts: list[str] = []
    for row in rows:
        kind = type(row)
        parts += _parts([kind.__name__, *_values[kind](row)], 0)
        parts.append("\n")
    return "".join(parts)


_parts = json_parts(sort_keys=False)
_values: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    kind: attrgetter(*(field.name for field in fields(kind))) for kind in (ActionRow, KpiRow, AccountRow)
} | {SnapshotRow: tuple}
