"""`mayavi validate blocks`: execute real mainnet blocks and compare bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi.errors import MayaviError, UsageError
from mayavi.evm.chains import blob_fee_fraction_at
from mayavi.evm.state import Block
from mayavi.replay.case import (
    CaseError,
    ExpectedReceipt,
    JsonFields,
    block_numbers,
    read_block,
    read_bytecodes,
    read_chain,
    read_json_fields,
    read_pre_state,
    read_receipts,
)

BEFORE_STATUS = ("frontier", "homestead", "tangerine", "spurious_dragon")
"""Hard forks before Byzantium gave receipts a status."""
WITH_REQUESTS = ("prague", "osaka", "amsterdam")
"""Hard forks whose blocks end with system calls that collect requests (EIP-7002, EIP-7251)."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference from the chain. `transaction` is None for a property of the whole block."""

    field: str
    expected: str
    got: str
    transaction: int | None = None
    transaction_hash: str | None = None

    def __str__(self) -> str:
        where = "block" if self.transaction is None else f"transaction {self.transaction} ({self.transaction_hash})"
        return f"{where}: {self.field}: expected {self.expected}, got {self.got}"

    def to_json(self) -> dict[str, Any]:
        """Return the difference as JSON data."""
        return {name: getattr(self, name) for name in ("transaction", "transaction_hash", "field", "expected", "got")}


@dataclass(slots=True)
class BlockReport:
    """Result of one block."""

    number: int
    hardfork: str = "?"
    transactions: int = 0
    exact_transactions: int = 0
    gas_used: int = 0
    first_difference: Difference | None = None
    notes: list[str] = field(default_factory=list)
    partly: bool = False
    """Whether withdrawals or system calls are left out, because the pre-state lacks their accounts."""
    seconds: float = 0.0
    parse_seconds: float = 0.0
    recover_seconds: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether every transaction and the whole block match the chain."""
        return self.first_difference is None

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        difference = self.first_difference.to_json() if self.first_difference else None
        return {
            "block": self.number,
            "hardfork": self.hardfork,
            "exact": self.exact,
            "transactions": self.transactions,
            "exact_transactions": self.exact_transactions,
            "gas_used": self.gas_used,
            "first_difference": difference,
            "notes": self.notes,
        }


@dataclass(slots=True)
class Report:
    """Results of all blocks."""

    blocks: list[BlockReport]

    @property
    def exact(self) -> bool:
        """Whether every block matches."""
        return all(block.exact for block in self.blocks)

    def to_json(self) -> dict[str, Any]:
        """Return totals and blocks as JSON data."""
        return {
            "blocks": len(self.blocks),
            "exact_blocks": sum(block.exact for block in self.blocks),
            "transactions": sum(block.transactions for block in self.blocks),
            "exact_transactions": sum(block.exact_transactions for block in self.blocks),
            "gas_used": sum(block.gas_used for block in self.blocks),
            "differences": [
                {"block": block.number, **block.first_difference.to_json()}
                for block in self.blocks
                if block.first_difference
            ],
            "details": [block.to_json() for block in self.blocks],
        }


Progress = Callable[[BlockReport, int, int], None]
"""Callback after each block: its report, blocks done, blocks in total."""


def validate(directory: str | Path, *, only: list[int] | None = None, progress: Progress | None = None) -> Report:
    """Execute every block case in `directory` and compare the results with the chain's.

    An unreadable case counts as a block that differs; only a folder without cases is an error.
    """
    folder = Path(directory)
    numbers = block_numbers(folder)
    if only:
        absent = [number for number in only if number not in numbers]
        if absent:
            raise UsageError(f"block {absent[0]} has no case in '{folder}'", f"there are {numbers[0]} to {numbers[-1]}")
        numbers = only
    # Read once: damaged code invalidates every block that may use it.
    try:
        codes, damage = read_bytecodes(folder), None
    except MayaviError as error:
        codes, damage = {}, error
    report = Report([])
    for number in numbers:
        block_report = BlockReport(number)
        try:
            if damage is not None:
                raise damage
            _validate_block(folder, block_report, codes)
        except MayaviError as error:
            block_report.exact_transactions = 0
            block_report.first_difference = Difference("case", "readable and consistent", str(error))
        report.blocks.append(block_report)
        if progress:
            progress(block_report, len(report.blocks), len(numbers))
    return report


def _validate_block(folder: Path, report: BlockReport, codes: dict[str, bytes]) -> None:
    block = read_block(folder, report.number)
    report.transactions = len(block)
    report.parse_seconds, report.recover_seconds = block.parse_seconds, block.recover_seconds
    chain_id, report.hardfork = read_chain(folder, report.number, block)
    json_fields = read_json_fields(folder, report.number)
    expected = read_receipts(folder, report.number)
    claims = block.claims()
    evm = read_pre_state(folder, report.number, chain_id, report.hardfork, codes)
    try:
        result = evm.replay(block, blob_fee_fraction_at(chain_id, block.timestamp, report.hardfork))
    except ValueError as error:
        raise CaseError(str(error)) from error
    report.gas_used, report.seconds = result["gas_used"], result["seconds"]
    report.notes = _notes(result, block, json_fields, expected, report.hardfork)
    report.partly = result["withdrawals_applied"] < (json_fields.withdrawals or 0) or not all(
        done for _, done in result["system_calls"]
    )

    wrong = transaction_differences(result, claims, json_fields, expected)
    whole = block_differences(result, claims)
    if report.hardfork in BEFORE_STATUS:
        # Early receipts hold intermediate state roots, which a partial pre-state cannot reproduce.
        whole = [difference for difference in whole if difference.field != "receipts root"]
        report.notes.append("receipts root: not checkable before Byzantium")
    if expected is None:
        # Without receipts, the block's receipts root confirms all transactions or none.
        report.exact_transactions = 0 if whole or wrong else report.transactions
    else:
        report.exact_transactions = report.transactions - len(wrong)
    found = [wrong[index] for index in sorted(wrong)] + whole
    report.first_difference = found[0] if found else None


def transaction_differences(
    result: dict[str, Any], claims: dict[str, Any], json_fields: JsonFields, expected: list[ExpectedReceipt] | None
) -> dict[int, Difference]:
    """Return the first difference of each transaction: sender first, then status, then effects."""
    hashes = ["0x" + each.hex() for each in claims["transaction_hashes"]]
    receipts = result["receipts"]
    differences: dict[int, Difference] = {}

    def differs(index: int, what: str, want: object, got: object) -> None:
        name = hashes[index] if index < len(hashes) else None
        differences.setdefault(index, Difference(what, str(want), str(got), index, name))

    for index, want in enumerate(claims["stated_transaction_hashes"]):
        if "0x" + want.hex() != hashes[index]:
            differs(index, "hash", "0x" + want.hex(), hashes[index])
    for index, signer in claims["forged"]:
        differs(index, "from", json_fields.senders[index], f"0x{signer.hex()} by its signature")
    if result["failure"]:
        index, why = result["failure"]
        differs(index, "execution", "a valid transaction", why)
        for later in range(index + 1, len(hashes)):
            differs(later, "execution", "a valid transaction", f"not reached: transaction {index} failed")
    if expected is not None:
        for index, (receipt, got) in enumerate(zip(expected, receipts, strict=False)):
            if index < len(hashes) and "0x" + receipt.hash.hex() != hashes[index]:
                differs(index, "hash", "0x" + receipt.hash.hex(), hashes[index])
            elif difference := receipt_difference(receipt, got):
                differs(index, *difference)
        for index in range(min(len(expected), len(receipts)), max(len(expected), len(hashes))):
            differs(index, "receipt", "one", "none" if index >= len(receipts) else "one the case does not have")
    return differences


def receipt_difference(want: ExpectedReceipt, got: tuple[bool, int, list[Any]]) -> tuple[str, object, object] | None:
    """Return field, expected and actual value of the first difference between a receipt and the chain's, or None."""
    success, gas_used, logs = got
    if want.success is not None and success != want.success:
        return "status", int(want.success), int(success)
    if gas_used != want.gas_used:
        return "gas used", want.gas_used, gas_used
    if len(logs) != len(want.logs):
        return "number of logs", len(want.logs), len(logs)
    for position, ((address, topics, data), log) in enumerate(zip(logs, want.logs, strict=True)):
        for name, mine, theirs in zip(("address", "topics", "data"), (address, tuple(topics), data), log, strict=True):
            if mine != theirs:
                return f"log {position} {name}", _text(theirs), _text(mine)
    return None


