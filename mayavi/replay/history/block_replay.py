"""Replay one block of a node and compare every receipt and the state after it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from mayavi.evm.rpc.header import Header
from mayavi.evm.rpc.remote import Facts
from mayavi.replay.block_state import BlockState, StateSource, exact_reads, loaded
from mayavi.replay.blocks import BEFORE_STATUS, Difference, block_differences, transaction_differences
from mayavi.replay.case import JsonFields
from mayavi.replay.chain_block import BlockTransaction, ChainBlock
from mayavi.replay.history.case_files import CaseFolder
from mayavi.replay.history.node import BlockReceipts, ReplayNode
from mayavi.replay.history.read_hints import ReadHints
from mayavi.replay.history.receipt_fields import receipt_field_differences
from mayavi.replay.history.touched_state import StateCheck, compare_state

PLAIN, TRACED = "plain reads", "prestate tracer"


@dataclass(frozen=True, slots=True)
class ReplayedTransaction:
    """Transaction replayed in its place, with its first difference from the chain."""

    transaction: BlockTransaction
    success: bool | None
    """None if it was not executed."""
    gas_used: int
    logs: int
    difference: Difference | None
    emitted: list[Any] = field(default_factory=list)
    """Its logs: address, topics, data."""


@dataclass(slots=True)
class ReplayedBlock:
    """Result of one block. A block without a matching transaction is not executed and has no rows."""

    block: ChainBlock
    matched: list[ReplayedTransaction] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    """All differences: of transactions in order, then of the block, then of the state."""
    gas_used: int = 0
    state_values: int = 0
    """Number of balances, nonces, codes and slots compared with the node."""
    source: str = ""
    state_digest: str = ""
    """Digest of the state that it read, as it was after the block; empty if it was not executed to its end."""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether nothing differs from the chain."""
        return not self.differences


def read_state(
    node: ReplayNode,
    block: ChainBlock,
    parent: Header,
    hints: ReadHints | None = None,
    *,
    traced: bool = True,
    source: StateSource | None = None,
) -> BlockState:
    """Execute the transactions of a block one by one, reading the state they need: from `source`, or the node."""
    if source is not None:
        state = BlockState(block, source)
        state.execute_strictly()  # probes would ask for more than a witness has
        return state
    from_node = node.state(block, parent, traced=traced)
    state = BlockState(block, from_node)
    state.begin(hints.likely(block) if hints and from_node.prestates is None else ())
    if from_node.prestates is None:
        state.prefetch(len(block.transactions))
    state.execute(len(block.transactions))
    if hints:
        hints.record(state)
    return state


def compare_receipts(
    block: ChainBlock, result: dict[str, Any], receipts: BlockReceipts
) -> tuple[dict[int, Difference], list[Difference]]:
    """Return the first difference of each transaction from its receipt, and those of the block from its header."""
    claims = block.whole().claims()
    senders = JsonFields(len(block.withdrawals), tuple("0x" + each.sender.hex() for each in block.transactions))
    wrong = transaction_differences(result, claims, senders, receipts.expected)
    for index, difference in receipt_field_differences(block, receipts.raw, result["receipts"]).items():
        wrong.setdefault(index, difference)
    whole = block_differences(result, claims)
    if block.hardfork in BEFORE_STATUS:  # receipts held a state root then
        whole = [difference for difference in whole if difference.field != "receipts root"]
    return wrong, whole


def replay_block(
    node: ReplayNode,
    block: ChainBlock,
    parent: Header,
    receipts: BlockReceipts,
    matching: set[int],
    check: StateCheck = "touched",
    hints: ReadHints | None = None,
    cases: CaseFolder | None = None,
) -> ReplayedBlock:
    """Execute a whole block on the state of its parent and compare it with the node's receipts and state.

    With `cases` the block is also written as a case.
    """
    began = time.perf_counter()
    done = ReplayedBlock(block)
    state = read_state(node, block, parent, hints)
    done.source = TRACED if getattr(state.source, "prestates", None) is not None else PLAIN
    facts = exact_reads(block, state.known)
    result, evm = execute(block, facts)
    wrong, whole = compare_receipts(block, result, receipts)
    if block.hardfork in BEFORE_STATUS:
        done.notes.append("receipts root: not checkable before Byzantium")
    done.differences = [wrong[index] for index in sorted(wrong)] + whole
    done.gas_used = result["gas_used"]
    if check != "none" and not result["failure"]:
        compared = compare_state(block, facts, evm, node.state_at(block.header), check)
        done.state_values = compared.compared
        done.notes += compared.notes
        done.differences += compared.differences
        for difference in compared.differences:
            if difference.transaction is not None:
                wrong.setdefault(difference.transaction, difference)
    done.matched = matched_rows(block, result, wrong, matching)
    done.state_digest = "" if result["failure"] else evm.digest()
    if cases is not None:
        cases.write(block, facts, receipts.expected)
    done.seconds = time.perf_counter() - began
    return done


def execute(block: ChainBlock, before: Facts) -> tuple[dict[str, Any], Any]:
    """Execute a whole block on known state; return the kernel's result and the EVM after it."""
    evm = loaded(block, before)
    return evm.replay(block.whole(), block.blob_fee_fraction), evm


def matched_rows(
    block: ChainBlock, result: dict[str, Any], wrong: dict[int, Difference], matching: set[int]
) -> list[ReplayedTransaction]:
    """Return the rows of the transactions whose index is in `matching`."""
    return [_row(each, result, wrong) for each in block.transactions if each.index in matching]


def _row(each: BlockTransaction, result: dict[str, Any], wrong: dict[int, Difference]) -> ReplayedTransaction:
    receipts = result["receipts"]
    if each.index >= len(receipts):
        return ReplayedTransaction(each, None, 0, 0, wrong.get(each.index))
    success, gas_used, logs = receipts[each.index]
    return ReplayedTransaction(each, success, gas_used, len(logs), wrong.get(each.index), logs)
