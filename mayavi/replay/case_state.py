"""State before a block, from the files of a case."""

from __future__ import annotations

from pathlib import Path

from mayavi.errors import MissingStateError, UsageError
from mayavi.evm.address import checksum
from mayavi.evm.rpc.remote import Facts, Missing
from mayavi.replay.case import (
    CaseError,
    ExpectedReceipt,
    block_numbers,
    mentions,
    read_block,
    read_block_json,
    read_bytecodes,
    read_chain,
    read_facts,
    read_receipts,
)
from mayavi.replay.chain_block import ChainBlock

BEYOND_CASE = "a case holds what its block read; give --rpc with a node that has the state of that block"


class CaseState:
    """State of one case: a `StateSource`.

    An account that the case does not list did not exist when the block read it. Once `complete` is set, the block has
    read everything it reads, and an account that is not listed is unknown.
    """

    def __init__(self, facts: Facts, name: str) -> None:
        self.facts = facts
        self.name = name
        self.complete = False

    def before(self, index: int) -> Facts:
        """Return everything the case holds before its first transaction."""
        return self.facts if index == 0 else Facts()

    def fetch(self, missing: list[Missing]) -> Facts:
        """Return values of the case; raise an error that names what it lacks."""
        found = Facts()
        for kind, address, key in missing:
            if kind == "account":
                found.accounts[address] = self._account(address)
            elif kind == "slot":
                found.slots.setdefault(address, {})[key] = self._slot(address, key)
            elif key in self.facts.block_hashes:
                found.block_hashes[key] = self.facts.block_hashes[key]
            else:
                raise self._lacks(f"hash of block {key}")
        return found

    def _account(self, address: bytes) -> tuple[int, int, bytes]:
        if address in self.facts.accounts:
            return self.facts.accounts[address]
        if self.complete:
            raise self._lacks(f"account {checksum(address)}")
        return 0, 0, b""

    def _slot(self, address: bytes, slot: int) -> int:
        if slot in self.facts.slots.get(address, ()):
            return self.facts.slots[address][slot]
        if address not in self.facts.accounts and not self.complete:
            return 0
        raise self._lacks(f"{checksum(address)} slot {slot:#x}")

    def _lacks(self, what: str) -> MissingStateError:
        return MissingStateError(f"{what} is not in {self.name}", BEYOND_CASE if self.complete else None)


def open_case(directory: Path, number: int) -> tuple[ChainBlock, CaseState, list[ExpectedReceipt] | None]:
    """Read a case: its block, the state before it, and its receipts if it has them."""
    block = read_block(directory, number)
    chain_id, hardfork = read_chain(directory, number, block)
    path = directory / str(number) / "block.json.gz"
    try:
        found = ChainBlock.parse(
            read_block_json(directory, number), chain_id, number=number, hardfork=hardfork, source=f"'{path}'"
        )
        len(found.transactions)
    except ValueError as error:
        raise CaseError(f"'{path}': {error}") from error
    facts = read_facts(directory, number, read_bytecodes(directory))
    receipts = read_receipts(directory, number)
    if receipts is not None and len(receipts) != len(found.transactions):
        raise CaseError(f"case {number} has {len(receipts)} receipts for {len(found.transactions)} transactions")
    return found, CaseState(facts, f"case {number}"), receipts


def find_in_cases(directory: Path, transaction: bytes) -> int:
    """Return the number of the case with a transaction; `UsageError` if no case of `directory` has it."""
    name = "0x" + transaction.hex()
    numbers = block_numbers(directory)
    for number in numbers:
        if mentions(directory, number, name) and any(
            isinstance(each, dict) and str(each.get("hash")).lower() == name
            for each in read_block_json(directory, number).get("transactions") or []
        ):
            return number
    raise UsageError(
        f"no case in '{directory}' has transaction {name}", f"it holds blocks {numbers[0]} to {numbers[-1]}"
    )
