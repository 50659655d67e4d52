"""Block headers: what a fork needs from them, and the proof that a header belongs to its hash.

The hash of an Ethereum block is the keccak of its RLP-encoded header. Later hard forks only append fields, so the
fields present in a node's answer tell the header's form: London adds the base fee, Shanghai the withdrawals root,
Cancun three blob fields, Prague the requests hash (Osaka none), Amsterdam the block access list hash and slot number.

Some chains encode headers in another way or have not been checked: `UNCHECKED_CHAINS` lists them, and there the
node's word for the hash is taken (it still has to be the same word every time).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mayavi.evm.hashing import keccak256
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

# name in JSON-RPC, byte length (None: a number; -1: any length); the order is the order in the hash
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
    """The block a fork stands on. Absent fields (before their hard fork) are None."""

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
    """The hard fork that gave headers the fields this one has; where no schedule is known, the rules it implies."""

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
    """The hash that follows from the header fields of an eth_getBlockBy… answer, by Ethereum's rule."""
    items: list[bytes] = []
    for name, length in _BASE_FIELDS:
        items.append(_field(answer, name, length))
    last = 0
    for index, (name, _) in enumerate(_APPENDED_FIELDS, start=1):
        if answer.get(name) is not None:
            last = index
    for name, length in _APPENDED_FIELDS[:last]:
        if answer.get(name) is None:
            raise BadValue(f"the block has fields after '{name}' but not '{name}' itself")
        items.append(_field(answer, name, length))
    payload = b"".join(items)
    return keccak256(_length_prefix(len(payload), 0xC0) + payload)


def header_fields(answer: Mapping[str, object]) -> dict[str, object]:
    """The header part of an eth_getBlockBy… answer, without transactions, uncles and the node's own additions."""
    return {name: value for name, value in answer.items() if name in HEADER_FIELDS and value is not None}


def _field(answer: Mapping[str, object], name: str, length: int | None) -> bytes:
    value = answer.get(name)
    if value is None:
        raise BadValue(f"the block has no field '{name}'")
    if length is None:
        number = quantity(value)
        return _rlp_bytes(number.to_bytes((number.bit_length() + 7) // 8, "big"))
    return _rlp_bytes(data(value, length if length >= 0 else None))


def _rlp_bytes(raw: bytes) -> bytes:
    if len(raw) == 1 and raw[0] < 0x80:
        return raw
    return _length_prefix(len(raw), 0x80) + raw


def _length_prefix(length: int, offset: int) -> bytes:
    if length < 56:
        return bytes([offset + length])
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([offset + 55 + len(size)]) + size