def block_differences(result: dict[str, Any], claims: dict[str, Any]) -> list[Difference]:
    """Return the block's differences from its header, most informative first."""
    pairs = [
        ("gas used", claims["gas_used"], result["gas_used"]),
        ("logs bloom", claims["logs_bloom"], result["logs_bloom"]),
        ("receipts root", claims["receipts_root"], result["receipts_root"]),
        ("transactions root", claims["transactions_root"], claims["computed_transactions_root"]),
        ("withdrawals root", claims["withdrawals_root"], claims["computed_withdrawals_root"]),
        ("block hash", claims["hash"], claims["computed_hash"]),
    ]
    return [Difference(name, _text(want), _text(got)) for name, want, got in pairs if want != got]


def _notes(
    result: dict[str, Any], block: Block, json_fields: JsonFields, expected: list[ExpectedReceipt] | None, hardfork: str
) -> list[str]:
    """Return notes on checks that were skipped or replaced by another check."""
    notes = [
        f"{name}: {'applied' if done else 'contract not in the pre-state'}" for name, done in result["system_calls"]
    ]
    if hardfork in WITH_REQUESTS:
        notes.append("EIP-7002 and EIP-7251 requests at the end of the block: not run")
    if json_fields.withdrawals:
        applied = result["withdrawals_applied"]
        why = "a transaction failed" if result["failure"] else "accounts not in the pre-state"
        left_out = json_fields.withdrawals - applied
        notes.append(f"withdrawals: {applied} applied" + (f", {left_out} not ({why})" if left_out else ""))
    if expected is None and len(block):
        notes.append("no receipts beside the block: its receipts root vouches for them")
    return notes


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, tuple):
        return "[" + ", ".join(_text(each) for each in value) + "]"
    return str(value)
