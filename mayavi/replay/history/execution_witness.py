"""Execution witness of a captured block: the node's own, and the state it proves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.errors import MayaviError, RpcBadAnswer, RpcHttpError, RpcTimeout
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.answers import BadValue, fields
from mayavi.evm.rpc.client import Call
from mayavi.evm.rpc.header import Header, header_fields
from mayavi.evm.rpc.opening import checked_header
from mayavi.evm.rpc.remote import Facts, Missing, RemoteState
from mayavi.evm.state import MissingState
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.replay.blocks import Difference
from mayavi.replay.chain_block import ChainBlock
from mayavi.replay.history.node import ReplayNode
from mayavi.replay.witness import validate_witness

WITNESS = "debug_executionWitness"
_HEADERS = ("headers", "ancestors", "ancestorHeaders")


def node_witness(node: ReplayNode, block: ChainBlock, parent: Header) -> dict[str, Any] | None:
    """Return a witness document with the node's `debug_executionWitness`, or None if it lacks the method.

    The header of the parent is added if the node leaves it out: its state root is the pre-state root.
    """
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
    except (RpcHttpError, RpcBadAnswer, RpcTimeout):  # too large or too slow
        answer = None
    if not isinstance(answer, dict):
        node.lacking.add(WITNESS)
        return None
    document = witness_document(block, answer)
    if not any(answer.get(name) for name in _HEADERS):
        document["parent"] = header_json(node, parent)
    return document


def witness_document(block: ChainBlock, witness: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document that `BlockWitness.of` reads: the block as the node gave it, beside its witness."""
    return {"chain_id": block.chain_id, "block": block.content, "witness": dict(witness)}


def header_json(node: ReplayNode, header: Header) -> dict[str, Any]:
    """Return a header in the names of JSON-RPC, read by its hash and checked against it."""

    def read(answer: object) -> dict[str, Any]:
        source = f"the node at {node.client.endpoint}"
        if checked_header(answer, header.number, node.chain_id, True, source).hash != header.hash:
            raise BadValue(f"it is not block 0x{header.hash.hex()}")
        return header_fields(fields(answer))

    found: dict[str, Any] = node.client.call("eth_getBlockByHash", ["0x" + header.hash.hex(), False], read)
    return found


def add_block_hashes(document: dict[str, Any], hashes: Mapping[int, bytes]) -> None:
    """Add the hashes that the block reads, for a witness whose headers do not reach back to them."""
    if hashes:
        document["block_hashes"] = {str(number): "0x" + hashes[number].hex() for number in sorted(hashes)}


def read_witness(document: dict[str, Any], block: ChainBlock, parent: Header) -> BlockWitness | Difference:
    """Return the witness of a document, or why it does not prove the state before `block`."""
    try:
        witness = BlockWitness.of(document, f"the witness of block {block.number}")
    except MayaviError as error:
        return Difference("witness", "readable", str(error))
    if witness.pre_state_root != parent.state_root:
        wanted, found = ("0x" + root.hex() for root in (parent.state_root, witness.pre_state_root))
        return Difference("witness, pre-state root", wanted, found)
    return witness


def witness_difference(document: dict[str, Any], block: ChainBlock) -> Difference | None:
    """Execute a block on its witness; return the first difference, up to the state root after it."""
    try:
        witness = BlockWitness.of(document, f"the witness of block {block.number}")
        return validate_witness(witness, block_hash=block.header.hash).first_difference
    except MayaviError as error:
        return Difference("witness", "readable and complete", str(error))


class WitnessState:
    """State before a block from its witness: a `StateSource`. What the witness lacks is read from the node."""

    def __init__(self, witness: BlockWitness, remote: RemoteState) -> None:
        self.remote = remote
        self._proven = witness.witness
        self._codes = {keccak256(code): code for code in (b"", *witness.parts.codes)}
        self._hashes = witness.block_hashes()

    def before(self, index: int) -> Facts:
        """Return nothing: what is read is asked for."""
        return Facts()

    def fetch(self, missing: list[Missing]) -> Facts:
        """Return proven values, and the node's where the witness has none."""
        facts, unproven = Facts(), []
        for item in missing:
            try:
                if not self._add(item, facts):
                    unproven.append(item)
            except MissingState:
                unproven.append(item)
        if unproven:
            read = self.remote.fetch(unproven)
            facts.accounts.update(read.accounts)
            facts.add_slots(
                ((address, slot), value) for address, of in read.slots.items() for slot, value in of.items()
            )
            facts.block_hashes.update(read.block_hashes)
        return facts

    def _add(self, item: Missing, facts: Facts) -> bool:
        kind, address, key = item
        if kind == "slot":
            facts.add_slots([((address, key), self._proven.slot(address, key))])
            return True
        if kind == "block_hash":
            if key in self._hashes:
                facts.block_hashes[key] = self._hashes[key]
            return key in self._hashes
        nonce, balance, _, code_hash = self._proven.account(address) or (0, 0, b"", keccak256(b""))
        if code_hash not in self._codes:
            return False
        facts.accounts[address] = (balance, nonce, self._codes[code_hash])
        return True
