"""`mayavi validate witness`: execute blocks on proven pre-states and compare up to the state root."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi.errors import MayaviError, UsageError
from mayavi.evm.state import known_hardfork
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.replay.blocks import Difference

SUFFIXES = (".json", ".json.gz")
CAPTURED = "witness.json"
"""Name of the witness of a case that `mayavi replay capture` wrote."""


@dataclass(slots=True)
class WitnessReport:
    """Result of one witness."""

    path: str
    chain_id: int | None = None
    number: int | None = None
    block_hash: bytes | None = None
    parent_hash: bytes | None = None
    hardfork: str = "?"
    transactions: int = 0
    gas_used: int = 0
    nodes: int = 0
    codes: int = 0
    pre_state_root: bytes | None = None
    state_root: bytes | None = None
    """State root after the block, computed."""
    block_hashes: dict[int, bytes] = field(default_factory=dict)
    unproven_hashes: list[int] = field(default_factory=list)
    """Earlier blocks whose hash is read and that no header and no state proves."""
    unread_hashes: int = 0
    """Earlier block hashes that are neither read nor proven. They prove nothing, whatever they are."""
    readable: bool = True
    executed: bool = False
    """Whether the block was executed: a contradiction found before it stops the comparison."""
    first_difference: Difference | None = None
    notes: list[str] = field(default_factory=list)
    read_seconds: float = 0.0
    seconds: float = 0.0
    """Execution of the transactions."""
    root_seconds: float = 0.0
    """Computation of the state root."""

    @property
    def exact(self) -> bool:
        """Whether the pre-state is proven and everything equals the header."""
        return self.first_difference is None

    @property
    def result(self) -> str:
        """One word: exact, differs or unreadable."""
        if not self.readable:
            return "unreadable"
        return "exact" if self.exact else "differs"

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "file": self.path,
            "chain_id": self.chain_id,
            "block": self.number,
            "block_hash": _hex(self.block_hash),
            "hardfork": self.hardfork,
            "exact": self.exact,
            "readable": self.readable,
            "executed": self.executed,
            "transactions": self.transactions,
            "gas_used": self.gas_used,
            "trie_nodes": self.nodes,
            "codes": self.codes,
            "pre_state_root": _hex(self.pre_state_root),
            "state_root": _hex(self.state_root),
            "unproven_block_hashes": self.unproven_hashes,
            "unread_block_hashes": self.unread_hashes,
            "first_difference": self.first_difference.to_json() if self.first_difference else None,
            "notes": self.notes,
            "execution_seconds": self.seconds,
            "state_root_seconds": self.root_seconds,
        }


@dataclass(slots=True)
class WitnessReports:
    """Results of all witnesses."""

    witnesses: list[WitnessReport]

    @property
    def exact(self) -> bool:
        """Whether every witness is exact."""
        return all(each.exact for each in self.witnesses)

    def to_json(self) -> dict[str, Any]:
        """Return totals and witnesses as JSON data."""
        return {
            "witnesses": len(self.witnesses),
            "exact_witnesses": sum(each.exact for each in self.witnesses),
            "transactions": sum(each.transactions for each in self.witnesses),
            "gas_used": sum(each.gas_used for each in self.witnesses),
            "differences": [
                {"file": each.path, **each.first_difference.to_json()}
                for each in self.witnesses
                if each.first_difference
            ],
            "details": [each.to_json() for each in self.witnesses],
        }


Progress = Callable[[int, int], None]
"""Callback after each witness: witnesses done, witnesses in total."""


def witness_files(paths: Iterable[str | Path]) -> list[Path]:
    """Files named by `paths`: files themselves, and those of folders, sorted.

    In a folder of captured cases these are the files `witness.json`, elsewhere all JSON files.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = _captured(path) or sorted(
                each for each in path.iterdir() if each.is_file() and each.name.endswith(SUFFIXES)
            )
            if not inside:
                raise UsageError(f"'{path}' holds no witness", f"witnesses end with {' or '.join(SUFFIXES)}")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"there is no witness at '{path}'", "give JSON files, gzipped or not, or their folder")
    return list(dict.fromkeys(found))


def _captured(folder: Path) -> list[Path]:
    """Return the witnesses of a captured case, or of a folder of them, by block number."""
    own = folder / CAPTURED
    if own.is_file():
        return [own]
    inside = [each / CAPTURED for each in folder.iterdir() if each.name.isdecimal()]
    return sorted((each for each in inside if each.is_file()), key=lambda each: int(each.parent.name))


def validate_witnesses(
    paths: Sequence[str | Path],
    *,
    block_hash: bytes | None = None,
    hardfork: str | None = None,
    progress: Progress | None = None,
) -> WitnessReports:
    """Validate every witness, and that consecutive blocks among them follow from one another.

    `block_hash` is the hash of the block from a trusted source, for a single witness. `hardfork` overrides the rules of
    chain and block. An unreadable witness is reported as such, and the others are still validated.
    """
    files = witness_files(paths)
    if block_hash is not None and len(files) != 1:
        raise UsageError(f"one block hash cannot be that of {len(files)} witnesses", "give one file with --hash")
    if hardfork is not None:
        known_hardfork(hardfork)
    reports = WitnessReports([])
    for path in files:
        started = time.perf_counter()
        report = WitnessReport(str(path))
        try:
            report.readable = False
            witness = BlockWitness.read(path, hardfork=hardfork)
            report.readable = True
            report.read_seconds = time.perf_counter() - started
            validate_witness(witness, report, block_hash=block_hash)
        except MayaviError as error:
            report.first_difference = Difference("witness", "readable and complete", str(error))
        reports.witnesses.append(report)
        if progress:
            progress(len(reports.witnesses), len(files))
    _compare_neighbours(reports.witnesses)
    return reports


