"""Complete records of incidents, from a folder of reference data or from a node.

The project holds single facts with their sources. Series of hundreds of events stay outside, in the folder that
`MAYAVI_CASES` names (by default `../shared` beside a checkout), or on the chain.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mayavi.errors import UsageError
from mayavi.evm.address import to_address
from mayavi.scenarios.incidents import crv_2022, march_2023
from mayavi.scenarios.incidents.real_blocks import RecordedCall, RecordedCalls
from mayavi.worlds.contract_folder import checkout_root

CASES_VARIABLE = "MAYAVI_CASES"


class CompleteRecord(NamedTuple):
    """Overrides that put a complete record into a scenario, and a description of it."""

    overrides: tuple[str, ...]
    what: str
    calls: RecordedCalls | None = None
    """Where the recorded calls are on the chain, if a node gave them."""


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


def record_of_file(name: str | None, cases: Path | None) -> CompleteRecord | None:
    """Return the complete record `name`, or None if there is none in `cases`."""
    if name is None or cases is None:
        return None
    file, read = _FILES[name]
    path = cases / file
    return read(path) if path.is_file() else None


def has_node_record(name: str | None) -> bool:
    """Whether the complete record `name` can be read from a node."""
    return name in _NODES


def record_of_node(name: str, url: str) -> CompleteRecord:
    """Return the complete record `name`, read from the real blocks of the node at `url`."""
    return _NODES[name](url)


def _crv_of_file(path: Path) -> CompleteRecord:
    events = crv_2022.events_of_file(path)
    return CompleteRecord(tuple(crv_2022.crv_overrides(events)), f"{len(events)} recorded calls of '{path.name}'")


def _crv_of_node(url: str) -> CompleteRecord:
    events, places = crv_2022.events_of_node(url)
    blocks = f"blocks {crv_2022.FIRST_BLOCK:,} to {crv_2022.LAST_BLOCK:,}"
    calls = RecordedCalls(
        to_address(crv_2022.POOL),
        to_address(crv_2022.ACCOUNT),
        tuple(
            RecordedCall(block, transaction, event.repaid, event.seized)
            for event, (block, transaction) in zip(events, places, strict=True)
        ),
    )
    return CompleteRecord(tuple(crv_2022.crv_overrides(events)), f"{len(events)} recorded calls of {blocks}", calls)


def _march_of_file(path: Path) -> CompleteRecord:
    overrides, what = march_2023.march_overrides(path)
    return CompleteRecord(tuple(overrides), what)


_FILES: dict[str, tuple[str, Callable[[Path], CompleteRecord]]] = {
    "crv_calls": (crv_2022.FILE, _crv_of_file),
    "march_2023_calls": (march_2023.FILE, _march_of_file),
}
_NODES: dict[str | None, Callable[[str], CompleteRecord]] = {"crv_calls": _crv_of_node}
