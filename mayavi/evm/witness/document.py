"""Witness files: recognise the form of a document and take its parts.

Three forms are read, as JSON or gzipped JSON. Names may be in camel or snake case.

| form | block | trie nodes and codes | pre-state root, earlier blocks |
|---|---|---|---|
| flat | `header`, `transactions`, `withdrawals` | `states`, `codes` | `prev_state_root`, `block_hashes` |
| `debug_executionWitness` | `block` | `state`, `codes`, `keys` (also in `witness`) | `headers`, RLP |
| with ancestors | `block` | `witness`: `state`, `codes` | `witness`: `ancestors`, headers |
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi import _kernel
from mayavi.errors import UsageError, WitnessError
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.answers import BadValue
from mayavi.evm.rpc.header import header_hash
from mayavi.evm.witness.spelling import GivenTransaction, header_of, transaction_of, withdrawals_of
from mayavi.evm.witness.values import MAX_BYTES, Fields, as_bytes, as_list, as_number

_WRAPPERS = ("witness", "executionwitness")
_ANCESTORS = ("headers", "ancestors", "ancestorheaders")
_BLOCKS = ("block", "currentblock")


_NAMES = {
    *_WRAPPERS,
    *_ANCESTORS,
    *_BLOCKS,
    *("header", "body", "transactions", "transaction", "withdrawals", "ommers", "uncles"),
    *("states", "state", "nodes", "codes", "bytecodes", "code", "keys", "blockhashes", "parent", "parentheader"),
    *(
        "prevstateroot",
        "prestateroot",
        "parentstateroot",
        "chainid",
        "chainconfig",
        "config",
        "jsonrpc",
        "result",
        "id",
    ),
}


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of a witness document in one spelling, not yet compared with one another."""

    chain_id: int | None
    block: _kernel.Block
    header: dict[str, str]
    """Header in the names of JSON-RPC; `hash` if the document states it."""
    transactions: list[GivenTransaction]
    pre_state_root: bytes | None
    nodes: list[bytes]
    codes: list[bytes]
    block_hashes: dict[int, bytes]
    ancestors: list[dict[str, str]]
    """Headers of earlier blocks, in the order of the document."""
    keys: int
    """Preimages in the document, which are not used."""


def read_document(path: Path) -> Any:
    """JSON document at `path`, unpacked if need be; `WitnessError` if it is unreadable."""
    try:
        raw = path.read_bytes()
        return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except FileNotFoundError:
        raise UsageError(f"there is no witness at '{path}'", "give a JSON file, gzipped or not") from None
    except IsADirectoryError:
        raise UsageError(f"'{path}' is a folder, not a witness", "name a file in it") from None
    except (OSError, EOFError, zlib.error) as error:
        raise WitnessError(f"'{path}' cannot be unpacked: {error}") from error
    except (ValueError, RecursionError) as error:
        raise WitnessError(f"'{path}' is not JSON: {error}") from error


def parts_of(document: object) -> Parts:
    """Take the parts of a document; `BadValue` says which one is missing or malformed."""
    top = Fields(document)
    if top.get("result") is not None and top.get("jsonrpc") is not None:
        top = Fields(top.get("result"))
    top.refuse_misspelt(_NAMES)
    inner = top.get(*_WRAPPERS)
    witness = Fields(inner) if isinstance(inner, dict) else top
    block, header, transactions, nested = _block(top)
    number = int(header["number"], 16)
    nodes = witness.get("states", "state", "nodes")
    if nodes is None:
        raise BadValue("there are no trie nodes ('states', 'state' or 'witness.state')")
    codes = witness.get("codes", "bytecodes", "code") or []
    root = top.get("prevstateroot", "prestateroot", "parentstateroot") or witness.get("prestateroot", "prevstateroot")
    ancestors = witness.get("headers", "ancestors", "ancestorheaders") or top.get(
        "headers", "ancestors", "ancestorheaders"
    )
    parent = top.get("parent", "parentheader") or nested.get("parent", "parentheader")
    hashes = top.get("blockhashes") or witness.get("blockhashes")
    return Parts(
        _chain_id(top, transactions),
        block,
        header,
        transactions,
        None if root is None else as_bytes(root, 32),
        _blobs(nodes, "trie node"),
        _blobs(codes, "code"),
        _block_hashes(hashes, number),
        _ancestors([*as_list(ancestors or []), *([parent] if parent else [])]),
        len(as_list(witness.get("keys") or [])),
    )


