"""Block headers: parse a node's answer, and recompute the block hash from it.

The hash of an Ethereum block is the keccak of its RLP-encoded header. Later hard forks only append fields, so the
fields in a node's answer give the header's form: London adds the base fee, Shanghai the withdrawals root, Cancun three
blob fields, Prague the requests hash (Osaka none), Amsterdam the block access list hash and slot number.

Some chains encode headers differently or have not been checked: `UNCHECKED_CHAINS` lists them. There the hash that the
node states is trusted, and must stay the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from mayavi import _kernel
from mayavi.evm.rpc.answers import BadValue, data, fields, hash32, quantity, quantity64

UNCHECKED_CHAINS: Mapping[int, str] = {
    42161: "Arbitrum One",
    42170: "Arbitrum Nova",
    421614: "Arbitrum Sepolia",
    43114: "Avalanche C-Chain",
    43113: "Avalanche Fuji",
    324: "zkSync Era",
    300: "zkSync Sepolia",
    250: "Fantom",
    146: "Sonic",
    42220: "Celo",
    59144: "Linea",
    534352: "Scroll",
    5000: "Mantle",
    1101: "Polygon zkEVM",
}

# Name in JSON-RPC and byte length (None: a number; -1: any length), in the order of the hash.
_BASE_FIELDS: tuple[tuple[str, int | None], ...] = (
    ("parentHash", 32),
    ("sha3Uncles", 32),
    ("miner", 20),
    ("stateRoot", 32),
    ("transactionsRoot", 32),
    ("receiptsRoot", 32),
    ("logsBloom", 256),
    ("difficulty", None),
    ("number", None),
    ("gasLimit", None),
    ("gasUsed", None),
    ("timestamp", None),
    ("extraData", -1),
    ("mixHash", 32),
    ("nonce", 8),
)
_APPENDED_FIELDS: tuple[tuple[str, int | None], ...] = (
    ("baseFeePerGas", None),  # London
    ("withdrawalsRoot", 32),  # Shanghai
    ("blobGasUsed", None),  # Cancun
    ("excessBlobGas", None),
    ("parentBeaconBlockRoot", 32),
    ("requestsHash", 32),  # Prague
    ("blockAccessListHash", 32),  # Amsterdam
    ("slotNumber", None),
)
_FIRST_FIELDS = {
    "prague": "requestsHash",
    "cancun": "excessBlobGas",
    "shanghai": "withdrawalsRoot",
    "london": "baseFeePerGas",
}
HEADER_FIELDS = frozenset(name for name, _ in _BASE_FIELDS + _APPENDED_FIELDS) | {"hash"}


@dataclass(frozen=True, slots=True)
class Header:
    """Header of the forked block. Fields of later hard forks are None."""

    number: int
    hash: bytes
    parent_hash: bytes
    state_root: bytes
    timestamp: int
    coinbase: bytes
    gas_limit: int
    gas_used: int
    difficulty: int
    prevrandao: bytes
    base_fee: int | None
    excess_blob_gas: int | None
    blob_gas_used: int | None
    parent_beacon_block_root: bytes | None
    form: str
    """Hard fork implied by the fields present, for chains without a known schedule."""

    def enter(self, evm: _kernel.Evm, blob_fee_fraction: int) -> None:
        """Set the block environment of `evm` to that of this block."""
        evm.set_block(
            number=self.number,
            timestamp=self.timestamp,
            coinbase=self.coinbase,
            gas_limit=self.gas_limit,
            difficulty=self.difficulty,
            base_fee=self.base_fee,
            prevrandao=self.prevrandao,
            excess_blob_gas=self.excess_blob_gas,
            blob_fee_fraction=blob_fee_fraction,
        )

    @classmethod
    def parse(cls, answer: object) -> Header:
        """Read the answer of eth_getBlockBy…; `BadValue` when a field is missing or malformed."""
        block = fields(answer)
        zero_hash = "0x" + "00" * 32

        def optional_quantity(name: str) -> int | None:
            return None if block.get(name) is None else quantity64(block[name])

        beacon_root = block.get("parentBeaconBlockRoot")
        return cls(
            number=quantity(block.get("number"), 63),
            hash=hash32(block.get("hash")),
            parent_hash=hash32(block.get("parentHash")),
            state_root=hash32(block.get("stateRoot")),
            timestamp=quantity64(block.get("timestamp")),
            coinbase=data(block.get("miner"), 20),
            gas_limit=quantity64(block.get("gasLimit")),
            gas_used=quantity64(block.get("gasUsed")),
            difficulty=quantity(block.get("difficulty", "0x0")),
            prevrandao=hash32(block.get("mixHash") or zero_hash),
            base_fee=None if block.get("baseFeePerGas") is None else quantity(block["baseFeePerGas"]),
            excess_blob_gas=optional_quantity("excessBlobGas"),
            blob_gas_used=optional_quantity("blobGasUsed"),
            parent_beacon_block_root=None if beacon_root is None else hash32(beacon_root),
            form=_form(block),
        )


def _form(block: Mapping[str, object]) -> str:
    for hardfork, field in _FIRST_FIELDS.items():
        if block.get(field) is not None:
            merged = hardfork == "london" and quantity(block.get("difficulty", "0x0")) == 0
            return "paris" if merged else hardfork
    return "berlin"


def header_hash(answer: Mapping[str, object]) -> bytes:
    """Block hash computed from the header fields of an eth_getBlockBy… answer, by Ethereum's rule.

    `BadValue` when a field is missing or malformed, or when a field is missing before one of a later fork.
    """
    header = {name: _field(answer, name, length) for name, length in _BASE_FIELDS}
    given = [answer.get(name) is not None for name, _ in _APPENDED_FIELDS]
    count = len(given) - given[::-1].index(True) if True in given else 0
    for name, length in _APPENDED_FIELDS[:count]:
        if answer.get(name) is None:
            raise BadValue(f"the block has fields after '{name}' but not '{name}' itself")
        header[name] = _field(answer, name, length)
    try:
        return _kernel.header_hash(json.dumps(header).encode())
    except ValueError as error:
        raise BadValue(str(error)) from None


def header_fields(answer: Mapping[str, object]) -> dict[str, object]:
    """Header part of an eth_getBlockBy… answer, without transactions, uncles and the node's own additions."""
    return {name: value for name, value in answer.items() if name in HEADER_FIELDS and value is not None}


def _field(answer: Mapping[str, object], name: str, length: int | None) -> str:
    """Value of a field in hex, without padding if it is a number."""
    value = answer.get(name)
    if value is None:
        raise BadValue(f"the block has no field '{name}'")
    if length is None:
        return hex(quantity(value))
    return "0x" + data(value, length if length >= 0 else None).hex()
