"""Files of cases: blocks with their receipts and the state they read, in the form of `mayavi.replay.case`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from mayavi.errors import UsageError
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.remote import Facts
from mayavi.evm.snapshot.file import write_atomically
from mayavi.replay.case import ExpectedReceipt, read_block, read_bytecodes
from mayavi.replay.chain_block import ChainBlock

CODES = "bytecodes.json.gz"


class CodeFile:
    """The file of codes that all cases of a folder share."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / CODES
        known = read_bytecodes(folder) if self.path.exists() else {}
        self.codes = {name: code for name, code in known.items() if code}
        self._lock = Lock()

    def add(self, codes: dict[str, bytes]) -> None:
        """Write codes that the file lacks."""
        with self._lock:
            new = {name: code for name, code in codes.items() if name not in self.codes}
            if new or not self.path.exists():
                self.codes.update(new)
                write_json(self.path, {name: "0x" + self.codes[name].hex() for name in sorted(self.codes)})


class CaseFolder:
    """Folder that cases are written into, from several threads too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.codes = CodeFile(path)

    @classmethod
    def open(cls, path: Path, option: str) -> CaseFolder:
        """Make the folder if need be; `UsageError` that names `option` if that fails."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"'{path}' cannot be made: {error.strerror}", f"name another folder with {option}"
            ) from None
        return cls(path)

    def holds(self, number: int, block_hash: bytes) -> bool:
        """Whether there is a complete case of the block `number` with this hash."""
        if not (self.path / str(number) / "block.json.gz").exists():
            return False
        return bool(read_block(self.path, number).claims()["hash"] == block_hash)

    def write(
        self,
        block: ChainBlock,
        facts: Facts,
        receipts: Sequence[ExpectedReceipt],
        witness: dict[str, Any] | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Write a block, the state it reads, its receipts and its witness document; return the accounts as written."""
        accounts, code_of = pre_state(facts)
        place = self.path / str(block.number)
        place.mkdir(exist_ok=True)
        (self.path / "receipts").mkdir(exist_ok=True)
        self.codes.add(code_of)
        write_json(self.path / "receipts" / f"{block.number}.json.gz", _receipts(block, receipts))
        write_json(place / "pre_state.json.gz", accounts)
        write_json(place / "chain.json", {"chain_id": block.chain_id, "hardfork": block.hardfork})
        if facts.block_hashes:
            hashes = {str(number): "0x" + facts.block_hashes[number].hex() for number in sorted(facts.block_hashes)}
            write_json(place / "block_hashes.json", hashes)
        if witness is not None:
            write_json(place / "witness.json", witness)
        write_json(place / "block.json.gz", block.content)  # last: with it the case is complete
        return accounts


def case_files(folder: Path, number: int) -> list[Path]:
    """Return the files of one case, without the codes that all cases share."""
    found = [each for each in (folder / str(number)).iterdir() if each.is_file()]
    receipts = folder / "receipts" / f"{number}.json.gz"
    return sorted([*found, receipts] if receipts.exists() else found)


def pre_state(facts: Facts) -> tuple[dict[str, dict[str, Any]], dict[str, bytes]]:
    """Return accounts in the form of a case, and their codes by hash. Accounts that did not exist are left out."""
    accounts: dict[str, dict[str, Any]] = {}
    codes: dict[str, bytes] = {}
    for address in sorted(facts.accounts):
        balance, nonce, code = facts.accounts[address]
        slots = facts.slots.get(address, {})
        if not (balance or nonce or code or any(slots.values())):
            continue
        entry: dict[str, Any] = {"balance": hex(balance), "nonce": nonce}
        if code:
            entry["code_hash"] = "0x" + keccak256(code).hex()
            codes[entry["code_hash"]] = code
        entry["storage"] = {hex(slot): hex(slots[slot]) for slot in sorted(slots)}
        accounts["0x" + address.hex()] = entry
    return accounts, codes


def write_json(path: Path, content: object) -> None:
    """Write JSON in one step, compressed if the name ends in .gz; equal content gives equal bytes."""
    write_atomically(path, packed_json(content) if path.suffix == ".gz" else _plain_json(content) + b"\n")


def packed_json(content: object) -> bytes:
    """Return compressed JSON; equal content gives equal bytes."""
    return gzip.compress(_plain_json(content), mtime=0)


def _plain_json(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _receipts(block: ChainBlock, receipts: Sequence[ExpectedReceipt]) -> list[dict[str, Any]]:
    return [
        {
            "index": transaction.index,
            "hash": "0x" + receipt.hash.hex(),
            **({} if receipt.success is None else {"status": int(receipt.success)}),
            "gasUsed": receipt.gas_used,
            "logs": [
                {
                    "address": "0x" + address.hex(),
                    "topics": ["0x" + topic.hex() for topic in topics],
                    "data": "0x" + data.hex(),
                }
                for address, topics, data in receipt.logs
            ],
        }
        for transaction, receipt in zip(block.transactions, receipts, strict=True)
    ]
