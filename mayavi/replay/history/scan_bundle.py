"""A scan of a node's history as a bundle that anybody verifies without a node.

The bundle holds the rows of the scan and a case for every block that was executed: the block, its receipts and the
state it read. Verifying it executes the cases again and compares every row, and the state after each block by digest.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import BundleError, UsageError
from mayavi.evm.hashing import keccak256
from mayavi.replay.case import read_block, read_bytecodes, read_facts
from mayavi.replay.history.case_files import CODES, case_files, packed_json
from mayavi.replay.history.case_replay import replay_case
from mayavi.replay.history.store import HistoryStore, Scan, transaction_row
from mayavi.runs.bundle import Bundle, Check, write_bundle

KIND = "scan"
BLOCKS = ("number", "hash", "hardfork", "timestamp", "transactions", "matched", "gas_used", "exact", "state_digest")
"""Columns of a block's row: those that do not depend on the node or the time."""
TRANSACTIONS = (
    *("block", "index", "hash", "sender", "recipient", "selector", "success", "gas_used", "logs"),
    *("exact", "field", "expected", "got"),
)
_ROWS = {"blocks": "rows/blocks.json", "transactions": "rows/transactions.json"}
_REPEATED = 9
"""Columns of a transaction's row that follow from the case, before those of its comparison with the node."""
_AGAIN = "get it again from where it came from"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class VerifiedScan:
    """Result of verifying the bundle of a scan."""

    bundle: Bundle
    blocks: int
    """Blocks executed again."""
    transactions: int
    checks: tuple[Check, ...]
    differences: tuple[str, ...]
    """First difference of each block that was not reproduced."""

    @property
    def verified(self) -> bool:
        """Whether every row was reproduced."""
        return all(check.equal for check in self.checks)


def write_scan(store: HistoryStore, scan: Scan, cases: Path, path: Path) -> str:
    """Write the rows of a scan and the cases of its executed blocks to `path`; return the SHA-256 of the file.

    Raises `UsageError` if an executed block has no case in the folder `cases`, or one of another block.
    """
    blocks = store.rows(scan, "replayed_blocks", BLOCKS, "number")
    transactions = store.rows(scan, "replayed_transactions", TRANSACTIONS, "block, index")
    executed = [(row[0], row[1]) for row in blocks if row[BLOCKS.index("matched")]]
    if not executed:
        raise UsageError(f"scan '{scan.scan_id}' executed no block", "there is nothing that a bundle could repeat")
    files = {_ROWS["blocks"]: _json(blocks), _ROWS["transactions"]: _json(transactions)}
    codes = read_bytecodes(cases) if (cases / CODES).is_file() else {}
    used: set[str] = set()
    for number, block_hash in executed:
        if not _has_case(cases, number, block_hash):
            raise UsageError(
                f"'{cases}' has no case of block {number} with hash {block_hash}",
                "run the same `mayavi replay history` again with --cases DIR, and name that folder",
            )
        for each in case_files(cases, number):
            files[f"cases/{each.relative_to(cases).as_posix()}"] = each.read_bytes()
        used |= {
            "0x" + keccak256(code).hex() for *_, code in read_facts(cases, number, codes).accounts.values() if code
        }
    files[f"cases/{CODES}"] = packed_json({name: "0x" + codes[name].hex() for name in sorted(used)})
    numbers = [row[0] for row in blocks]
    facts = {
        "scan_id": scan.scan_id,
        "chain_id": scan.chain_id,
        "genesis": "0x" + scan.genesis.hex(),
        "filter": scan.filter,
        "state_check": scan.state_check,
        "first": numbers[0],
        "last": numbers[-1],
        "blocks": len(blocks),
        "executed_blocks": len(executed),
        "transactions": len(transactions),
    }
    return write_bundle(path, KIND, {"scan": facts}, files)


