"""Headers, transactions and withdrawals of witness files, rewritten in the names of JSON-RPC.

Producers disagree on names (`miner`, `beneficiary`), case (`stateRoot`, `state_root`), numbers (hex, decimal) and
nesting. Redundant members must agree with one another.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mayavi.evm.rpc.answers import BadValue
from mayavi.evm.witness.values import Fields, as_bytes, as_list, as_number, as_object, plain

# Name in JSON-RPC, byte length (None: a number, -1: any length), other names.
_HEADER: tuple[tuple[str, int | None, tuple[str, ...]], ...] = (
    ("parentHash", 32, ()),
    ("sha3Uncles", 32, ("ommershash", "uncleshash", "unclehash")),
    ("miner", 20, ("beneficiary", "coinbase", "feerecipient")),
    ("stateRoot", 32, ()),
    ("transactionsRoot", 32, ("transactionroot", "txroot")),
    ("receiptsRoot", 32, ("receiptroot",)),
    ("logsBloom", 256, ("bloom",)),
    ("difficulty", None, ()),
    ("number", None, ("blocknumber",)),
    ("gasLimit", None, ()),
    ("gasUsed", None, ()),
    ("timestamp", None, ()),
    ("extraData", -1, ("extra",)),
    ("mixHash", 32, ("prevrandao", "mixdigest")),
    ("nonce", 8, ()),
    ("baseFeePerGas", None, ("basefee",)),
    ("withdrawalsRoot", 32, ()),
    ("blobGasUsed", None, ()),
    ("excessBlobGas", None, ()),
    ("parentBeaconBlockRoot", 32, ("parentbeaconroot",)),
    ("requestsHash", 32, ("requestsroot",)),
    ("blockAccessListHash", 32, ()),
    ("slotNumber", None, ()),
)
_REQUIRED = 15  # those before London
_VARIANTS = {"legacy": 0, "eip2930": 1, "eip1559": 2, "eip4844": 3, "eip7702": 4}
_NESTED = ("transaction", "tx", "inner", "signature")
HEADER_NAMES = {"hash", "blockhash"} | {each for name, _, others in _HEADER for each in (plain(name), *others)}
"""Names of header members; a name that differs from one of them by a character is refused."""
_TRANSACTION_NAMES = {
    *("type", "transactiontype", "txtype", "chainid", "nonce", "gas", "gaslimit", "gasprice", "maxfeepergas"),
    *("maxpriorityfeepergas", "to", "value", "input", "data", "accesslist", "blobversionedhashes", "blobhashes"),
    *(
        "maxfeeperblobgas",
        "authorizationlist",
        "r",
        "s",
        "v",
        "yparity",
        "oddyparity",
        "hash",
        "from",
        "sender",
        "signer",
    ),
    *("blocknumber", "blockhash", "transactionindex"),
}


def header_of(value: object) -> dict[str, str]:
    """Header in the names of JSON-RPC; `hash` too if the source states it."""
    given = Fields(value)
    header: dict[str, str] = {}
    for position, (name, length, others) in enumerate(_HEADER):
        member = given.get(plain(name), *others)
        if member is None:
            if position < _REQUIRED:
                raise BadValue(f"the header has no '{name}'")
            continue
        header[name] = _header_value(name, length, member)
    given.refuse_misspelt(HEADER_NAMES)
    stated = given.get("hash", "blockhash")
    if stated is not None:
        header["hash"] = "0x" + as_bytes(stated, 32).hex()
    return header


def _header_value(name: str, length: int | None, member: object) -> str:
    try:
        if length is None:
            return hex(as_number(member))
        if name == "nonce" and (isinstance(member, int) or (isinstance(member, str) and len(member) < 18)):
            return f"0x{as_number(member, 64):016x}"
        return "0x" + as_bytes(member, None if length < 0 else length).hex()
    except BadValue as error:
        raise BadValue(f"header, '{name}': {error}") from None


@dataclass(frozen=True, slots=True)
class GivenTransaction:
    """Transaction for the kernel, and the redundant members that its source states."""

    encoded: bytes
    """JSON object with signature and without hash, or the bytes that a block holds."""
    hash: bytes | None = None
    sender: bytes | None = None
    effective_price: int | None = None
    """Price that a typed transaction is said to pay."""
    max_price: int | None = None
    place: tuple[int | None, int | None, bytes | None] = (None, None, None)
    """Block number, index and block hash that the source states."""


def transaction_of(value: object) -> GivenTransaction:
    """Transaction in any spelling: encoded bytes, flat as in JSON-RPC, or nested by type and signature."""
    if isinstance(value, str):
        return GivenTransaction(as_bytes(value))
    given, kind = _flat(as_object(value))
    given.refuse_misspelt(_TRANSACTION_NAMES)
    stated = given.get("type", "transactiontype", "txtype")
    if stated is not None:
        number = _VARIANTS.get(plain(stated)) if isinstance(stated, str) else None
        number = as_number(stated, 8) if number is None else number
        if kind not in (None, number):
            raise BadValue(f"type {number} contradicts the variant")
        kind = number
    if kind is None:
        kind = _kind_by_members(given)
    return _rewritten(given, kind)


def _flat(value: dict[str, Any]) -> tuple[Fields, int | None]:
    """Members of a transaction and of what is nested in it, and the type that the nesting names."""
    members, kind = Fields({}), None
    for name, member in value.items():
        variant = _VARIANTS.get(plain(name).removeprefix("tx")) if isinstance(member, dict) else None
        if isinstance(member, dict) and (variant is not None or plain(name) in _NESTED):
            inner, inner_kind = _flat(member)
            members.merge(inner)
            kind = variant if variant is not None else (inner_kind if inner_kind is not None else kind)
        else:
            members.add(plain(name), member)
    return members, kind


def _kind_by_members(given: Fields) -> int:
    if given.get("authorizationlist") is not None:
        return 4
    if given.get("blobversionedhashes", "blobhashes") is not None:
        return 3
    if given.get("maxpriorityfeepergas") is not None:
        return 2
    return 1 if given.get("accesslist") is not None else 0


def _rewritten(given: Fields, kind: int) -> GivenTransaction:
    chain_id, parity = _signature(given, kind)
    price, fee, tip = (
        None if member is None else as_number(member, 128)
        for member in (given.get("gasprice"), given.get("maxfeepergas"), given.get("maxpriorityfeepergas"))
    )
    target = given.get("to")
    fields: dict[str, Any] = {
        "type": hex(kind),
        "nonce": hex(as_number(given.need("nonce"), 64)),
        "gas": hex(as_number(given.need("gas", "gaslimit"), 64)),
        "to": None if target in (None, "", "0x") else "0x" + as_bytes(_call_target(target), 20).hex(),
        "value": hex(as_number(given.need("value"))),
        "input": "0x" + as_bytes(given.need("input", "data")).hex(),
        "r": hex(as_number(given.need("r"))),
        "s": hex(as_number(given.need("s"))),
        "yParity": hex(parity),
    }
    if chain_id is not None:
        fields["chainId"] = hex(chain_id)
    elif kind:
        raise BadValue("there is no 'chainId'")
    if kind < 2:
        if price is None or fee not in (None, price) or tip not in (None, price):
            raise BadValue(f"the gas price is {price}, the fees {fee} and {tip}: they must be equal")
        fields["gasPrice"] = hex(price)
    else:
        fields["maxFeePerGas"] = hex(as_number(given.need("maxfeepergas"), 128))
        fields["maxPriorityFeePerGas"] = hex(as_number(given.need("maxpriorityfeepergas"), 128))
    if kind:
        fields["accessList"] = [_access(entry) for entry in as_list(given.get("accesslist") or [])]
    elif given.get("accesslist"):
        raise BadValue("a legacy transaction has an access list")
    if kind == 3:
        fields["maxFeePerBlobGas"] = hex(as_number(given.need("maxfeeperblobgas"), 128))
        hashes = as_list(given.need("blobversionedhashes", "blobhashes"))
        fields["blobVersionedHashes"] = ["0x" + as_bytes(each, 32).hex() for each in hashes]
    if kind == 4:
        fields["authorizationList"] = [_authorization(each) for each in as_list(given.need("authorizationlist"))]
    stated, sender = given.get("hash"), given.get("from", "sender", "signer")
    return GivenTransaction(
        json.dumps(fields).encode(),
        None if stated is None else as_bytes(stated, 32),
        None if sender is None else as_bytes(sender, 20),
        price if kind >= 2 else None,
        fee if kind >= 2 else None,
        _place(given),
    )


def _place(given: Fields) -> tuple[int | None, int | None, bytes | None]:
    number, index, block = (given.get(name) for name in ("blocknumber", "transactionindex", "blockhash"))
    return (
        None if number is None else as_number(number, 64),
        None if index is None else as_number(index, 64),
        None if block is None else as_bytes(block, 32),
    )


def _call_target(target: object) -> object:
    """Address of a call; Rust programs may write it as `{"Call": address}`."""
    return Fields(target).need("call") if isinstance(target, dict) else target


def _signature(given: Fields, kind: int) -> tuple[int | None, int]:
    """Chain id and parity, from `chainId`, `yParity` and `v`, which must agree."""
    member = given.get("chainid")
    chain_id = None if member is None else as_number(member, 64)
    parity, v = given.get("yparity", "oddyparity"), given.get("v")
    found = None if parity is None else as_number(parity, 1)
    if v is not None:
        number = as_number(v, 64)
        by_v = number if number < 2 else (number - 27 if number in (27, 28) else (number - 35) % 2)
        if number >= 35 and kind == 0:
            if chain_id not in (None, (number - 35) // 2):
                raise BadValue(f"v {number} is not of chain {chain_id}")
            chain_id = (number - 35) // 2
        elif number not in (0, 1, 27, 28):
            raise BadValue(f"v {number} is not a valid value of a signature of type {kind}")
        if found not in (None, by_v):
            raise BadValue(f"v {number} contradicts yParity {found}")
        found = by_v
    if found is None:
        raise BadValue("there is neither 'yParity' nor 'v'")
    return chain_id, found


def _access(entry: object) -> dict[str, Any]:
    given = Fields(entry)
    keys = as_list(given.get("storagekeys") or [])
    return {
        "address": "0x" + as_bytes(given.need("address"), 20).hex(),
        "storageKeys": ["0x" + as_bytes(key, 32).hex() for key in keys],
    }


def _authorization(entry: object) -> dict[str, Any]:
    given, _ = _flat(as_object(entry))
    parity = given.get("yparity", "oddyparity")
    return {
        "chainId": hex(as_number(given.need("chainid"))),
        "address": "0x" + as_bytes(given.need("address"), 20).hex(),
        "nonce": hex(as_number(given.need("nonce"), 64)),
        "yParity": hex(as_number(given.need("v") if parity is None else parity, 8)),
        "r": hex(as_number(given.need("r"))),
        "s": hex(as_number(given.need("s"))),
    }


def withdrawals_of(value: object) -> bytes:
    """Withdrawals as JSON for the kernel; amounts are in Gwei."""
    rewritten = []
    for position, entry in enumerate(as_list(value)):
        given = Fields(entry)
        try:
            rewritten.append(
                {
                    "index": hex(as_number(given.need("index"), 64)),
                    "validatorIndex": hex(as_number(given.need("validatorindex"), 64)),
                    "address": "0x" + as_bytes(given.need("address"), 20).hex(),
                    "amount": hex(as_number(given.need("amount"), 64)),
                }
            )
        except BadValue as error:
            raise BadValue(f"withdrawal {position}: {error}") from None
    return json.dumps(rewritten).encode()