def _block(top: Fields) -> tuple[_kernel.Block, dict[str, str], list[GivenTransaction], Fields]:
    """Block of a document: encoded, as in JSON-RPC, or in parts."""
    member = top.get(*_BLOCKS)
    if isinstance(member, str):
        try:
            block = _kernel.Block.from_rlp(as_bytes(member))
        except ValueError as error:
            raise BadValue(f"block: {error}") from None
        return block, header_of(json.loads(block.header)), [], Fields({})
    source = top if member is None else Fields(member)
    given = source.get("header")
    if given is None and source.get("stateroot") is None:
        raise BadValue("there is no block ('block', or 'header' and 'transactions')")
    header = header_of(member if given is None else given)
    body = source.get("body")
    content = source if body is None else Fields(body)
    listed = content.get("transactions", "transaction")
    if listed is None:
        raise BadValue("the block has no 'transactions'")
    if content.get("ommers", "uncles"):
        raise BadValue("the block has ommers, which end with the merge")
    transactions = []
    for index, each in enumerate(as_list(listed)):
        try:
            transactions.append(transaction_of(each))
        except BadValue as error:
            raise BadValue(f"transaction {index}: {error}") from None
    withdrawals = content.get("withdrawals")
    try:
        block = _kernel.Block.from_parts(
            json.dumps({name: value for name, value in header.items() if name != "hash"}).encode(),
            [each.encoded for each in transactions],
            None if withdrawals is None else withdrawals_of(withdrawals),
        )
    except ValueError as error:
        raise BadValue(str(error)) from None
    return block, header, transactions, source


def _chain_id(top: Fields, transactions: list[GivenTransaction]) -> int | None:
    stated = top.get("chainid")
    config = top.get("chainconfig", "config")
    if stated is None and isinstance(config, dict):
        stated = Fields(config).get("chainid")
    if stated is not None:
        return as_number(stated, 63)
    for each in transactions:
        if each.encoded[:1] == b"{" and (chain_id := json.loads(each.encoded).get("chainId")) is not None:
            return int(chain_id, 16)
    return None


def _blobs(value: object, what: str) -> list[bytes]:
    """Byte strings in a list, or in an object under their hashes."""
    if isinstance(value, dict):
        for key, content in value.items():
            if keccak256(as_bytes(content)) != as_bytes(key, 32):
                raise BadValue(f"{what} {key:.80} has another hash")
        value = list(value.values())
    contents = as_list(value)
    try:  # thousands of texts, nearly always well-formed
        blobs = [bytes.fromhex(content.removeprefix("0x")) for content in contents]
        if all(len(each) <= MAX_BYTES for each in blobs):
            return blobs
    except (AttributeError, ValueError):
        pass
    blobs = []
    for position, content in enumerate(contents):
        try:
            blobs.append(as_bytes(content))
        except BadValue as error:
            raise BadValue(f"{what} {position}: {error}") from None
    return blobs


def _block_hashes(value: object, number: int) -> dict[int, bytes]:
    """Hashes of earlier blocks: a list from the parent backwards, or an object by number."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return {as_number(key, 63): as_bytes(each, 32) for key, each in value.items()}
    hashes = {}
    for position, each in enumerate(as_list(value)):
        if position >= number:
            raise BadValue(f"there are {position + 1} block hashes before block {number}")
        hashes[number - 1 - position] = as_bytes(each, 32)
    return hashes


def _ancestors(values: list[object]) -> list[dict[str, str]]:
    """Headers of earlier blocks, each once."""
    headers: list[dict[str, str]] = []
    for position, value in enumerate(values):
        header = _ancestor(value, position)
        if header not in headers:
            headers.append(header)
    return headers


def _ancestor(value: object, position: int) -> dict[str, str]:
    try:
        if isinstance(value, str):
            return header_of(json.loads(_kernel.decode_header(as_bytes(value))))
        given = Fields(value).get("header")
        header = header_of(value if given is None else given)
        header_hash(header)  # a header without a hash is malformed
        return header
    except ValueError as error:
        raise BadValue(f"ancestor {position}: {error}") from None
