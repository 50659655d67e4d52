"""Convert rows of the database to the rows that a simulation made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.sim.rows import ActionRow, KpiRow, SnapshotRow


def action_row(row: Mapping[str, Any]) -> ActionRow:
    """Convert a row of `actions` to the row the simulation made."""
    return ActionRow(**{name: row[name] for name in ActionRow.__dataclass_fields__})


def snapshot_row(row: Mapping[str, Any]) -> SnapshotRow:
    """Convert a row of `market_snapshots` to the row the simulation made."""
    return SnapshotRow(**{name: row[name] for name in SnapshotRow.__dataclass_fields__})


def kpi_row(row: Mapping[str, Any]) -> KpiRow:
    """Convert a row of `kpis` to the row the simulation made."""
    return KpiRow(**{name: row[name] for name in KpiRow.__dataclass_fields__})
