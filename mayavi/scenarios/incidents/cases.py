"""Complete records of incidents, read from a folder of reference data where it is present.

The project holds single facts with their sources. Series of hundreds of events stay outside, in the folder that
`MAYAVI_CASES` names (by default `../shared` beside a checkout).
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from mayavi.errors import BadSeries, UsageError
from mayavi.scenarios.incidents import march_2023
from mayavi.scenarios.incidents.march_2023 import march_overrides
from mayavi.worlds.contract_folder import checkout_root

CASES_VARIABLE = "MAYAVI_CASES"
_SLOT = 12


class CompleteRecord(NamedTuple):
    """Overrides that put a complete record into a scenario, and a description of it."""

    overrides: tuple[str, ...]
    what: str


def default_cases() -> Path | None:
    """Return the folder of reference data, or None if there is none.

    Raises `UsageError` if `MAYAVI_CASES` names a folder that does not exist.
    """
    named = os.environ.get(CASES_VARIABLE, "").strip()
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise UsageError(f"{CASES_VARIABLE} names '{named}', and there is no such folder", "unset or correct it")
        return folder
    root = checkout_root()
    beside = root.parent / "shared" if root else None
    return beside if beside is not None and beside.is_dir() else None


def complete_record(name: str | None, cases: Path | None) -> CompleteRecord | None:
    """Return the complete record `name`, or None if there is none in `cases`."""
    if name is None or cases is None:
        return None
    file, read = _RECORDS[name]
    path = cases / file
    return read(path) if path.is_file() else None


def _crv_calls(path: Path) -> CompleteRecord:
    """Read the 385 liquidations of 22 November 2022; times count from the block before the first."""
    lines = ["time,liquidator,borrower,collateral,debt,repaid,seized"]
    begin = datetime.fromisoformat("2022-11-22T13:31:11+00:00")
    rows = _rows(path, ("datetime", "liquidator", "debt_to_cover_crv_raw", "liquidated_collateral_usdc_raw"))
    for number, row in enumerate(rows, 1):
        seconds = int((datetime.fromisoformat(row["datetime"]) - begin).total_seconds())
        if number == len(rows):  # the oracle moved between the last two calls, which share a block
            seconds += _SLOT
        repaid = Decimal(row["debt_to_cover_crv_raw"]).scaleb(-18)
        seized = Decimal(row["liquidated_collateral_usdc_raw"]).scaleb(-6)
        lines.append(f"{seconds},{row['liquidator'][:10]},positions-short,USDC,CRV,{repaid:f},{seized:f}")
    text = json.dumps("\n".join(lines) + "\n")
    return CompleteRecord((f"agents.liquidators.data={text}",), f"{len(rows)} recorded calls of '{path.name}'")


def _march_calls(path: Path) -> CompleteRecord:
    overrides, what = march_overrides(path)
    return CompleteRecord(tuple(overrides), what)


def _rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in needed if not rows or name not in rows[0]]
    if missing:
        raise BadSeries(f"'{path}' has no column '{missing[0]}'", f"it needs {', '.join(needed)}")
    return rows


_RECORDS: dict[str, tuple[str, Callable[[Path], CompleteRecord]]] = {
    "crv_calls": ("incidents/crv-2022-11/aave-crv-liquidations.csv", _crv_calls),
    "march_2023_calls": (march_2023.FILE, _march_calls),
}
