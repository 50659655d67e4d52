"""Bundle of a scan over one recorded block, made and verified without a node."""

from __future__ import annotations

from pathlib import Path

from mayavi.replay.case_state import open_case
from mayavi.replay.history.case_files import CaseFolder
from mayavi.replay.history.case_replay import replay_case
from mayavi.replay.history.scan_bundle import verify_scan, write_scan
from mayavi.replay.history.store import HistoryStore, Scan
from mayavi.runs.bundle import Check, read_bundle

BLOCK = 19_923_400
"""Recorded block of 24 transactions."""


def scan_checks(blocks: Path, folder: Path) -> tuple[Check, ...]:
    """Replay the block from the cases in `blocks`, bundle the scan in `folder`, and verify the bundle."""
    block, source, receipts = open_case(blocks, BLOCK)
    cases = CaseFolder.open(folder / "cases", "--cases")
    cases.write(block, source.facts, receipts or [])
    scan = Scan(block.chain_id, block.header.parent_hash, "", "none")
    with HistoryStore(folder / "history.duckdb") as store:
        store.add(scan, [replay_case(cases.path, BLOCK)])
        write_scan(store, scan, cases.path, folder / "scan.zip")
    return verify_scan(read_bundle(folder / "scan.zip")).checks
