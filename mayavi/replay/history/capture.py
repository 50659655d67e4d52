"""Write blocks of a node as self-contained cases, which `mayavi validate blocks` replays without network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi.errors import UsageError
from mayavi.evm.rpc.header import Header
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.replay.block_state import exact_reads
from mayavi.replay.blocks import Difference
from mayavi.replay.chain_block import ChainBlock
from mayavi.replay.history.block_replay import PLAIN, TRACED, compare_receipts, execute, read_state
from mayavi.replay.history.case_files import CaseFolder
from mayavi.replay.history.execution_witness import (
    WITNESS,
    WitnessState,
    add_block_hashes,
    node_witness,
    read_witness,
    witness_difference,
)
from mayavi.replay.history.node import BlockReceipts, ReplayNode, check_range
from mayavi.replay.history.proof_witness import build_witness

WITNESSED = "execution witness"
PROVEN = "eth_getProof"
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
    witness: str | None
    """Where its witness comes from: the node's method; None without one."""
    difference: Difference | None
    """First difference of its replay from the chain; the case is written all the same."""
    note: str | None = None
    """Why there is no witness, although one was asked for."""

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
    node: ReplayNode,
    first: int,
    last: int,
    folder: Path,
    *,
    traced: bool = True,
    prove: bool = False,
    progress: Progress | None = None,
) -> CaptureReport:
    """Write the blocks from `first` to `last` as cases into `folder`, each as soon as it is complete.

    `traced` is False for plain reads alone. With `prove`, a witness is built from `eth_getProof` if the node has none.
    """
    node.require_range(first, last)
    report = CaptureReport(folder)
    cases = CaseFolder.open(folder, "--out")
    for number in range(first, last + 1):
        (block, parent), *_ = node.with_parents([number])
        receipts = node.receipts([block])[0]
        report.blocks.append(capture_block(node, block, parent, receipts, cases, traced=traced, prove=prove))
        if progress:
            progress(number - first + 1, last - first + 1)
    report.requests = node.requests
    report.notes = _notes(node, report.blocks, prove)
    return report


def _notes(node: ReplayNode, blocks: list[CapturedBlock], prove: bool) -> list[str]:
    notes = []
    if any(block.source == PLAIN for block in blocks):
        reason = "the node has no prestate tracer" if not node.traces else "as asked"
        notes.append(f"state by plain reads: {reason}")
    if not all(block.witness for block in blocks) and not prove:
        notes.append(f"no execution witness: the node lacks {WITNESS}; --prove builds one from eth_getProof")
    notes += dict.fromkeys(f"no execution witness: {block.note}" for block in blocks if block.note)
    return notes


def capture_block(
    node: ReplayNode,
    block: ChainBlock,
    parent: Header,
    receipts: BlockReceipts,
    cases: CaseFolder,
    *,
    traced: bool = True,
    prove: bool = False,
) -> CapturedBlock:
    """Read the state of one block, replay it and write the case."""
    document = node_witness(node, block, parent)
    found = None if document is None else read_witness(document, block, parent)
    proven = WitnessState(found, node.state_at(parent)) if isinstance(found, BlockWitness) and traced else None
    state = read_state(node, block, parent, traced=traced, source=proven)
    facts = exact_reads(block, state.known)
    result, after = execute(block, facts)
    difference = _first_difference(block, result, receipts) or (found if isinstance(found, Difference) else None)
    witness, note = (None if document is None else WITNESS), None
    if document is not None:
        add_block_hashes(document, facts.block_hashes)
    elif prove:
        built = build_witness(node, block, parent, facts, after)
        document, note = built.document, built.reason
        witness = None if document is None else PROVEN
        difference = built.contradiction or difference
    accounts = cases.write(block, facts, receipts.expected, document)
    if document is not None:
        difference = difference or witness_difference(document, block)
    traced_state = getattr(state.source, "prestates", None) is not None
    return CapturedBlock(
        number=block.number,
        hash=block.header.hash,
        transactions=len(block.transactions),
        accounts=len(accounts),
        slots=sum(len(account["storage"]) for account in accounts.values()),
        source=WITNESSED if proven else TRACED if traced_state else PLAIN,
        witness=witness,
        difference=difference,
        note=note,
    )


def _first_difference(block: ChainBlock, result: dict[str, Any], receipts: BlockReceipts) -> Difference | None:
    wrong, whole = compare_receipts(block, result, receipts)
    found = [wrong[index] for index in sorted(wrong)] + whole
    return found[0] if found else None
