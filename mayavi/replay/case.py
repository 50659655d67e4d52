"""Block case on disk: a real block, its pre-state and its receipts.

`DIR/<number>/block.json.gz` is the answer to `eth_getBlockByNumber` with full transactions, `pre_state.json.gz` maps
address → balance, nonce, code_hash, storage at the parent block, `block_hashes.json` holds what BLOCKHASH needs.
`DIR/bytecodes.json.gz` maps code hash → code; the optional `DIR/receipts/<number>.json.gz` lists per transaction hash,
status, gasUsed and logs. `DIR/<number>/chain.json` names the chain and hard fork of a case that is not from Ethereum's
mainnet: {"chain_id": 31337, "hardfork": "shanghai"}. Everything with a hash is checked against it.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mayavi.errors import MayaviError, UsageError
from mayavi.evm.chains import hardfork_at
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.answers import BadValue, data, fields, hash32, quantity
from mayavi.evm.rpc.remote import Facts
from mayavi.evm.state import Block, Evm, open_evm
from mayavi.evm.witness.values import as_list

MAINNET = 1
_LOG_BYTES = 1 << 26  # more than fits into the gas of a block


class CaseError(MayaviError):
    """Case with unreadable or contradictory files."""


@dataclass(frozen=True, slots=True)
class ExpectedReceipt:
    """Receipt of one transaction on the real chain."""

    hash: bytes
    success: bool | None
    """None before Byzantium, when receipts held a state root instead of a status."""
    gas_used: int
    logs: tuple[tuple[bytes, tuple[bytes, ...], bytes], ...]


def block_numbers(directory: Path) -> list[int]:
    """Return the numbers of the block cases in `directory`, sorted."""
    if not directory.is_dir():
        raise UsageError(f"'{directory}' is not a folder", "give the folder that holds one sub-folder per block")
    numbers = sorted(int(entry.name) for entry in directory.iterdir() if entry.name.isdecimal() and entry.is_dir())
    if not numbers:
        near = next(
            (folder for folder in (directory / "blocks", directory / "mainnet" / "blocks") if folder.is_dir()), None
        )
        if directory.name.isdecimal() and (directory / "block.json.gz").exists():
            hint = f"it is a case itself: give '{directory.parent}' and --block {directory.name}"
        else:
            hint = f"did you mean '{near}'?" if near else "a case is a sub-folder named by its block number"
        raise UsageError(f"'{directory}' holds no block case", hint)
    return numbers


def read_block(directory: Path, number: int) -> Block:
    """Read the block and recover its signatures."""
    path = directory / str(number) / "block.json.gz"
    try:
        block = Block.from_json(_content(path))
    except ValueError as error:
        raise CaseError(f"'{path}': {error}") from error
    if block.number != number:
        raise CaseError(f"'{path}' holds block {block.number}")
    return block


def read_block_json(directory: Path, number: int) -> dict[str, Any]:
    """Read the block as JSON data."""
    path = directory / str(number) / "block.json.gz"
    return _object(_json(path), path)


def mentions(directory: Path, number: int, text: str) -> bool:
    """Whether the file of the block holds `text`, in lower case: much faster than parsing it."""
    return text.encode() in _content(directory / str(number) / "block.json.gz").lower()


@dataclass(frozen=True, slots=True)
class JsonFields:
    """Claims of the block's JSON beyond what the kernel reads from it."""

    withdrawals: int
    senders: tuple[str, ...]


def read_json_fields(directory: Path, number: int) -> JsonFields:
    """Read the number of withdrawals and each transaction's `from`."""
    path = directory / str(number) / "block.json.gz"
    block = read_block_json(directory, number)
    try:
        senders = tuple(str(transaction["from"]) for transaction in block["transactions"])
        return JsonFields(len(block.get("withdrawals") or ()), senders)
    except (KeyError, TypeError, ValueError) as error:
        raise CaseError(f"'{path}': {error}") from error


def read_bytecodes(directory: Path) -> dict[str, bytes]:
    """Read all code by its hash, and check each hash. What was read last is kept until its file changes."""
    path = directory / "bytecodes.json.gz"
    return dict(_bytecodes(path, _state_of(path)))


@lru_cache(maxsize=1)
def _bytecodes(path: Path, _: tuple[int, ...]) -> dict[str, bytes]:
    codes = {"0x" + keccak256(b"").hex(): b""}
    for text, code in _object(_json(path), path).items():
        try:
            raw = data(code)
        except BadValue as error:
            raise CaseError(f"'{path}': code {text!r:.80}: {error}") from error
        code_hash = "0x" + keccak256(raw).hex()
        if code_hash != text:
            raise CaseError(f"'{path}': code {text!r:.80} hashes to {code_hash}")
        codes[code_hash] = raw
    return codes