def validate_witness(
    witness: BlockWitness,
    report: WitnessReport | None = None,
    *,
    block_hash: bytes | None = None,
) -> WitnessReport:
    """Prove the pre-state of one witness, execute its block and compare the results with the header."""
    report = report or WitnessReport(witness.name)
    report.chain_id, report.number, report.block_hash = witness.chain_id, witness.number, witness.hash
    report.parent_hash, report.pre_state_root = witness.header.parent_hash, witness.pre_state_root
    report.nodes, report.codes = len(witness.witness), len(witness.parts.codes)
    report.transactions = len(witness.parts.block)
    report.hardfork = witness.hardfork
    found = _static_differences(witness, block_hash)
    report.block_hashes = witness.block_hashes()
    report.unread_hashes = len(report.block_hashes.keys() - witness.proven_hashes)
    if found is None:
        found = next(_executed_differences(witness, report), None)
    report.first_difference = found
    report.notes += _notes(witness, report, block_hash)
    return report


def _static_differences(witness: BlockWitness, block_hash: bytes | None) -> Difference | None:
    """Return the first contradiction that needs no execution."""
    for what, expected, found in witness.mismatches():
        return Difference(what, expected, found)
    if block_hash not in (None, witness.hash):
        return Difference("block hash", str(_hex(block_hash)), str(_hex(witness.hash)))
    return None


def _executed_differences(witness: BlockWitness, report: WitnessReport) -> Iterator[Difference]:
    """Execute the block and yield what differs from the header, most informative first."""
    claims = witness.parts.block.claims()
    evm, result = witness.execute()
    report.executed = True
    report.gas_used, report.seconds = result["gas_used"], result["seconds"]
    report.unproven_hashes = sorted(set(result["block_hashes_read"]) - witness.proven_hashes)
    report.unread_hashes -= len(report.unproven_hashes)
    if result["failure"]:
        index, why = result["failure"]
        name = None if index is None else _hex(claims["transaction_hashes"][index])
        yield Difference("execution", "a valid block", why, index, name)
        return
    for what in ("gas used", "blob gas used", "logs bloom", "receipts root", "requests hash"):
        key = what.replace(" ", "_")
        if claims[key] is None and what in ("blob gas used", "requests hash"):
            # The header has the field from Cancun or Prague on.
            if result[key]:
                yield Difference(what, "none in the header", _shown(result[key]))
        elif claims[key] != result[key]:
            yield Difference(what, _shown(claims[key]), _shown(result[key]))
    started = time.perf_counter()
    report.state_root = witness.state_root(evm)
    report.root_seconds = time.perf_counter() - started
    if report.state_root != claims["state_root"]:
        yield Difference("state root", _shown(claims["state_root"]), _shown(report.state_root))
    used = set(result["codes"])
    for code in witness.witness.unreferenced()[1]:
        if code not in used:
            yield Difference("code", "of an account of the witness", f"no account with code 0x{code.hex()}")


def _notes(witness: BlockWitness, report: WitnessReport, block_hash: bytes | None) -> list[str]:
    """Return notes on what nothing in the witness proves."""
    notes = []
    if block_hash is None and "hash" not in witness.parts.header:
        notes.append(f"the header is not compared with a known block hash: it has {_hex(witness.hash)}")
    if report.unproven_hashes:
        read = ", ".join(map(str, report.unproven_hashes))
        notes.append(f"the hashes of blocks {read} are read and not proven: only the results confirm them")
    if report.unread_hashes:
        notes.append(f"{report.unread_hashes} block hashes are left out: nothing reads them, nothing proves them")
    if witness.parts.keys:
        notes.append(f"{witness.parts.keys} keys are not used")
    return notes


def _compare_neighbours(reports: list[WitnessReport]) -> None:
    """Compare blocks that follow one another: block hash, state root, earlier block hashes."""
    by_block = {(each.chain_id, each.number): each for each in reports if each.number is not None}
    for (chain_id, number), later in by_block.items():
        earlier = by_block.get((chain_id, (number or 0) - 1))
        if earlier is None or not (earlier.exact and later.exact):
            continue
        pairs: list[tuple[str, bytes | None, bytes | None]] = [
            ("parent hash", earlier.block_hash, later.parent_hash),
            ("pre-state root", earlier.state_root, later.pre_state_root),
        ]
        shared = sorted(earlier.block_hashes.keys() & later.block_hashes.keys())
        pairs += [(f"hash of block {each}", earlier.block_hashes[each], later.block_hashes[each]) for each in shared]
        for what, expected, found in pairs:
            if expected != found:
                what = f"{what}, compared with '{earlier.path}'"
                later.first_difference = Difference(what, str(_hex(expected)), str(_hex(found)))
                break
        else:
            later.notes.append(f"follows from '{earlier.path}'")


def _hex(value: bytes | None) -> str | None:
    return None if value is None else "0x" + value.hex()


def _shown(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