def verify_scan(bundle: Bundle, progress: Progress | None = None) -> VerifiedScan:
    """Execute every case of the bundle again, and compare the rows and the state after each block."""
    blocks, transactions = (_rows_of(bundle, name) for name in _ROWS)
    executed = [row for row in blocks if row[BLOCKS.index("matched")]]
    if not executed:
        raise BundleError(f"'{bundle.path}' holds no executed block", "there is nothing to verify in it")
    by_block: dict[int, list[list[Any]]] = {}
    for row in transactions:
        by_block.setdefault(row[0], []).append(row)
    again_blocks, again_rows, differences = [], [], []
    with tempfile.TemporaryDirectory(prefix="mayavi-scan-") as place:
        bundle.unpack(Path(place))
        folder = Path(place) / "cases"
        for done, row in enumerate(executed, 1):
            own = by_block.get(row[0], [])
            block, rows = _repeated(folder, row, own)
            again_blocks.append(block)
            again_rows += rows
            if (found := _difference(row, block, own, rows)) is not None:
                differences.append(f"block {row[0]}: {found}")
            if progress:
                progress(done, len(executed))
    checks = (
        Check("executed blocks", _digest(executed), _digest(again_blocks)),
        Check("transactions", _digest(transactions), _digest(again_rows)),
    )
    return VerifiedScan(bundle, len(executed), len(again_rows), checks, tuple(differences))


def _repeated(folder: Path, row: list[Any], own: list[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Execute the case of one block; return its row and those of its transactions as they come out now."""
    done = replay_case(folder, row[0], {int(each[1]) for each in own})
    block = done.block
    again = [
        block.number,
        "0x" + block.header.hash.hex(),
        block.hardfork,
        block.header.timestamp,
        len(block.transactions),
        len(own),
        done.gas_used,
        bool(row[BLOCKS.index("exact")]) and done.exact,  # what differed from the node may not be in the case
        done.state_digest or None,
    ]
    rows = []
    for found, stored in zip(done.matched, own, strict=False):
        fresh = [block.number, *transaction_row(found)]
        rows.append(fresh if stored[TRANSACTIONS.index("exact")] else [*fresh[:_REPEATED], *stored[_REPEATED:]])
    return again, rows


def _difference(row: list[Any], block: list[Any], own: list[list[Any]], rows: list[list[Any]]) -> str | None:
    for name, stored, found in zip(BLOCKS, row, block, strict=True):
        if stored != found:
            return f"{name}: the bundle says {stored}, the repetition {found}"
    for stored_row, found_row in zip(own, rows, strict=False):
        for name, stored, found in zip(TRANSACTIONS, stored_row, found_row, strict=True):
            if stored != found:
                return f"transaction {stored_row[1]}, {name}: the bundle says {stored}, the repetition {found}"
    return None if len(own) == len(rows) else f"{len(own)} transactions in the bundle, {len(rows)} in the block"


def _has_case(folder: Path, number: int, block_hash: str) -> bool:
    if not (folder / str(number) / "block.json.gz").is_file():
        return False
    return "0x" + bytes(read_block(folder, number).claims()["hash"]).hex() == block_hash


def _rows_of(bundle: Bundle, name: str) -> list[list[Any]]:
    columns = BLOCKS if name == "blocks" else TRANSACTIONS
    try:
        if bundle.kind != KIND:
            raise BundleError(f"'{bundle.path}' is a bundle of kind '{bundle.kind}', not of a scan", "name another one")
        rows = json.loads(bundle.files[_ROWS[name]])
    except (KeyError, ValueError) as error:
        raise BundleError(f"'{bundle.path}' lacks what a scan needs: {error}", _AGAIN) from error
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != len(columns) for row in rows):
        raise BundleError(f"'{_ROWS[name]}' in '{bundle.path}' has rows of another form", _AGAIN)
    return rows


def _json(rows: Sequence[Sequence[Any]]) -> bytes:
    lines = ",\n".join(json.dumps(list(row)) for row in rows)
    return f"[{lines}]\n".encode()


def _digest(rows: Sequence[Sequence[Any]]) -> str:
    return hashlib.sha256(_json(rows)).hexdigest()
