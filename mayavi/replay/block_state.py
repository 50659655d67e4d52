"""State before a block, read as its transactions ask for it.

A `StateSource` answers reads at the parent block: a node, or the files of a case. `BlockState` executes the
transactions one by one, fetches what each misses, and so ends with exactly the state that the block reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from mayavi.errors import RpcBadAnswer
from mayavi.evm.rpc.remote import Facts, Missing
from mayavi.evm.state import Block, Evm, InvalidTransaction, MissingState, open_evm
from mayavi.replay.case import load_facts
from mayavi.replay.chain_block import BlockTransaction, ChainBlock

BEACON_ROOTS = bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02")
"""Contract of EIP-4788, called at the start of a block since Cancun."""
HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
"""Contract of EIP-2935, called at the start of a block since Prague."""
RING = 8191
"""Length of both contracts' ring buffers."""
ROUNDS = 16
"""Most rounds of reads before the transactions are executed in their order."""
_FROM_CANCUN = ("cancun", "prague", "osaka", "amsterdam")
_FROM_PRAGUE = _FROM_CANCUN[1:]
_NO_CODE = b""
_MISSES = (
    ("slot", re.compile(r"state of (0x[0-9a-fA-F]{40}) slot (0x[0-9a-f]+) is not")),
    ("account", re.compile(r"state of account (0x[0-9a-fA-F]{40}) is not()")),
    ("block_hash", re.compile(r"hash of block ()(\d+) is not")),
)


class StateSource(Protocol):
    """Reads of the state after the parent block."""

    def fetch(self, missing: list[Missing]) -> Facts:
        """Return the values of `missing`, or raise an error that names one."""

    def before(self, index: int) -> Facts:
        """Return state that transaction `index` is known to read, or nothing."""


class BlockState:
    """EVM at the parent of a block, filled from a `StateSource` while the block's transactions run."""

    def __init__(self, block: ChainBlock, source: StateSource) -> None:
        self.block = block
        self.source = source
        self.evm = open_evm(block.chain_id, block.hardfork)
        self.evm.probe = True  # one run reports many misses
        self.known = Facts()
        """State of the parent block that the transactions executed so far read."""
        self.executed = 0
        """Number of transactions executed."""
        self.first_reads: dict[int, set[Missing]] = {}
        """State that each transaction read and none before it."""
        self._now: set[Missing] = set()

    def begin(self, likely: Iterable[Missing] = ()) -> None:
        """Read what the protocol itself touches, set the block's environment and make its first system calls.

        `likely` is state that the transactions probably read: read together, it saves requests.
        """
        wanted: list[Missing] = [("account", self.block.header.coinbase, 0)]
        wanted += [("account", address, 0) for address in self.block.withdrawals]
        wanted += system_reads(self.block)
        self.fetch([*wanted, *likely])
        self._replay(self.block.part(0, 0))

    def prefetch(self, stop: int) -> None:
        """Read in few requests what the transactions before `stop` read if each ran on the state of the parent.

        Most transactions of a block read the same there as in their place; `execute` reads the rest.
        """
        waiting = list(range(self.executed, stop))
        for _ in range(ROUNDS):
            missing: set[Missing] = set()
            for index in list(waiting):
                found = self._misses(index)
                if not found:
                    waiting.remove(index)
                self.first_reads.setdefault(index, set()).update(found)
                missing.update(found)
            if not waiting:
                return
            self._now = set()
            self.fetch(missing)

    def _misses(self, index: int) -> list[Missing]:
        try:
            probe(self.evm, self.block.transactions[index])
        except MissingState as error:
            found: list[Missing] = error.args[1]
            return found
        return []

    def execute(self, stop: int) -> list[dict[str, Any]]:
        """Execute the transactions up to before `stop`, each in its place; return the results of the kernel."""
        results = []
        while self.executed < stop:
            self.complete(self.executed)
            results.append(self._replay(self.block.part(self.executed, self.executed + 1)))
            self.executed += 1
        return results

    def execute_strictly(self) -> None:
        """Execute all transactions without probes: afterwards `known` is what the block reads, and nothing else."""
        self.evm.probe = False
        self.begin()
        for index in range(len(self.block.transactions)):
            self._replay(self.block.part(index, index + 1))

    def complete(self, index: int) -> None:
        """Fetch all state that transaction `index` reads, without executing it."""
        self._now = self.first_reads.setdefault(index, set())
        self._learn_before(self.source.before(index))
        transaction = self.block.transactions[index]
        first: list[Missing] = [("account", transaction.sender, 0)]
        if transaction.to is not None:
            first.append(("account", transaction.to, 0))
        self.fetch(first)
        self.repeat(lambda: probe(self.evm, transaction))

    def repeat(self, action: Callable[[], object]) -> None:
        """Run `action` until it misses no state, fetching what it misses."""
        before: list[Missing] = []
        while True:
            try:
                action()
                return
            except MissingState as error:
                missing: list[Missing] = error.args[1]
                if missing == before:
                    raise RpcBadAnswer(f"the state was read and still {error.args[0]}") from None
                before = missing
                self.fetch(missing)

    def fetch(self, missing: Iterable[Missing]) -> None:
        """Read `missing` from the source, without what is known, and slots together with their accounts."""
        wanted = {item for item in missing if not self._knows(item)}
        holders = {("account", address, 0) for kind, address, _ in wanted if kind == "slot"}
        wanted |= {item for item in holders if not self._knows(item)}
        self._now |= wanted
        if wanted:
            self._learn(self.source.fetch(sorted(wanted)))

    def _knows(self, item: Missing) -> bool:
        kind, address, key = item
        if kind == "account":
            return address in self.known.accounts
        if kind == "slot":
            return key in self.known.slots.get(address, ())
        return key in self.known.block_hashes

    def _learn(self, facts: Facts) -> None:
        load_facts(self.evm, facts)
        self.known.accounts.update(facts.accounts)
        for address, slots in facts.slots.items():
            self.known.slots.setdefault(address, {}).update(slots)
        self.known.block_hashes.update(facts.block_hashes)

    def _learn_before(self, told: Facts) -> None:
        """Learn accounts and slots that no earlier transaction of the block has touched.

        Any earlier one that wrote them would have missed and fetched them, so what is new here is the parent's.
        """
        known = self.known.accounts
        fresh = Facts({address: account for address, account in told.accounts.items() if address not in known})
        for address, slots in told.slots.items():
            account = fresh.accounts.get(address) or known.get(address)
            if account is None or account[2] == _NO_CODE:
                continue  # created in this block: the values are not the parent's
            unread = {slot: value for slot, value in slots.items() if slot not in self.known.slots.get(address, ())}
            if unread:
                fresh.slots[address] = unread
        self._learn(fresh)

    def _replay(self, part: Block) -> dict[str, Any]:
        before: Missing | None = None
        while True:
            result = self.evm.replay(part, self.block.blob_fee_fraction)
            failure = result["failure"]
            missing = missing_of_text(failure[1]) if failure else None
            if missing is None or missing == before:
                return result
            before = missing
            self.fetch([missing])


