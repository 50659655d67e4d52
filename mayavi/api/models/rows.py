"""Rows of a run's tables."""

from __future__ import annotations

from typing import Any, Literal

from mayavi.api.models.base import Answer

TableName = Literal["actions", "market_snapshots", "kpis", "accounts"]
RowsFormat = Literal["json", "csv", "arrow"]


class RowsPage(Answer):
    """One page of rows. `next` is the cursor of the page after it."""

    columns: list[str]
    rows: list[list[Any]]
    total: int
    next: str | None = None
