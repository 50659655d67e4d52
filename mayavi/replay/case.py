"""A block case on disk: a real block, the state it ran on, and the receipts it left.

`DIR/<number>/block.json.gz` is the answer to `eth_getBlockByNumber` with full transactions, `pre_state.json.gz` maps
address → balance, nonce, code_hash, storage at the parent block, `block_hashes.json` holds what BLOCKHASH needs.
`DIR/bytecodes.json.gz` maps code hash → code; `DIR/receipts/<number>.json.gz`, where there, lists per transaction
hash, status, gasUsed and logs. Everything that can be checked by hash is.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import MayaviError, UsageError
from mayavi.evm.hashing import keccak256
from mayavi.evm.state import Block, Evm, open_evm


class CaseError(MayaviError):
    """A case whose files cannot be read or contradict themselves."""


@dataclass(frozen=True, slots=True)
class ExpectedReceipt:
    """What the chain says of one transaction."""

    hash: bytes
    success: bool | None
    """None before Byzantium, when receipts held a state root instead of a status."""
    gas_used: int
    logs: tuple[tuple[bytes, tuple[bytes, ...], bytes], ...]


def block_numbers(directory: Path) -> list[int]:
    """The numbers of the blocks that have a case in `directory`, in order."""
    if not directory.is_dir():
        raise UsageError(f"'{directory}' is not a folder", "give the folder that holds one sub-folder per block")
    numbers = sorted(int(entry.name) for entry in directory.iterdir() if entry.name.isdecimal() and entry.is_dir())
    if not numbers:
        raise UsageError(f"'{directory}' holds no block case", "a case is a sub-folder named by its block number")
    return numbers


def read_block(directory: Path, number: int) -> Block:
    """The block itself, its signatures recovered."""
    path = directory / str(number) / "block.json.gz"
    try:
        block = Block.from_json(_unzip(path))
    except ValueError as error:
        raise CaseError(f"'{path}': {error}") from error
    if block.number != number:
        raise CaseError(f"'{path}' holds block {block.number}")
    return block


def read_bytecodes(directory: Path) -> dict[str, bytes]:
    """All code by its hash, each checked against it."""
    path = directory / "bytecodes.json.gz"
    codes = {}
    for text, code in _json(path).items():
        raw = _hex(code, path, text)
        if keccak256(raw).hex() != text.removeprefix("0x"):
            raise CaseError(f"'{path}': code {text} hashes to 0x{keccak256(raw).hex()}")
        codes[text] = raw
    return codes


def read_pre_state(directory: Path, number: int, chain_id: int, hardfork: str, codes: dict[str, bytes]) -> Evm:
    """An EVM that knows the state before the block, and only that: what is not in the file is unknown, not zero."""
    path = directory / str(number) / "pre_state.json.gz"
    evm = open_evm(chain_id, hardfork)
    for text, account in _json(path).items():
        try:
            address = _hex(text, path, text)
            code_hash = account.get("code_hash")
            code = codes[code_hash] if code_hash else b""
            evm.learn_account(address, int(account["balance"], 16), int(account["nonce"]), code)
            evm.learn_slots(address, {int(key, 16): int(value, 16) for key, value in account["storage"].items()})
        except KeyError as error:
            raise CaseError(f"'{path}': account {text} lacks {error}") from error
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise CaseError(f"'{path}': account {text}: {error}") from error
    hashes = directory / str(number) / "block_hashes.json"
    if hashes.exists():
        for key, value in _json(hashes).items():
            evm.learn_block_hash(int(key, 0), _hex(value, hashes, key))
    # The file lists every account that existed and was touched; one it does not list did not exist.
    return Evm.from_state(evm.freeze(closed=True))


def read_receipts(directory: Path, number: int) -> list[ExpectedReceipt] | None:
    """The receipts the chain pins, or None where the case has only the block's root of them."""
    path = directory / "receipts" / f"{number}.json.gz"
    if not path.exists():
        return None
    receipts = []
    for entry in _json(path):
        try:
            logs = tuple(
                (
                    _hex(log["address"], path, "log"),
                    tuple(_hex(topic, path, "topic") for topic in log["topics"]),
                    _hex(log["data"], path, "data"),
                )
                for log in entry["logs"]
            )
            status = entry.get("status")
            success = None if status is None else _number(status) == 1
            receipts.append(
                ExpectedReceipt(_hex(entry["hash"], path, "hash"), success, _number(entry["gasUsed"]), logs)
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CaseError(f"'{path}': receipt {len(receipts)}: {error}") from error
    return receipts


def _number(value: int | str) -> int:
    return int(value, 0) if isinstance(value, str) else int(value)


def _hex(text: Any, path: Path, what: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except (ValueError, AttributeError) as error:
        raise CaseError(f"'{path}': {what} is not hex: {text!r:.80}") from error


def _unzip(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read()
    except FileNotFoundError as error:
        raise CaseError(f"'{path}' is missing") from error
    except (OSError, EOFError, zlib.error) as error:
        raise CaseError(f"'{path}' cannot be unpacked: {error}") from error


def _json(path: Path) -> Any:
    content = path.read_bytes() if path.suffix == ".json" else _unzip(path)
    try:
        return json.loads(content)
    except ValueError as error:
        raise CaseError(f"'{path}' is not JSON: {error}") from error
