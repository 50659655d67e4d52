"""Overrides from Python as the texts that `--set` and `--grid` take."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from mayavi.errors import UsageError

Overrides = Iterable[str] | Mapping[str, object]


def override_texts(overrides: Overrides) -> list[str]:
    """Return overrides as `a.b=c`. Values of a mapping are written as YAML; texts are taken as YAML already."""
    if isinstance(overrides, str):
        raise UsageError(f"overrides are '{overrides}'", "give a mapping, or a list: ['agents.borrowers.count=50']")
    if not isinstance(overrides, Mapping):
        return list(overrides)
    return [f"{path}={override_value(value)}" for path, value in overrides.items()]


def override_value(value: object) -> str:
    """Return one value as YAML."""
    return value if isinstance(value, str) else json.dumps(value, default=_plain)


def grid_texts(grid: Mapping[str, Sequence[object]] | Sequence[str]) -> list[str]:
    """Return the axes of a grid as `a.b=1,2,3`."""
    if not isinstance(grid, Mapping):
        return list(grid)
    return [f"{path}={','.join(override_value(value) for value in values)}" for path, values in grid.items()]


def _plain(value: Any) -> object:
    if isinstance(value, Decimal):
        return float(value) if value != value.to_integral_value() else int(value)
    if hasattr(value, "item"):  # NumPy scalars
        return value.item()
    raise UsageError(f"{value!r} cannot be written into a scenario", "give numbers, texts, lists and mappings")
