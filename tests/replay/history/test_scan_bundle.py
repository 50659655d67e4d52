"""A scan as a bundle: verified without a node, and every change of a row, a receipt or the state found."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import BundleError, UnknownRun, UsageError
from mayavi.evm.rpc.client import RpcClient
from mayavi.replay.case_state import open_case
from mayavi.replay.history.block_replay import replay_block
from mayavi.replay.history.case_files import CaseFolder
from mayavi.replay.history.node import BlockReceipts, ReplayNode
from mayavi.replay.history.scan_bundle import VerifiedScan, verify_scan, write_scan
from mayavi.replay.history.store import HistoryStore, Scan
from mayavi.runs.bundle import read_bundle
from tests.replay.case_node import CaseNode

NUMBER = 19_933_122
"""Cancun block of 45 transactions, one of them with blobs."""
SCAN = Scan(1, b"\x01" * 32, "selector=0xa9059cbb", "none")
MATCHING = {2, 3, 7}


@pytest.fixture(scope="module")
def scanned(cases: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the database and the cases of a scan of one block."""
    folder = tmp_path_factory.mktemp("scan")
    block, state, receipts = open_case(cases / "mainnet" / "blocks", NUMBER)
    assert receipts is not None
    parent = replace(block.header, number=NUMBER - 1, hash=block.header.parent_hash)
    server = CaseNode(block, state, receipts, tracer=True)
    try:
        with ReplayNode(RpcClient(server.url), 1, NUMBER, SCAN.genesis) as node:
            written = CaseFolder.open(folder / "cases", "--cases")
            done = replay_block(node, block, parent, BlockReceipts(receipts, []), MATCHING, "none", None, written)
    finally:
        server.close()
    assert done.exact
    with HistoryStore(folder / "history.duckdb") as store:
        store.add(SCAN, [done], logs=True)
        assert len(store.logs(SCAN)) == sum(row.logs for row in done.matched) > 0
    return folder


@pytest.fixture
def bundle(scanned: Path, tmp_path: Path) -> Path:
    path = tmp_path / "scan.zip"
    with HistoryStore(scanned / "history.duckdb") as store:
        write_scan(store, store.find(SCAN.scan_id), scanned / "cases", path)
    return path


def forged(source: Path, change: Callable[[dict[str, bytes]], None]) -> VerifiedScan:
    """Verify a copy whose files were changed, with hashes to match."""
    with zipfile.ZipFile(source) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    change(files)
    manifest["files"] = {name: {"sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()}
    target = source.with_name("forged.zip")
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, content in files.items():
            archive.writestr(name, content)
    return verify_scan(read_bundle(target))


def edited(name: str, edit: Callable[[Any], None]) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        raw = gzip.decompress(files[name]) if name.endswith(".gz") else files[name]
        content = json.loads(raw)
        edit(content)
        packed = json.dumps(content).encode()
        files[name] = gzip.compress(packed) if name.endswith(".gz") else packed

    return change


@pytest.mark.slow
def test_a_scan_is_verified_without_a_node_and_its_bundle_is_the_same_each_time(scanned: Path, bundle: Path) -> None:
    read = read_bundle(bundle)
    facts = read.facts["scan"]
    assert (read.kind, facts["scan_id"], facts["executed_blocks"], facts["transactions"]) == (
        "scan",
        SCAN.scan_id,
        1,
        3,
    )
    seen: list[tuple[int, int]] = []
    result = verify_scan(read, lambda done, total: seen.append((done, total)))
    assert result.verified
    assert (result.blocks, result.transactions, result.differences, seen) == (1, 3, (), [(1, 1)])
    before = bundle.read_bytes()
    with HistoryStore(scanned / "history.duckdb") as store:
        write_scan(store, SCAN, scanned / "cases", bundle)
    assert bundle.read_bytes() == before


def raise_gas(rows: Any) -> None:
    rows[1][7] += 1


def other_digest(rows: Any) -> None:
    rows[0][8] = "0" * 64


def raise_receipt(receipts: Any) -> None:
    receipts[3]["gasUsed"] += 1


def enrich(accounts: Any) -> None:
    richest = max(accounts, key=lambda each: int(accounts[each]["balance"], 16))
    accounts[richest]["balance"] = hex(int(accounts[richest]["balance"], 16) + 1)


def drop_row(rows: Any) -> None:
    del rows[0]


@pytest.mark.parametrize(
    ("name", "edit", "difference"),
    [
        ("rows/transactions.json", raise_gas, "transaction 3, gas_used: the bundle says"),
        ("rows/blocks.json", other_digest, "state_digest: the bundle says 000000"),
        (f"cases/receipts/{NUMBER}.json.gz", raise_receipt, "exact: the bundle says True, the repetition False"),
        (f"cases/{NUMBER}/pre_state.json.gz", enrich, "state_digest"),
        ("rows/transactions.json", drop_row, "matched: the bundle says 3, the repetition 2"),
    ],
)
def test_a_change_with_hashes_to_match_is_found(
    bundle: Path, name: str, edit: Callable[[Any], None], difference: str
) -> None:
    result = forged(bundle, edited(name, edit))
    assert not result.verified
    assert difference in result.differences[0]
    assert result.differences[0].startswith(f"block {NUMBER}: ")


def test_what_is_no_whole_scan_is_refused(scanned: Path, bundle: Path, tmp_path: Path) -> None:
    with HistoryStore(scanned / "history.duckdb") as store:
        with pytest.raises(UnknownRun, match="has no scan 'scan-x'") as unknown:
            store.find("scan-x")
        assert SCAN.scan_id in str(unknown.value.hint)
        with pytest.raises(UsageError, match=f"has no case of block {NUMBER}") as missing:
            write_scan(store, SCAN, tmp_path, tmp_path / "b.zip")
        assert "--cases" in str(missing.value.hint)
        with pytest.raises(UsageError, match="executed no block"):
            write_scan(store, replace(SCAN, filter="topic"), scanned / "cases", tmp_path / "b.zip")
    with pytest.raises(BundleError, match="outside of it"):
        forged(bundle, lambda files: files.update({"../evil": b"x"}))
    with pytest.raises(BundleError, match="rows of another form"):
        forged(bundle, edited("rows/blocks.json", lambda rows: rows[0].pop()))
    with pytest.raises(BundleError, match="lacks what a scan needs"):
        forged(bundle, lambda files: files.pop("rows/blocks.json") and None)
