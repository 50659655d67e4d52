"""Proofs of state: trie nodes below the state root of a header, and what they say of a world's contents."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mayavi import _kernel
from mayavi.errors import BlockHashMismatch, ProofError, SnapshotCorrupt
from mayavi.evm.address import checksum
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.answers import BadValue
from mayavi.evm.rpc.header import UNCHECKED_CHAINS, Header, header_hash
from mayavi.evm.snapshot.contents import AccountContents, WorldContents

EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
_LIMIT = 1 << 32  # bytes of nodes, so that a damaged length cannot exhaust the memory


@dataclass(frozen=True, slots=True)
class StateProof:
    """Header of a block, and trie nodes below its state root."""

    chain_id: int
    header: Mapping[str, Any]
    """Fields of the header in the names of JSON-RPC, `hash` among them."""
    nodes: tuple[bytes, ...]

    @property
    def hash(self) -> bytes:
        """Block hash."""
        return bytes.fromhex(str(self.header["hash"])[2:])

    @property
    def header_checked(self) -> bool:
        """Whether the block hash commits to the state root by Ethereum's rule on this chain."""
        return self.chain_id not in UNCHECKED_CHAINS

    def parsed_header(self) -> Header:
        """Header with its hash recomputed; `BlockHashMismatch` if it has another hash."""
        try:
            header = Header.parse(self.header)
            computed = header_hash(self.header) if self.header_checked else header.hash
        except BadValue as error:
            raise ProofError(f"the header of the proof is malformed: {error}") from error
        if computed != header.hash:
            raise BlockHashMismatch(
                f"the header of the proof states the hash 0x{header.hash.hex()} and has 0x{computed.hex()}"
            )
        return header

    def witness(self) -> _kernel.Witness:
        """Look up accounts and slots by their hashes."""
        try:
            return _kernel.Witness(self.parsed_header().state_root, self.nodes)
        except ValueError as error:
            raise ProofError(f"the proof is malformed: {error}") from error

    def to_metadata(self) -> dict[str, Any]:
        """JSON data for the metadata of a snapshot."""
        packed = b"".join(struct.pack(">I", len(node)) + node for node in self.nodes)
        nodes = base64.b64encode(_kernel.zstd_compress(packed)).decode()
        return {"chain_id": self.chain_id, "header": dict(self.header), "bytes": len(packed), "nodes": nodes}

    @classmethod
    def of_metadata(cls, metadata: Mapping[str, Any]) -> StateProof:
        """Proof that `to_metadata` wrote; `SnapshotCorrupt` if it is malformed."""
        try:
            if not 0 <= metadata["bytes"] <= _LIMIT:
                raise ValueError(f"{metadata['bytes']} bytes of trie nodes")
            packed = _kernel.zstd_decompress(base64.b64decode(metadata["nodes"], validate=True), metadata["bytes"])
            nodes, at = [], 0
            while at < len(packed):
                (length,) = struct.unpack_from(">I", packed, at)
                nodes.append(packed[at + 4 : at + 4 + length])
                at += 4 + length
            if at != len(packed):
                raise ValueError("the last trie node is cut off")
            return cls(int(metadata["chain_id"]), dict(metadata["header"]), tuple(nodes))
        except (KeyError, TypeError, ValueError, struct.error) as error:
            raise SnapshotCorrupt(f"the proof of the snapshot is malformed: {error}") from error


@dataclass(frozen=True, slots=True)
class Disproof:
    """Value of a world that its proof contradicts, or does not cover."""

    address: bytes | None
    """Account; None for a field of the block."""
    field: str
    slot: int | None
    stated: object
    proven: object
    """Proven value, or text that says why there is none."""

    def __str__(self) -> str:
        where = self.field if self.slot is None else f"{self.field} {self.slot:#x}"
        who = "block" if self.address is None else checksum(self.address)
        return (
            f"{who}, {where}: {_shown(self.stated, self.field)} is stated, {_shown(self.proven, self.field)} is proven"
        )


def disproofs(world: WorldContents, proof: StateProof) -> Iterator[Disproof]:
    """Yield what the proof contradicts: the block first, then accounts by address and slots by number."""
    header, witness = proof.parsed_header(), proof.witness()
    if world.chain_id != proof.chain_id:
        yield Disproof(None, "chain id", None, world.chain_id, proof.chain_id)
    for field, proven in (
        ("number", header.number),
        ("timestamp", header.timestamp),
        ("coinbase", "0x" + header.coinbase.hex()),
        ("gas_limit", header.gas_limit),
        ("base_fee", header.base_fee or 0),
    ):
        if world.block[field] != proven:
            yield Disproof(None, field, None, world.block[field], proven)
    near = {header.number: header.hash, header.number - 1: header.parent_hash}
    for number, block_hash in world.block_hashes.items():
        if near.get(number, block_hash) != block_hash:
            yield Disproof(None, f"hash of block {number}", None, block_hash, near[number])
    for address in sorted(world.accounts):
        yield from _account_disproofs(address, world.accounts[address], witness)


def unproven_block_hashes(world: WorldContents, proof: StateProof) -> int:
    """Number of block hashes in a world that the header of the proof does not state."""
    number = proof.parsed_header().number
    return sum(each not in (number, number - 1) for each in world.block_hashes)


def _account_disproofs(address: bytes, account: AccountContents, witness: _kernel.Witness) -> Iterator[Disproof]:
    try:
        nonce, balance, storage_root, code_hash = witness.account(address) or (0, 0, EMPTY_ROOT, keccak256(b""))
    except _kernel.MissingState as error:
        yield Disproof(address, "account", None, "known", error.args[0])
        return
    for field, stated, proven in (
        ("balance", account.balance, balance),
        ("nonce", account.nonce, nonce),
        ("code hash", keccak256(account.code), code_hash),
    ):
        if stated != proven:
            yield Disproof(address, field, None, stated, proven)
    if account.complete and storage_root != EMPTY_ROOT:
        yield Disproof(address, "storage", None, "all of it", "only single slots")
    for slot, stated in sorted(account.slots.items()):
        try:
            value: object = witness.slot(address, slot)
        except _kernel.MissingState as error:
            value = error.args[0]
        if value != stated:
            yield Disproof(address, "slot", slot, stated, value)


def _shown(value: object, field: str) -> str:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, int):
        return f"{value:#x}" if field == "slot" else f"{value:,}"
    return str(value)
