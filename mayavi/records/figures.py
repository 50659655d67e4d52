"""Figures by column: `FigureNames`, `Figures` with these names, and `SnapshotColumns` of many runs."""

from __future__ import annotations

from mayavi._kernel import FigureNames, Figures, SnapshotColumns

__all__ = ["FigureNames", "Figures", "SnapshotColumns"]
