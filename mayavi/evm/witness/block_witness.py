"""A block with its witness: its parts compared with one another, and an EVM on the proven pre-state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi import _kernel
from mayavi.errors import WitnessError
from mayavi.evm import chains
from mayavi.evm.rpc.answers import BadValue
from mayavi.evm.rpc.header import Header, header_hash
from mayavi.evm.state import known_hardfork
from mayavi.evm.witness.document import Parts, parts_of, read_document
from mayavi.evm.witness.parent import GAS_LIMIT_DENOMINATOR, next_base_fee, next_excess_blob_gas

EMPTY_LIST_HASH = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"
"""Hash of no ommers."""
HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
"""Contract that keeps block hashes in its storage since Prague (EIP-2935)."""
HISTORY_WINDOW = 8191
WITH_RESERVE_PRICE = ("osaka", "amsterdam")
"""Hard forks whose blob fee has a lower bound (EIP-7918)."""

Mismatch = tuple[str, str, str]
"""What differs, what was expected, what was found."""


@dataclass(slots=True)
class BlockWitness:
    """Witness of one block. `mismatches` compares its parts; nothing is executed."""

    name: str
    parts: Parts
    header: Header
    hash: bytes
    """Block hash, computed from the header."""
    pre_state_root: bytes
    witness: _kernel.Witness
    rules: str | None = None
    """Hard fork, if not that of chain and block."""
    proven_hashes: set[int] = field(default_factory=set)
    """Earlier blocks whose hash follows from this header, from ancestors or from the proven state."""

    @classmethod
    def read(cls, path: str | Path, *, hardfork: str | None = None) -> BlockWitness:
        """Read a witness file; `WitnessError` names what is missing or malformed in it.

        `hardfork` overrides the rules of chain and block.
        """
        return cls.of(read_document(Path(path)), str(path), hardfork=hardfork)

    @classmethod
    def of(cls, document: object, name: str = "witness", *, hardfork: str | None = None) -> BlockWitness:
        """Build from a JSON document."""
        rules = None if hardfork is None else known_hardfork(hardfork)
        try:
            parts = parts_of(document)
            computed = header_hash(parts.header)
            header = Header.parse({**parts.header, "hash": "0x" + computed.hex()})
            root = parts.pre_state_root or _parent_root(parts)
            witness = _kernel.Witness(root, parts.nodes, parts.codes)
        except ValueError as error:
            raise WitnessError(f"'{name}': {error}") from error
        return cls(name, parts, header, computed, root, witness, rules)

    @property
    def chain_id(self) -> int:
        """Chain id of the document, or of its transactions."""
        if self.parts.chain_id is None:
            raise WitnessError(f"'{self.name}' names no chain", "add the field 'chain_id'")
        return self.parts.chain_id

    @property
    def number(self) -> int:
        """Block number."""
        return self.header.number

    @property
    def hardfork(self) -> str:
        """Hard fork of the block: the given one, or the chain's; on a development chain that of the header's form."""
        if self.rules is None and chains.chain(self.chain_id).dev:
            return self.header.form
        return self.rules or chains.hardfork_at(self.chain_id, self.header.number, self.header.timestamp)

    @property
    def blob_fee_fraction(self) -> int:
        """Blob fee update fraction of the block."""
        return chains.blob_fee_fraction_at(self.chain_id, self.header.timestamp, self.hardfork)

    def evm(self) -> _kernel.Evm:
        """EVM on the pre-state, with the environment of this block."""
        header = self.header
        evm = _kernel.Evm.from_witness(self.chain_id, self.hardfork, self.witness)
        header.enter(evm, self.blob_fee_fraction)
        for number, block_hash in self.block_hashes().items():
            evm.learn_block_hash(number, block_hash)
        return evm

    def execute(self) -> tuple[_kernel.Evm, dict[str, Any]]:
        """Execute the whole block; return the EVM after it and the results of `Evm.replay`."""
        evm, deposits = self.evm(), chains.deposit_contract_of(self.chain_id)
        try:
            return evm, evm.replay(self.parts.block, self.blob_fee_fraction, deposits)
        except ValueError as error:
            raise WitnessError(f"'{self.name}': {error}") from error

    def state_root(self, evm: _kernel.Evm) -> bytes:
        """State root with the writes of `evm`; `WitnessError` names the trie node that is missing for it."""
        try:
            return evm.state_root()
        except _kernel.MissingState as error:
            raise WitnessError(f"'{self.name}': {error.args[0]}") from error

    def block_hashes(self) -> dict[int, bytes]:
        """Hashes of earlier blocks: those of the document, of its ancestors, and the parent's."""
        given = [(int(each["number"], 16), each) for each in self.parts.ancestors]
        parents = {number - 1: bytes.fromhex(each["parentHash"][2:]) for number, each in given}
        ancestors = {number: header_hash(each) for number, each in given}
        return {**self.parts.block_hashes, **parents, **ancestors, self.number - 1: self.header.parent_hash}

    def verify(self) -> None:
        """Raise `WitnessError` for the first part that contradicts another."""
        for what, expected, found in self.mismatches():
            raise WitnessError(f"'{self.name}': {what}: expected {expected}, got {found}")

    def mismatches(self) -> Iterator[Mismatch]:
        """Yield what differs: header, body, earlier blocks, trie nodes. Codes are compared after execution."""
        yield from self._header_mismatches()
        yield from self._body_mismatches()
        yield from self._ancestor_mismatches()
        yield from self._hash_mismatches()
        nodes, _ = self.witness.unreferenced()
        for node in nodes[:1]:
            what = f"{len(nodes)} trie nodes" if len(nodes) > 1 else "trie node"
            yield what, "below the pre-state root", f"no reference to 0x{node.hex()}"

    def _header_mismatches(self) -> Iterator[Mismatch]:
        given = self.parts.header
        yield from _unequal("block hash", given.get("hash", _text(self.hash)), _text(self.hash))
        yield from _unequal("difficulty after the merge", "0x0", given["difficulty"])
        yield from _unequal("header nonce after the merge", "0x" + "00" * 8, given["nonce"])
        yield from _unequal("ommers hash after the merge", EMPTY_LIST_HASH, given["sha3Uncles"])
        if len(given["extraData"]) > 66:
            yield "extra data", "at most 32 bytes", f"{len(given['extraData']) // 2 - 1} bytes"
        if self.header.gas_used > self.header.gas_limit:
            yield "gas used", f"at most {self.header.gas_limit}", str(self.header.gas_used)

    def _body_mismatches(self) -> Iterator[Mismatch]:
        claims = self.parts.block.claims()
        for what in ("transactions root", "withdrawals root"):
            key = what.replace(" ", "_")
            yield from _unequal(what, _text(claims[key]), _text(claims["computed_" + key]))
        computed, signers = claims["transaction_hashes"], claims["signers"]
        base_fee = self.header.base_fee or 0
        for index, given in enumerate(self.parts.transactions):
            where = f"transaction {index} (0x{computed[index].hex()})"
            if given.hash is not None:
                yield from _unequal(f"{where}, hash", _text(given.hash), _text(computed[index]))
            if given.sender is not None:
                yield from _unequal(f"{where}, sender", _text(given.sender), _text(signers[index]))
            place = (self.number, index, self.hash)
            names = ("block number", "transaction index", "block hash")
            for name, stated, actual in zip(names, given.place, place, strict=True):
                if stated is not None:
                    yield from _unequal(f"{where}, {name}", _shown(stated), _shown(actual))
            price = given.effective_price
            if price is not None and price not in (given.max_price, _effective(given.encoded, base_fee)):
                yield f"{where}, gas price", str(_effective(given.encoded, base_fee)), str(price)

    def _ancestor_mismatches(self) -> Iterator[Mismatch]:
        """Yield breaks in the chain of ancestors, and what contradicts the parent."""
        expected, number = self.header.parent_hash, self.number - 1
        for given in sorted(self.parts.ancestors, key=lambda each: int(each["number"], 16), reverse=True):
            yield from _unequal("ancestor number", str(number), str(int(given["number"], 16)))
            yield from _unequal(f"hash of block {number}", _text(expected), _text(header_hash(given)))
            yield from _unequal(f"stated hash of block {number}", given.get("hash", _text(expected)), _text(expected))
            if number == self.number - 1:
                yield from self._parent_mismatches(given)
            self.proven_hashes.add(number)
            expected, number = bytes.fromhex(given["parentHash"][2:]), number - 1
        # The last header also states the hash before it.
        self.proven_hashes.add(number if self.parts.ancestors else self.number - 1)
        known = self.parts.block_hashes.get(number)
        if known is not None:
            yield from _unequal(f"hash of block {number}", _text(expected), _text(known))

    def _parent_mismatches(self, parent: dict[str, str]) -> Iterator[Mismatch]:
        limit = int(parent["gasLimit"], 16)
        yield from _unequal("pre-state root", parent["stateRoot"], _text(self.pre_state_root))
        if self.header.timestamp <= int(parent["timestamp"], 16):
            yield "timestamp", f"after {int(parent['timestamp'], 16)}", str(self.header.timestamp)
        if abs(self.header.gas_limit - limit) >= limit // GAS_LIMIT_DENOMINATOR:
            yield "gas limit", f"within 1/{GAS_LIMIT_DENOMINATOR} of {limit}", str(self.header.gas_limit)
        if self.header.base_fee is not None and "baseFeePerGas" in parent:
            yield from _unequal("base fee", str(next_base_fee(parent)), str(self.header.base_fee))
        if self.header.excess_blob_gas is not None:
            bounded = self.hardfork in WITH_RESERVE_PRICE
            excess = next_excess_blob_gas(parent, self.blob_fee_fraction, reserve_price=bounded)
            if excess is not None:
                yield from _unequal("excess blob gas", str(excess), str(self.header.excess_blob_gas))

    def _hash_mismatches(self) -> Iterator[Mismatch]:
        """Yield block hashes that contradict the headers or the history contract in the proven state."""
        for number, block_hash in self.block_hashes().items():
            stated = self.parts.block_hashes.get(number)
            if stated is not None and stated != block_hash:
                yield f"hash of block {number}", _text(block_hash), _text(stated)
            # The parent's hash is written by this block itself.
            if stated is None or number in self.proven_hashes or not 0 < self.number - 1 - number < HISTORY_WINDOW:
                continue
            try:
                kept = self.witness.slot(HISTORY, number % HISTORY_WINDOW)
            except _kernel.MissingState:
                continue
            if kept:
                if kept != int.from_bytes(stated):
                    yield f"hash of block {number} in {_text(HISTORY)}", f"0x{kept:064x}", _text(stated)
                self.proven_hashes.add(number)


def _parent_root(parts: Parts) -> bytes:
    """State root of the parent, among the ancestors."""
    parent = int(parts.header["number"], 16) - 1
    for given in parts.ancestors:
        if int(given["number"], 16) == parent:
            return bytes.fromhex(given["stateRoot"][2:])
    raise BadValue("there is neither a pre-state root nor the header of the parent")


def _effective(encoded: bytes, base_fee: int) -> int:
    """Price that a typed transaction pays per gas."""
    fields = json.loads(encoded)
    return min(int(fields["maxFeePerGas"], 16), base_fee + int(fields["maxPriorityFeePerGas"], 16))


def _unequal(what: str, expected: str, found: str) -> Iterator[Mismatch]:
    if expected != found:
        yield what, expected, found


def _shown(value: object) -> str:
    return _text(value) if isinstance(value, bytes) else str(value)


def _text(value: bytes | None) -> str:
    return "none" if value is None else "0x" + value.hex()
