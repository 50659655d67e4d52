"""Replay one transaction in its place in its block: receipt, call tree, state changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi.errors import ExecutionError
from mayavi.evm.address import ZERO_ADDRESS
from mayavi.evm.receipt import CallFrame, Log, frame_tree
from mayavi.evm.rpc.remote import RemoteState
from mayavi.evm.snapshot.contents import WorldContents
from mayavi.evm.snapshot.contents import differences as world_differences
from mayavi.evm.state import Evm, InvalidTransaction
from mayavi.replay.block_state import BlockState
from mayavi.replay.blocks import Difference, receipt_difference
from mayavi.replay.case import ExpectedReceipt
from mayavi.replay.case_state import CaseState, find_in_cases, open_case
from mayavi.replay.chain_block import BlockTransaction, ChainBlock
from mayavi.replay.history.node import NodeState, ReplayNode


@dataclass(frozen=True, slots=True)
class Change:
    """Value that a transaction changed: `balance`, `nonce`, `code`, or a `slot`."""

    address: bytes
    field: str
    slot: int | None
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """Effects of one execution."""

    success: bool
    gas_used: int
    logs: tuple[Log, ...]
    changes: tuple[Change, ...]
    call: CallFrame | None = None
    reason: str = ""
    """Why it failed; empty if it succeeded."""


@dataclass(slots=True)
class TransactionReplay:
    """A transaction in its place, ready to be executed again with changes."""

    block: ChainBlock
    transaction: BlockTransaction
    state: BlockState
    """State before the transaction."""
    remote: RemoteState | None
    """Node that further state is read from; None for a case."""
    outcome: Outcome
    """Effects as on the chain, fees included."""
    traced: Outcome
    """Effects under the tracer: no fees are charged, and access lists do not count."""
    expected: ExpectedReceipt | None
    difference: Difference | None
    """First difference from the chain's receipt."""
    notes: list[str] = field(default_factory=list)


def replay_from_node(node: ReplayNode, transaction: bytes) -> TransactionReplay:
    """Replay a transaction by hash on the state that a node has."""
    number = node.block_of(transaction)
    (block, parent), *_ = node.with_parents([number])
    index = block.find(transaction)
    receipts = node.receipts([block])[0].expected
    source = node.state(block, parent)
    notes = [] if source.prestates is not None else ["state from plain reads: the node has no prestate tracer"]
    return _replay(BlockState(block, source), index, receipts[index], source.remote, notes)


def replay_from_case(directory: Path, transaction: bytes) -> TransactionReplay:
    """Replay a transaction by hash from a folder of cases, without network."""
    number = find_in_cases(directory, transaction)
    block, source, receipts = open_case(directory, number)
    index = block.find(transaction)
    notes = [] if receipts is not None else ["the case has no receipts: the block's receipts root covers them"]
    return _replay(BlockState(block, source), index, receipts[index] if receipts else None, None, notes)


def _replay(
    state: BlockState,
    index: int,
    expected: ExpectedReceipt | None,
    remote: RemoteState | None,
    notes: list[str],
) -> TransactionReplay:
    block = state.block
    transaction = block.transactions[index]
    state.begin()
    if isinstance(state.source, NodeState) and state.source.prestates is None:
        state.prefetch(index + 1)
    for place, result in enumerate(state.execute(index)):
        if result["failure"]:
            raise ExecutionError(f"transaction {place} of block {block.number}: {result['failure'][1]}")
    state.complete(index)
    outcome = execute_exactly(state, index)
    traced = execute_traced(state, state.evm.copy(), transaction)
    if isinstance(state.source, CaseState):
        state.fetch([("account", ZERO_ADDRESS, 0)])  # the default sender of reads, such as those of token symbols
        state.source.complete = True
    difference = None
    if expected is not None:
        raw = [(log.address, list(log.topics), log.data) for log in outcome.logs]
        found = receipt_difference(expected, (outcome.success, outcome.gas_used, raw))
        if found is not None:
            name, want, got = found
            difference = Difference(name, str(want), str(got), index, "0x" + transaction.hash.hex())
    notes = [*notes, *_trace_notes(transaction, outcome, traced)]
    return TransactionReplay(block, transaction, state, remote, outcome, traced, expected, difference, notes)


def execute_exactly(state: BlockState, index: int) -> Outcome:
    """Execute a transaction as the block does, signature, fees and access list included."""
    evm = state.evm.copy()
    block = state.block
    before = WorldContents.of(evm.dump())
    result = evm.replay(block.part(index, index + 1), block.blob_fee_fraction)
    if result["failure"]:
        raise ExecutionError(f"transaction {index} of block {block.number}: {result['failure'][1]}")
    success, gas_used, logs = result["receipts"][0]
    return Outcome(success, gas_used, _logs(logs), _changes(before, evm))


def execute_traced(state: BlockState, evm: Evm, transaction: BlockTransaction) -> Outcome:
    """Execute a transaction on `evm` under the tracer and keep its effects there.

    The price of the whole gas limit is set aside first, as in a block, so that contracts see the same balance.
    """
    state.fetch([("account", transaction.sender, 0)])
    held = evm.balance(transaction.sender)
    aside = min(held, transaction.gas_limit * transaction.gas_price)
    evm.set_balance(transaction.sender, held - aside)
    before = WorldContents.of(evm.dump())
    found: list[Any] = []

    def run() -> None:
        found[:] = evm.trace(
            transaction.to,
            transaction.input,
            transaction.sender,
            transaction.value,
            transaction.gas_limit,
            True,
        )

    try:
        state.repeat(run)
    except InvalidTransaction as error:
        return Outcome(False, 0, (), (), None, f"invalid transaction: {error.args[0]}")
    receipt, frames = found
    call = frame_tree(frames) if frames else None
    reason = "" if receipt.success else str(call.revert_reason if call and call.revert_reason else receipt.reason)
    return Outcome(receipt.success, receipt.gas_used, _logs(receipt.logs), _changes(before, evm), call, reason)


def _changes(before: WorldContents, evm: Evm) -> tuple[Change, ...]:
    after = WorldContents.of(evm.dump())
    found = []
    for each in world_differences(before, after):
        if each.address is None or each.field == "complete":
            continue
        # Where the account is new, what was not known before did not exist.
        old = each.before
        if old is None and each.field in ("balance", "nonce", "slot"):
            old = 0
        if old != each.after:
            found.append(Change(each.address, each.field, each.slot, old, each.after))
    return tuple(found)


def _logs(raw: list[Any]) -> tuple[Log, ...]:
    return tuple(Log(address, tuple(topics), data) for address, topics, data in raw)


def _trace_notes(transaction: BlockTransaction, exact: Outcome, traced: Outcome) -> list[str]:
    if (exact.success, exact.gas_used, exact.logs) == (traced.success, traced.gas_used, traced.logs):
        return []
    why = "the tracer ignores its access list" if transaction.has_access_list else "it depends on its gas price"
    if transaction.kind > 2:
        why = "the tracer ignores its blobs and authorisations"
    what = f"gas {traced.gas_used:,} instead of {exact.gas_used:,}"
    if (exact.success, exact.logs) != (traced.success, traced.logs):
        what = "other effects"
    return [f"the call tree shows {what}: {why}; receipt and changes are exact"]
