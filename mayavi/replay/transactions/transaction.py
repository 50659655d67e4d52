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
    """Tree of its calls; None if the transaction is invalid."""
    reason: str = ""
    """Why it failed; empty if it succeeded."""
    gas_refunded: int = 0
    gas_before_calls: int = 0
    """Gas of the transaction itself: its base, calldata, access list, authorisations and creation."""

    @property
    def is_at_floor(self) -> bool:
        """Whether the least price of its calldata is charged, since calls cost less (EIP-7623)."""
        spent = self.gas_before_calls + (self.call.gas_used if self.call else 0)
        return self.gas_used > spent - self.gas_refunded


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
    outcome = execute_traced(state, state.evm.copy(), index)
    if outcome.call is None:
        raise ExecutionError(f"transaction {index} of block {block.number}: {outcome.reason}")
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
    return TransactionReplay(block, transaction, state, remote, outcome, expected, difference, notes)


def execute_traced(state: BlockState, evm: Evm, index: int, changed: BlockTransaction | None = None) -> Outcome:
    """Execute transaction `index` on `evm` as the block does, under a tracer, and keep its effects there.

    Fees, access list, blobs and authorisations count. With `changed`, its sender, value, calldata and gas limit replace
    those of the transaction, and the environment of `evm` that of the block.
    """
    block = state.block
    part, original = block.part(index, index + 1), block.transactions[index]
    options: dict[str, Any] = {"blob_fee_fraction": block.blob_fee_fraction}
    if changed is not None:
        options = {"value": changed.value, "data": changed.input, "gas": changed.gas_limit, "next_nonce": True}
        if changed.sender != original.sender:
            options["sender"] = changed.sender
    state.fetch([("account", (changed or original).sender, 0)])
    before = WorldContents.of(evm.dump())
    found: list[Any] = []

    def run() -> None:
        found[:] = evm.trace_in_block(part, 0, **options)

    try:
        state.repeat(run)
    except InvalidTransaction as error:
        return Outcome(False, 0, (), (), None, f"invalid transaction: {error.args[0]}")
    receipt, frames = found
    call = frame_tree(frames)
    reason = "" if receipt.success else str(call.revert_reason or receipt.reason)
    return Outcome(
        receipt.success,
        receipt.gas_used,
        _logs(receipt.logs),
        _changes(before, evm),
        call,
        reason,
        receipt.gas_refunded,
        receipt.gas_spent - call.gas_used,
    )


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
