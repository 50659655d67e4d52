"""Contracts of recorded mainnet blocks: code and storage by block and address."""

from __future__ import annotations

import gzip
import json
import zlib
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from mayavi.evm.address import checksum
from mayavi.evm.fork import Fork
from mayavi.replay.case import CaseError, block_numbers, read_bytecodes
from mayavi.validation.gate import GateSkipped


class RecordedContract(NamedTuple):
    """Code and known storage of one contract before a block."""

    code: bytes
    storage: dict[int, int]


class RecordedContracts:
    """Contracts in a folder of block cases; see docs/concepts/validation.md for its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def codes(self) -> dict[str, bytes]:
        """Code by its hash."""
        return read_bytecodes(self.folder)

    @cached_property
    def blocks(self) -> list[int]:
        """Numbers of the recorded blocks."""
        return block_numbers(self.folder)

    def get(self, block: int, address: bytes) -> RecordedContract:
        """Return a contract as it was before `block`; raise `GateSkipped` if it is not recorded."""
        found = self.find(block, address)
        if found is None:
            raise GateSkipped(f"'{self.folder}' has no contract {checksum(address)} before block {block}")
        return found

    def find(self, block: int, address: bytes) -> RecordedContract | None:
        """Return a contract as it was before `block`, or None."""
        if block not in self.blocks:
            return None
        account = _pre_state(self.folder, block).get(f"0x{address.hex()}")
        if account is None or not account.get("code_hash"):
            return None
        code = self.codes.get(account["code_hash"].lower())
        if code is None:
            raise CaseError(f"'{self.folder}': bytecodes.json.gz lacks code {account['code_hash']}")
        return RecordedContract(code, {int(slot, 16): int(value, 16) for slot, value in account["storage"].items()})

    def install(self, fork: Fork, block: int, *addresses: bytes) -> None:
        """Copy contracts with their recorded storage to `fork`; slots that were not recorded are zero."""
        for address in addresses:
            contract = self.get(block, address)
            fork.set_code(address, contract.code)
            for slot, value in contract.storage.items():
                fork.set_storage(address, slot, value)


@lru_cache(maxsize=2)
def _pre_state(folder: Path, block: int) -> dict[str, Any]:
    path = folder / str(block) / "pre_state.json.gz"
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
        return {address.lower(): account for address, account in content.items()}
    except (OSError, EOFError, ValueError, AttributeError, zlib.error) as error:
        raise CaseError(f"'{path}' cannot be read: {error}") from error