def _state_of(path: Path) -> tuple[int, ...]:
    """Return a file's identity, size and times; nothing if it cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def read_chain(directory: Path, number: int, block: Block) -> tuple[int, str]:
    """Return chain id and hard fork of a case; without `chain.json` it is from Ethereum's mainnet."""
    path = directory / str(number) / "chain.json"
    if not path.exists():
        return MAINNET, hardfork_at(MAINNET, block.number, block.timestamp)
    content = _object(_json(path), path)
    try:
        chain_id = _number(content["chain_id"], 63)
    except KeyError as error:
        raise CaseError(f"'{path}' lacks {error}") from error
    except ValueError as error:
        raise CaseError(f"'{path}': {error}") from error
    hardfork = content.get("hardfork")
    if hardfork is None:
        return chain_id, hardfork_at(chain_id, block.number, block.timestamp)
    if not isinstance(hardfork, str):
        raise CaseError(f"'{path}': hardfork {hardfork!r:.80} is not a valid name")
    return chain_id, hardfork


def read_facts(directory: Path, number: int, codes: dict[str, bytes]) -> Facts:
    """Read the accounts, slots and block hashes of a case."""
    path = directory / str(number) / "pre_state.json.gz"
    facts = Facts()
    for text, content in _object(_json(path), path).items():
        where = f"'{path}': account {text!r:.80}"
        try:
            address, account = data(text, 20), fields(content)
            code_hash = account.get("code_hash")
            code = b"" if code_hash is None else codes.get("0x" + hash32(code_hash).hex())
            if code is None:
                raise CaseError(f"{where}: bytecodes.json.gz lacks its code {code_hash}")
            facts.accounts[address] = (quantity(account["balance"]), _number(account["nonce"], 64), code)
            slots = fields(account["storage"])
            facts.slots[address] = {quantity(slot): quantity(value) for slot, value in slots.items()}
        except KeyError as error:
            raise CaseError(f"{where} lacks {error}") from error
        except ValueError as error:
            raise CaseError(f"{where}: {error}") from error
    hashes = directory / str(number) / "block_hashes.json"
    if hashes.exists():
        for key, value in _object(_json(hashes), hashes).items():
            try:
                facts.block_hashes[_number(int(key, 0), 64)] = hash32(value)
            except ValueError as error:
                raise CaseError(f"'{hashes}': block {key!r:.80}: {error}") from error
    return facts


def read_pre_state(directory: Path, number: int, chain_id: int, hardfork: str, codes: dict[str, bytes]) -> Evm:
    """Return an EVM with exactly the state before the block.

    An unlisted account did not exist; an unlisted slot of a listed account is unknown, and reading it is an error.
    """
    facts = read_facts(directory, number, codes)
    try:
        evm = open_evm(chain_id, hardfork)
        load_facts(evm, facts)
    except ValueError as error:  # an unknown hard fork, or code that no contract can have
        raise CaseError(f"'{directory / str(number)}': {error}") from error
    return Evm.from_state(evm.freeze(closed=True))


def load_facts(evm: Evm, facts: Facts) -> None:
    """Load accounts, slots and block hashes of the parent block into an EVM."""
    for address, (balance, nonce, code) in facts.accounts.items():
        evm.learn_account(address, balance, nonce, code)
    for address, values in facts.slots.items():
        evm.learn_slots(address, values)
    for number, block_hash in facts.block_hashes.items():
        evm.learn_block_hash(number, block_hash)


def read_receipts(directory: Path, number: int) -> list[ExpectedReceipt] | None:
    """Read the chain's receipts, or None if the case has only the block's receipts root."""
    path = directory / "receipts" / f"{number}.json.gz"
    if not path.exists():
        return None
    try:
        entries = as_list(_json(path))
    except BadValue as error:
        raise CaseError(f"'{path}': {error}") from error
    receipts = []
    for entry in entries:
        try:
            receipts.append(_receipt(fields(entry)))
        except KeyError as error:
            raise CaseError(f"'{path}': receipt {len(receipts)} lacks {error}") from error
        except ValueError as error:
            raise CaseError(f"'{path}': receipt {len(receipts)}: {error}") from error
    return receipts


def _receipt(entry: dict[str, Any]) -> ExpectedReceipt:
    logs = tuple(
        (data(log["address"], 20), tuple(map(hash32, as_list(log["topics"]))), data(log["data"], None, _LOG_BYTES))
        for log in map(fields, as_list(entry["logs"]))
    )
    status = entry.get("status")
    success = None if status is None else bool(_number(status, 1))
    return ExpectedReceipt(hash32(entry["hash"]), success, _number(entry["gasUsed"], 64), logs)


def _number(value: object, bits: int) -> int:
    """Parse a JSON number or hex text."""
    if type(value) is not int:
        return quantity(value, bits)
    if value < 0 or value >> bits:
        raise BadValue(f"{value} is not a number of at most {bits} bits")
    return value


def _object(value: object, path: Path) -> dict[str, Any]:
    try:
        return fields(value)
    except BadValue as error:
        raise CaseError(f"'{path}': {error}") from error


def _content(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except FileNotFoundError as error:
        raise CaseError(f"'{path}' is missing") from error
    except (OSError, EOFError, zlib.error) as error:
        raise CaseError(f"'{path}' cannot be unpacked: {error}") from error


def _json(path: Path) -> Any:
    try:
        return json.loads(_content(path))
    except (ValueError, RecursionError) as error:
        raise CaseError(f"'{path}' is not JSON: {error}") from error
