"""Compare the state after a replayed block with the node's, value by value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from mayavi.evm.address import checksum
from mayavi.evm.chains import chain
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.remote import Facts, Missing, RemoteState
from mayavi.evm.snapshot.contents import AccountContents, WorldContents
from mayavi.evm.state import Evm
from mayavi.replay.block_state import BEACON_ROOTS, HISTORY, loaded
from mayavi.replay.blocks import WITH_REQUESTS, Difference
from mayavi.replay.chain_block import ChainBlock

StateCheck = Literal["touched", "changed", "none"]
STATE_CHECKS: tuple[StateCheck, ...] = ("touched", "changed", "none")
REQUEST_CONTRACTS = frozenset(
    bytes.fromhex(text)
    for text in ("00000961ef480eb55e80d19ad83579a64c007002", "0000bbddc7ce488642fb579f8b00f3a590007251")
)
"""Contracts of EIP-7002 and EIP-7251, whose queues the protocol empties at the end of a block."""
SYSTEM_CONTRACTS = frozenset({BEACON_ROOTS, HISTORY})
_EMPTY = AccountContents(balance=0, nonce=0, code=b"", complete=True, slots={})


class StateValue(NamedTuple):
    """One value after a block: `balance`, `nonce`, `code`, or `storage` of a slot."""

    address: bytes
    field: str
    slot: int
    value: int | bytes

    @property
    def item(self) -> Missing:
        """Account or slot that holds the value."""
        return ("slot", self.address, self.slot) if self.field == "storage" else ("account", self.address, 0)

    @property
    def place(self) -> str:
        """Account, field and slot as text."""
        slot = f" slot {self.slot:#x}" if self.field == "storage" else ""
        return f"{self.field} of {checksum(self.address)}{slot}"


class StateComparison(NamedTuple):
    """Values compared, differences found and what was left out."""

    compared: int
    differences: list[Difference]
    notes: list[str]


def compare_state(block: ChainBlock, before: Facts, evm: Evm, node: RemoteState, check: StateCheck) -> StateComparison:
    """Compare the state of `evm` after `block` with that of `node`.

    `before` is the state that the block reads. `touched` compares all of it and what the block wrote, `changed` what it
    changed.
    """
    notes: list[str] = []
    values = list(_values(WorldContents.of(evm.dump()), before))
    if check == "changed":
        values = [each for each in values if _value_in(before, each) != each.value]
    kept = [each for each in values if not _left_out(block, each)]
    if block.rewards_miner:
        notes.append("state: balances that block rewards change are not compared")
    left_out = {each.address for each in values} - {each.address for each in kept}
    if left_out & REQUEST_CONTRACTS:
        notes.append("state: queues of EIP-7002 and EIP-7251 are not compared")
    if left_out & SYSTEM_CONTRACTS:
        notes.append("state: contracts of system calls are not compared, a development node does not make them")
    missing: dict[Missing, None] = {}
    for each in kept:
        missing[each.item] = None
    there = node.fetch(list(missing))
    wrong = [each for each in kept if _value_in(there, each) != each.value]
    found = [_difference(block, before, each, _value_in(there, each)) for each in wrong]
    found.sort(key=lambda each: (each.transaction is None, each.transaction or 0))
    return StateComparison(len(kept), found, notes)


def _values(after: WorldContents, before: Facts) -> Iterator[StateValue]:
    for address in sorted({*after.accounts, *before.accounts}):
        account = after.accounts.get(address, _EMPTY)
        yield StateValue(address, "balance", 0, account.balance)
        yield StateValue(address, "nonce", 0, account.nonce)
        yield StateValue(address, "code", 0, account.code)
        for slot in sorted({*account.slots, *before.slots.get(address, ())}):
            yield StateValue(address, "storage", slot, account.slots.get(slot, 0))


def _value_in(facts: Facts, wanted: StateValue) -> int | bytes:
    if wanted.field == "storage":
        return facts.slots.get(wanted.address, {}).get(wanted.slot, 0)
    balance, nonce, code = facts.accounts.get(wanted.address, (0, 0, b""))
    if wanted.field == "code":
        return code
    return balance if wanted.field == "balance" else nonce


def _left_out(block: ChainBlock, value: StateValue) -> bool:
    if block.rewards_miner and value.field == "balance":
        return value.address == block.header.coinbase or bool(block.content.get("uncles"))
    if value.address in SYSTEM_CONTRACTS:
        return chain(block.chain_id).dev
    return value.address in REQUEST_CONTRACTS and block.hardfork in WITH_REQUESTS


def _difference(block: ChainBlock, before: Facts, got: StateValue, want: int | bytes) -> Difference:
    index = last_writer(block, before, got)
    name = None if index is None else "0x" + block.transactions[index].hash.hex()
    return Difference(got.place, _text(want), _text(got.value), index, name)


def last_writer(block: ChainBlock, before: Facts, place: StateValue) -> int | None:
    """Return the last transaction of `block` that changes a value, or None if none does."""
    evm = loaded(block, before)
    evm.replay(block.part(0, 0), block.blob_fee_fraction)  # the system calls belong to no transaction
    found, value = None, _read(evm, place)
    for index in range(len(block.transactions)):
        evm.replay(block.part(index, index + 1), block.blob_fee_fraction)
        now = _read(evm, place)
        if now != value:
            found, value = index, now
    return found


def _read(evm: Evm, place: StateValue) -> int | bytes:
    if place.field == "storage":
        return evm.storage(place.address, place.slot)
    if place.field == "code":
        return evm.code(place.address)
    return evm.balance(place.address) if place.field == "balance" else evm.nonce(place.address)


def _text(value: int | bytes) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{len(value)} bytes with hash 0x{keccak256(value).hex()}" if value else "none"
