"""Fetch missing state from the node; without a node, raise an error that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mayavi import _kernel
from mayavi.errors import RpcBadAnswer, StateError
from mayavi.evm import failures
from mayavi.evm.failures import Missing
from mayavi.evm.hashing import keccak256

if TYPE_CHECKING:
    from mayavi.evm.rpc.remote import RemoteState

T = TypeVar("T")
Transaction = tuple[bytes, bytes, bytes, int]
"""Target, data, sender and value of a call, the input of an access list."""


class StateFetcher:
    """Runner of EVM actions that fetches missing state until they succeed."""

    __slots__ = ("_evm", "_source", "remote")

    def __init__(self, evm: _kernel.Evm, remote: RemoteState | None, source: dict[str, Any]) -> None:
        self._evm = evm
        self._source = source
        self.remote = remote

    def run(self, action: Callable[[], T], transaction: Transaction | None = None) -> T:
        """Run `action`, and repeat it after each miss with the missing state fetched. Failures raise decoded errors."""
        missed: list[Missing] = []
        while True:
            try:
                return action()
            except _kernel.MissingState as error:
                if error.args[1] == missed:
                    raise RpcBadAnswer(f"the node was asked and still {error.args[0]}") from None
                missed = error.args[1]
                self._fetch(missed, transaction, error.args[0])
                transaction = None
            except (_kernel.Reverted, _kernel.Halted) as error:
                raise failures.explained(error) from None
            except RuntimeError as error:
                if "borrowed" in str(error):
                    raise StateError(
                        "another thread is using this fork", "give each thread its own: `fork.copy()` is cheap"
                    ) from None
                raise
            except _kernel.InvalidTransaction as error:
                raise failures.invalid_transaction(error.args[0]) from None

    def _fetch(self, missing: list[Missing], transaction: Transaction | None, message: str) -> None:
        wanted = {item for item in missing if not self._invent_block_hash(item)}
        if not wanted:
            return
        if self.remote is None and self._source.get("kind") == "witness":
            raise failures.unproven_state(message) from None
        if self.remote is None:
            raise failures.missing_state(min(wanted), self._source) from None
        if transaction is not None:
            # An access list of the node names all state a call touches: one round instead of many.
            to, data, sender, value = transaction
            for address, slots in self.remote.access_list(sender, to, data, value) or []:
                wanted.add(("account", address, 0))
                wanted.update(("slot", address, slot) for slot in slots)
        # The kernel keeps slots of known accounts only, so a slot is fetched with its account.
        touched = {address for kind, address, _ in wanted if kind == "slot"}
        wanted |= {("account", address, 0) for address in touched if not self._has_account(address)}
        facts = self.remote.fetch(sorted(wanted))
        for address, (balance, nonce, code) in facts.accounts.items():
            self._evm.learn_account(address, balance, nonce, code)
        for address, values in facts.slots.items():
            self._evm.learn_slots(address, values)
        for number, block_hash in facts.block_hashes.items():
            self._evm.learn_block_hash(number, block_hash)

    def _has_account(self, address: bytes) -> bool:
        try:
            self._evm.nonce(address)
        except _kernel.MissingState:
            return False
        return True

    def _invent_block_hash(self, item: Missing) -> bool:
        """Set a deterministic hash for a block that was mined on the fork and exists on no chain."""
        kind, _, number = item
        if kind != "block_hash" or number <= int(self._source.get("block", -1)):
            return False
        self._evm.learn_block_hash(number, keccak256(b"mayavi block" + number.to_bytes(32, "big")))
        return True