def probe(evm: Evm, transaction: BlockTransaction) -> None:
    """Run a transaction without effects to find the state it reads; raise `MissingState`."""
    try:
        evm.trace(
            transaction.to,
            transaction.input,
            transaction.sender,
            transaction.value,
            transaction.gas_limit,
            False,
        )
    except InvalidTransaction:
        return  # the replay itself reports why


def system_reads(block: ChainBlock) -> list[Missing]:
    """Accounts and slots of the system calls at the start of a block."""
    wanted: list[Missing] = []
    if block.hardfork in _FROM_CANCUN and block.header.parent_beacon_block_root is not None:
        place = block.header.timestamp % RING
        wanted += [("slot", BEACON_ROOTS, place), ("slot", BEACON_ROOTS, place + RING)]
    if block.hardfork in _FROM_PRAGUE:
        wanted.append(("slot", HISTORY, (block.number - 1) % RING))
    return wanted


def loaded(block: ChainBlock, facts: Facts) -> Evm:
    """Return an EVM at the parent of `block` that knows exactly `facts`."""
    evm = open_evm(block.chain_id, block.hardfork)
    load_facts(evm, facts)
    return evm


def missing_of_text(text: str) -> Missing | None:
    """Parse the state that a message of the kernel names as missing; None for any other message."""
    for kind, pattern in _MISSES:
        if found := pattern.search(text):
            address, key = found.groups()
            return kind, bytes.fromhex(address[2:]), int(key or "0", 0)
    return None


class KnownState:
    """State that was read before: a `StateSource` without a node."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def before(self, index: int) -> Facts:
        """Return nothing: what is read is asked for."""
        return Facts()

    def fetch(self, missing: list[Missing]) -> Facts:
        """Return the known values of `missing`; what was never read did not exist."""
        found = Facts()
        for kind, address, key in missing:
            if kind == "account":
                found.accounts[address] = self.facts.accounts.get(address, (0, 0, b""))
            elif kind == "slot":
                found.slots.setdefault(address, {})[key] = self.facts.slots.get(address, {}).get(key, 0)
            elif key in self.facts.block_hashes:
                found.block_hashes[key] = self.facts.block_hashes[key]
        return found


def exact_reads(block: ChainBlock, known: Facts) -> Facts:
    """Return the part of `known` that a block really reads: probes read more than that."""
    state = BlockState(block, KnownState(known))
    state.execute_strictly()
    return state.known
