"""`mayavi snapshot`: inspect snapshot files, and write one for an environment."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import print_facts, print_json, print_note
from mayavi.cli.console.progress import activity
from mayavi.cli.snapshot.prove import prove
from mayavi.cli.snapshot.warm import warm
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.evm.snapshot.contents import Difference, WorldContents

app = command_group("Inspect and prove snapshot files, and write one for offline training.")
app.command("warm", short_help="Write the state an environment reads to a file.")(warm)
app.command("prove", short_help="Prove a snapshot against the state root of its block.")(prove)

SHOWN_PER_ACCOUNT = 8


@app.command("info", short_help="Verify a snapshot file and describe its content.")
def info(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A snapshot file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Verify a snapshot file and describe its content: chain, block, digest, complete and partial accounts."""
    from mayavi.evm.snapshot.contents import WorldContents
    from mayavi.evm.snapshot.file import read_info

    refuse_absent(path)
    with activity(f"reading '{path}'"):
        header = read_info(path)
        world = WorldContents.of_snapshot(path)
    sizes = count(world)
    if as_json:
        print_json(
            {
                "path": str(path),
                "digest": header.digest,
                "chain_id": world.chain_id,
                "hardfork": world.hardfork,
                "closed": world.closed,
                "block": {name: exact(value) for name, value in world.block.items()},
                **sizes,
                "file_bytes": header.file_bytes,
                "world_bytes": header.world_bytes,
                "proof": describe_proof(header.metadata.get("proof")),
                "metadata": {key: value for key, value in header.metadata.items() if key != "proof"},
            }
        )
        return
    partial = sizes["accounts"] - sizes["complete_accounts"]
    elsewhere = "is empty" if world.closed else "is not known, and reading it is an error"
    print_facts(
        [
            ("file", f"{path}, {header.file_bytes:,} bytes ({header.world_bytes:,} unpacked)"),
            ("digest", header.digest),
            ("chain", str(world.chain_id)),
            ("block", f"{world.block['number']:,}, {utc(world.block['timestamp'])}, rules of {world.hardfork}"),
            ("accounts", f"{sizes['accounts']:,}, of them {partial:,} known in part"),
            ("contracts", f"{sizes['contracts']:,} with {sizes['codes']:,} different codes"),
            ("slots", f"{sizes['slots']:,}"),
            ("other accounts", f"an account that is not in the file {elsewhere}"),
            ("names", f"{len(header.metadata.get('labels', {})):,} contracts have one"),
            ("source", describe_source(header.metadata.get("source", {}))),
            ("proofs", describe_proof(header.metadata.get("proof")) or "none"),
            ("written by", f"mayavi {header.metadata.get('written_by', '?')}"),
        ]
    )


@app.command("diff", short_help="Show the differences of two snapshots.")
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A snapshot file.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Snapshot file to compare with.")],
    show_all: Annotated[
        bool, typer.Option("--all", help=f"Show all differences, not only {SHOWN_PER_ACCOUNT} per account.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with every difference.")] = False,
) -> None:
    """Show the differences of two snapshots: block, balances, nonces, code, slots.

    Exit code 0 without differences, 1 with differences or a damaged file, 2 for a missing file.
    """
    from mayavi.evm.snapshot.contents import WorldContents, differences
    from mayavi.evm.snapshot.file import read_info

    refuse_absent(before, after)
    with activity("comparing"):
        headers = [read_info(path) for path in (before, after)]
        found = list(differences(WorldContents.of_snapshot(before), WorldContents.of_snapshot(after)))
    labels = {text: name for header in headers for name, text in header.metadata.get("labels", {}).items()}
    if as_json:
        print_json(
            {
                "before": headers[0].digest,
                "after": headers[1].digest,
                "equal": not found,
                "differences": [as_object(difference) for difference in found],
            }
        )
    elif not found:
        print(f"equal: both hold {headers[0].digest}")
    else:
        print_differences(found, labels, None if show_all else SHOWN_PER_ACCOUNT)
        accounts = len({difference.address for difference in found} - {None})
        print(f"{len(found):,} differences in {accounts:,} accounts")
    if found:
        raise typer.Exit(1)


def refuse_absent(*paths: Path) -> None:
    """Raise `UsageError` for a path that is missing or a folder."""
    for path in paths:
        if path.is_dir():
            raise UsageError(f"'{path}' is a folder, not a snapshot", "name a file in it")
        if not path.exists():
            raise UsageError(f"there is no snapshot at '{path}'", "`mayavi world build --output FILE` writes one")


def print_differences(found: Iterable[Difference], labels: dict[str, str], limit: int | None) -> None:
    """Print one line per difference, grouped by account, at most `limit` per account."""
    for address, group in groupby(found, key=lambda difference: difference.address):
        lines = list(group)
        print("chain" if address is None else name_of(address, labels))
        for line in lines[:limit]:
            field = line.field if line.slot is None else f"{line.field} {in_hex(line.slot, line.field)}"
            print(f"  {field}: {shown(line.before, line.field)} → {shown(line.after, line.field)}")
        if limit is not None and len(lines) > limit:
            print_note(f"  … {len(lines) - limit:,} more, `--all` shows them")


def count(world: WorldContents) -> dict[str, int]:
    """Count accounts, contracts, codes, slots and block hashes."""
    accounts = world.accounts.values()
    return {
        "accounts": len(accounts),
        "complete_accounts": sum(account.complete for account in accounts),
        "contracts": sum(bool(account.code) for account in accounts),
        "codes": len({account.code for account in accounts if account.code}),
        "slots": sum(len(account.slots) for account in accounts),
        "block_hashes": len(world.block_hashes),
    }


def as_object(difference: Difference) -> dict[str, object]:
    """JSON object of a difference: checksummed addresses, large integers as text."""
    from mayavi.evm.address import checksum

    return {
        "address": None if difference.address is None else checksum(difference.address),
        "field": difference.field,
        "slot": None if difference.slot is None else in_hex(difference.slot, difference.field),
        "before": exact(difference.before),
        "after": exact(difference.after),
    }


def name_of(address: bytes, labels: dict[str, str]) -> str:
    """Label, if any, and checksummed address."""
    from mayavi.evm.address import checksum

    text = checksum(address)
    return f"{labels[text]} {text}" if text in labels else text


def in_hex(slot: int, field: str) -> str:
    """Slot in hex, block number in decimal."""
    return str(slot) if field == "block_hash" else f"{slot:#x}"


def shown(value: object, field: str) -> str:
    """Format a value: slots in hex, amounts with separators, None as "not known"."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, int):
        return f"{value:#x}" if field == "slot" else f"{value:,}"
    return str(value)


def exact(value: object) -> object:
    """JSON value: bytes as hex, integers of 2**53 and above as text."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53 else value


def describe_proof(proof: dict[str, Any] | None) -> str | None:
    """One line on the proofs in a file; None without any."""
    return None if proof is None else f"{proof['bytes']:,} bytes of trie nodes; `mayavi snapshot prove` checks them"


def describe_source(source: dict[str, Any]) -> str:
    """One line on the origin of a world."""
    kind, *rest = source.get("kind", "not recorded"), *(f"{k} {v}" for k, v in source.items() if k != "kind")
    return ", ".join([str(kind), *rest])


def utc(timestamp: object) -> str:
    """Format a timestamp as UTC date and time."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(int(str(timestamp)), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"timestamp {timestamp}"
