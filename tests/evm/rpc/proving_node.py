"""`eth_getProof` answers from tries of py-trie, for nodes that have none, and an invented chain that offers them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from mayavi.evm.hashing import keccak256
from tests.evm.rpc.scripted_node import ALICE, POOL, POOL_CODE, ScriptedNode
from tests.evm.witness.oracle_state import EMPTY_ROOT, OracleAccount, OracleState, path_nodes


class Prover:
    """Answers of a node with a given state to `eth_getProof`; the tries are built once."""

    def __init__(self, state: OracleState) -> None:
        self.state = state
        self._accounts = state.trie()
        self._storages = {address: account.storage() for address, account in state.accounts.items()}

    @property
    def root(self) -> bytes:
        return bytes(self._accounts.root_hash)

    def answer(self, who: str, slots: list[str], at: object) -> dict[str, Any]:
        address = bytes.fromhex(who[2:])
        account, storage = self.state.accounts.get(address, OracleAccount()), self._storages.get(address)
        return {
            "address": who,
            "accountProof": ["0x" + node.hex() for node in path_nodes(self._accounts, keccak256(address))],
            "balance": hex(account.balance),
            "nonce": hex(account.nonce),
            "codeHash": "0x" + keccak256(account.code).hex(),
            "storageHash": "0x" + bytes(EMPTY_ROOT if storage is None else storage.root_hash).hex(),
            "storageProof": [
                {
                    "key": slot,
                    "value": hex(account.slots.get(int(slot, 16), 0)),
                    "proof": ["0x" + node.hex() for node in path_nodes(storage, keccak256(bytes.fromhex(slot[2:])))],
                }
                for slot in slots
            ],
        }


@cache
def invented_prover() -> Prover:
    """Two accounts, one with 300 slots."""
    slots = {slot: slot * 1000 + 1 for slot in range(300)}
    return Prover(OracleState({ALICE: OracleAccount(7, 5 * 10**18), POOL: OracleAccount(1, 0, POOL_CODE, slots)}))


class ProvingNode(ScriptedNode):
    """Node whose state roots are real: every value can be proven, until a test lets it lie."""

    def __init__(self) -> None:
        super().__init__()
        self.prover = invented_prover()
        slots = self.prover.state.accounts[POOL].slots
        self.storage = {("0x" + POOL.hex(), slot): value for slot, value in slots.items()}
        self.rebuild(100, stateRoot="0x" + self.prover.root.hex())
        self.methods["eth_getProof"] = self.prover.answer


@contextmanager
def proving_node() -> Iterator[ProvingNode]:
    node = ProvingNode()
    try:
        yield node
    finally:
        node.close()
