"""Write blocks of a node as self-contained cases, which `mayavi validate blocks` replays without network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi.errors import RpcHttpError, UsageError
from mayavi.evm.rpc.answers import BadValue, fields
from mayavi.evm.rpc.client import Call
from mayavi.evm.rpc.header import Header
from mayavi.evm.rpc.remote import Facts
from mayavi.replay.block_state import exact_reads
from mayavi.replay.blocks import Difference
from mayavi.replay.chain_block import ChainBlock
from mayavi.replay.history.block_replay import PLAIN, TRACED, compare_receipts, execute, read_state
from mayavi.replay.history.case_files import CaseFolder
from mayavi.replay.history.node import BlockReceipts, ReplayNode, check_range

WITNESS = "debug_executionWitness"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class CapturedBlock:
    """One written case."""

    number: int
    hash: bytes
    transactions: int
    accounts: int
    slots: int
    source: str
    witness: bool
    difference: Difference | None
    """First difference of its replay from the chain; the case is written all the same."""

    def to_json(self) -> dict[str, Any]:
        """Return the case as JSON data."""
        return {
            "block": self.number,
            "hash": "0x" + self.hash.hex(),
            "transactions": self.transactions,
            "accounts": self.accounts,
            "slots": self.slots,
            "state_from": self.source,
            "witness": self.witness,
            "exact": self.difference is None,
            "difference": None if self.difference is None else self.difference.to_json(),
        }


@dataclass(slots=True)
class CaptureReport:
    """All written cases."""

    folder: Path
    blocks: list[CapturedBlock] = field(default_factory=list)
    requests: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether every case replays as the chain did."""
        return all(block.difference is None for block in self.blocks)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "folder": str(self.folder),
            "blocks": len(self.blocks),
            "exact": self.exact,
            "requests": self.requests,
            "notes": self.notes,
            "details": [block.to_json() for block in self.blocks],
        }


def parse_blocks(text: str) -> tuple[int, int]:
    """Parse `N` or `N:M` into first and last block; `UsageError` for an empty range."""
    first, colon, last = text.replace("_", "").partition(":")
    try:
        blocks = int(first), int(last if colon else first)
    except ValueError:
        raise UsageError(f"'{text}' names no blocks", "write N, or N:M for all from N to M") from None
    check_range(*blocks)
    return blocks


def capture(
    node: ReplayNode, first: int, last: int, folder: Path, *, traced: bool = True, progress: Progress | None = None
) -> CaptureReport:
    """Write the blocks from `first` to `last` as cases into `folder`, each as soon as it is complete."""
    node.require_range(first, last)
    report = CaptureReport(folder)
    cases = CaseFolder.open(folder, "--out")
    for number in range(first, last + 1):
        (block, parent), *_ = node.with_parents([number])
        receipts = node.receipts([block])[0]
        report.blocks.append(capture_block(node, block, parent, receipts, cases, traced=traced))
        if progress:
            progress(number - first + 1, last - first + 1)
    report.requests = node.requests
    if any(block.source == PLAIN for block in report.blocks):
        reason = "the node has no prestate tracer" if not node.traces else "as asked"
        report.notes.append(f"state by plain reads: {reason}")
    if not all(block.witness for block in report.blocks):
        report.notes.append(f"no execution witness: the node lacks {WITNESS}")
    return report


def capture_block(
    node: ReplayNode,
    block: ChainBlock,
    parent: Header,
    receipts: BlockReceipts,
    cases: CaseFolder,
    *,
    traced: bool = True,
) -> CapturedBlock:
    """Read the state of one block, replay it and write the case."""
    state = read_state(node, block, parent, traced=traced)
    facts = exact_reads(block, state.known)
    witness = execution_witness(node, block)
    accounts = cases.write(block, facts, receipts.expected, witness)
    return CapturedBlock(
        number=block.number,
        hash=block.header.hash,
        transactions=len(block.transactions),
        accounts=len(accounts),
        slots=sum(len(account["storage"]) for account in accounts.values()),
        source=TRACED if getattr(state.source, "prestates", None) is not None else PLAIN,
        witness=witness is not None,
        difference=_first_difference(block, facts, receipts),
    )


def execution_witness(node: ReplayNode, block: ChainBlock) -> dict[str, Any] | None:
    """Return the node's answer to `debug_executionWitness`, or None if it lacks the method."""
    if WITNESS in node.lacking:
        return None

    def read(answer: object) -> dict[str, Any] | None:
        try:
            found = fields(answer)
        except BadValue:
            return None
        return found if isinstance(found.get("state"), list | dict) else None

    try:
        answer = node.client.attempt([Call(WITNESS, [hex(block.number)], read, patient=False)])[0]
    except RpcHttpError:
        answer = None
    if isinstance(answer, dict):
        return answer
    node.lacking.add(WITNESS)
    return None


def _first_difference(block: ChainBlock, facts: Facts, receipts: BlockReceipts) -> Difference | None:
    result, _ = execute(block, facts)
    wrong, whole = compare_receipts(block, result, receipts)
    found = [wrong[index] for index in sorted(wrong)] + whole
    return found[0] if found else None
