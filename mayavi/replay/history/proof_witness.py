"""Execution witness of a block built from `eth_getProof`, for nodes without `debug_executionWitness`.

Proofs at the parent block hold every trie node on the paths that the block reads and writes. Removing a slot may also
need the neighbour of its leaf: when a branch is left with one child, the two become one node. That node is in the proof
of the removed slot at the block itself; without its first nibbles it is the neighbour, which its hash confirms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mayavi.errors import ProofError, WitnessError
from mayavi.evm.address import checksum
from mayavi.evm.contents import WorldContents
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.header import Header
from mayavi.evm.rpc.proofs import ProofRefusedError, fetch_proof
from mayavi.evm.rpc.remote import Facts
from mayavi.evm.rpc.state_proof import StateProof
from mayavi.evm.state import Evm
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.replay.block_state import missing_of_text
from mayavi.replay.blocks import WITH_REQUESTS, Difference
from mayavi.replay.chain_block import ChainBlock
from mayavi.replay.history.execution_witness import add_block_hashes, witness_document
from mayavi.replay.history.node import ReplayNode
from mayavi.replay.history.touched_state import REQUEST_CONTRACTS

ROUNDS = 256
"""Most single requests for what the first proofs lack."""
REQUEST_SLOTS = range(4)
"""Slots of the contracts of EIP-7002 and EIP-7251 that every block reads: excess, count, head and tail."""
_NEIGHBOUR = re.compile(r"removal of .* is not proven: trie node 0x([0-9a-f]{64})")


class UnprovenRemovalError(ProofError):
    """Removed slot whose neighbour is in no proof."""


class ProofWitness:
    """Witness of one block while it is put together from proofs of a node."""

    def __init__(self, node: ReplayNode, block: ChainBlock, parent: Header, facts: Facts) -> None:
        self.node, self.block, self.parent, self.facts = node, block, parent, facts
        self.codes = {code for _, _, code in facts.accounts.values() if code}
        self.nodes: dict[bytes, None] = {}
        self.header: dict[str, object] = {}

    def build(self, after: Evm) -> dict[str, object]:
        """Return a witness document; `after` is the state after the block.

        Raises `ProofRefusedError` if the node lacks `eth_getProof`, `UnprovenRemovalError` if no proof holds the
        neighbour of a removed slot, and `ProofError` if the node contradicts itself.
        """
        self._prove(self._wanted())
        spare = self._nodes_after(after)
        for _ in range(ROUNDS):
            lacking = self._lacking()
            if lacking is None or not self._complete(lacking, spare):
                break
        if lacking is not None and _NEIGHBOUR.search(lacking):
            raise UnprovenRemovalError(lacking, "eth_getProof cannot give that node, debug_executionWitness can")
        return self._document()

    def contradiction(self) -> Difference | None:
        """Return the first value of the state that was read and that the proofs contradict."""
        proven = StateProof(self.block.chain_id, self.header, tuple(self.nodes)).witness()
        for address, (balance, nonce, code) in sorted(self.facts.accounts.items()):
            found = proven.account(address) or (0, 0, b"", keccak256(b""))
            values = [("nonce", str(nonce), str(found[0])), ("balance", str(balance), str(found[1]))]
            values += [("code hash", "0x" + keccak256(code).hex(), "0x" + found[3].hex())]
            values += [
                (f"slot {slot:#x}", f"{value:#x}", f"{proven.slot(address, slot):#x}")
                for slot, value in sorted(self.facts.slots.get(address, {}).items())
            ]
            for what, stated, actual in values:
                if stated != actual:
                    return Difference(f"proven {what} of {checksum(address)}", actual, stated)
        return None

    def _wanted(self) -> dict[bytes, list[int]]:
        wanted = {address: list(self.facts.slots.get(address, ())) for address in self.facts.accounts}
        if self.block.hardfork in WITH_REQUESTS:
            for address in REQUEST_CONTRACTS:
                wanted[address] = sorted({*wanted.get(address, ()), *REQUEST_SLOTS})
        return wanted

    def _prove(self, wanted: dict[bytes, list[int]]) -> None:
        proof = fetch_proof(self.node.client, self.parent.hash, wanted)
        self.nodes.update(dict.fromkeys(proof.nodes))
        self.header = dict(proof.header)
        absent = [("account", address, 0) for address in wanted if address not in self.facts.accounts]
        if absent:
            read = self.node.state_at(self.parent).fetch(absent)
            self.codes.update(code for _, _, code in read.accounts.values() if code)

    def _nodes_after(self, after: Evm) -> list[bytes]:
        """Return the trie nodes after the block on the paths of slots that it clears."""
        contents = WorldContents.of(after.dump()).accounts
        cleared: dict[bytes, list[int]] = {}
        for address, slots in self.facts.slots.items():
            kept = contents[address].slots if address in contents else {}
            if gone := [slot for slot, value in slots.items() if value and not kept.get(slot, 0)]:
                cleared[address] = gone
        return list(fetch_proof(self.node.client, self.block.header.hash, cleared).nodes) if cleared else []

    def _lacking(self) -> str | None:
        """Return what the witness lacks to execute the block and to give the state root, or None."""
        try:
            witness = BlockWitness.of(self._document())
            evm, result = witness.execute()
            if result["failure"]:
                return str(result["failure"][1])
            witness.state_root(evm)
        except WitnessError as error:
            return str(error)
        return None

    def _complete(self, lacking: str, spare: list[bytes]) -> bool:
        """Add what `lacking` names; return whether that was possible."""
        if found := _NEIGHBOUR.search(lacking):
            neighbour = find_neighbour(spare, bytes.fromhex(found[1]))
            if neighbour is not None:
                self.nodes[neighbour] = None
            return neighbour is not None
        missing = missing_of_text(lacking)
        if missing is None or missing[0] == "block_hash":
            return False
        kind, address, key = missing
        before = len(self.nodes)
        self._prove({address: [key] if kind == "slot" else []})
        return len(self.nodes) > before

    def _document(self) -> dict[str, object]:
        witness = {
            "state": ["0x" + node.hex() for node in self.nodes],
            "codes": ["0x" + code.hex() for code in sorted(self.codes)],
            "headers": [self.header],
        }
        document = witness_document(self.block, witness)
        add_block_hashes(document, self.facts.block_hashes)
        return document


@dataclass(frozen=True, slots=True)
class BuiltWitness:
    """Result of building a witness: a document, or why there is none."""

    document: dict[str, object] | None
    reason: str | None = None
    contradiction: Difference | None = None
    """First value that the node gave and does not prove."""


def build_witness(node: ReplayNode, block: ChainBlock, parent: Header, facts: Facts, after: Evm) -> BuiltWitness:
    """Build a witness from `eth_getProof`; `facts` is the state that the block reads, `after` the state after it.

    Raises `ProofError` with account and slot if an answer states another value than it proves.
    """
    witness = ProofWitness(node, block, parent, facts)
    try:
        document = witness.build(after)
    except (ProofRefusedError, UnprovenRemovalError) as error:
        return BuiltWitness(None, error.message if error.hint is None else f"{error.message}; {error.hint}")
    return BuiltWitness(document, contradiction=witness.contradiction())


def find_neighbour(nodes: Iterable[bytes], wanted: bytes) -> bytes | None:
    """Return the node with the hash `wanted` that is one of `nodes` without the start of its path."""
    for node in nodes:
        for shorter in _shortened(node):
            if keccak256(shorter) == wanted:
                return shorter
    return None


def _shortened(node: bytes) -> Iterator[bytes]:
    """Yield a leaf or extension with ever fewer nibbles at the start of its path; nothing for a branch."""
    items = _items(node)
    if len(items) != 2:
        return
    path, value = items
    raw = path[_prefix_length(path) :]
    nibbles = [nibble for byte in raw for nibble in (byte >> 4, byte & 15)]
    leaf, odd = nibbles[0] & 2, nibbles[0] & 1
    nibbles = nibbles[1 if odd else 2 :]
    for start in range(1, len(nibbles) + 1):
        rest = nibbles[start:]
        flags = [leaf | 1] if len(rest) % 2 else [leaf, 0]
        packed = bytes(high << 4 | low for high, low in zip(*[iter(flags + rest)] * 2, strict=True))
        yield _list(_text(packed) + value)


def _items(node: bytes) -> list[bytes]:
    """Return the encoded items of an RLP list."""
    found, at = [], _prefix_length(node)
    while at < len(node):
        length = _prefix_length(node[at:]) + _payload_length(node[at:])
        found.append(node[at : at + length])
        at += length
    return found


def _prefix_length(item: bytes) -> int:
    first = item[0]
    if first < 0x80:
        return 0
    if first < 0xB8 or 0xC0 <= first < 0xF8:
        return 1
    return 1 + first - (0xB7 if first < 0xC0 else 0xF7)


def _payload_length(item: bytes) -> int:
    first, prefix = item[0], _prefix_length(item)
    if prefix == 0:
        return 1
    if prefix == 1:
        return first - (0x80 if first < 0xC0 else 0xC0)
    return int.from_bytes(item[1:prefix])


def _text(raw: bytes) -> bytes:
    """Encode a path, which is at most 33 bytes."""
    return raw if len(raw) == 1 and raw[0] < 0x80 else bytes([0x80 + len(raw)]) + raw


def _list(payload: bytes) -> bytes:
    if len(payload) < 56:
        return bytes([0xC0 + len(payload)]) + payload
    size = len(payload).to_bytes((len(payload).bit_length() + 7) // 8)
    return bytes([0xF7 + len(size)]) + size + payload
