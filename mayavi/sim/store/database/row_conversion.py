"""Convert rows of the database to the rows that a simulation made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mayavi.sim.rows import AccountRow, ActionRow, KpiRow, Row, SnapshotRow


def action_row(row: Mapping[str, Any]) -> ActionRow:
    """Convert a row of `actions` to the row the simulation made."""
    return ActionRow(**{name: row[name] for name in ActionRow.__dataclass_fields__})


def snapshot_row(row: Mapping[str, Any]) -> SnapshotRow:
    """Convert a row of `market_snapshots` to the row the simulation made."""
    return SnapshotRow(**{name: row[name] for name in SnapshotRow._fields})


def account_row(row: Mapping[str, Any]) -> AccountRow:
    """Convert a row of `accounts` to the row the simulation made."""
    return AccountRow(**{name: row[name] for name in AccountRow.__dataclass_fields__})


def kpi_row(row: Mapping[str, Any]) -> KpiRow:
    """Convert a row of `kpis` to the row the simulation made."""
    return KpiRow(**{name: row[name] for name in KpiRow.__dataclass_fields__})


MADE: dict[str, Callable[[Mapping[str, Any]], Row]] = {
    "actions": action_row,
    "market_snapshots": snapshot_row,
    "kpis": kpi_row,
    "accounts": account_row,
}
"""Conversion by table, of all tables that the digest of a run covers."""
