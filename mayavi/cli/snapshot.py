"""`mayavi snapshot`: look into snapshot files, and write one for an environment."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.group import command_group
from mayavi.cli.output import print_facts, print_json, print_note
from mayavi.cli.progress import activity
from mayavi.cli.snapshot_warm import warm
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.evm.contents import Difference, WorldContents

app = command_group("Look into snapshot files, and write one for an environment.")
app.command("warm")(warm)

SHOWN_PER_ACCOUNT = 8


@app.command("info")
def info(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A snapshot file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Verify a snapshot file and say what it holds: chain, block, digest, what is known in full and what in part."""
    from mayavi.evm.contents import WorldContents
    from mayavi.evm.snapshot import read_info

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
                "metadata": header.metadata,
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
            ("written by", f"mayavi {header.metadata.get('written_by', '?')}"),
        ]
    )


@app.command("diff")
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A snapshot file.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The snapshot file to compare with it.")],
    show_all: Annotated[
        bool, typer.Option("--all", help=f"Show every slot, not only {SHOWN_PER_ACCOUNT} an account.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with every difference.")] = False,
) -> None:
    """Say in what two snapshots differ: block, balances, nonces, code, slots.

    Exit code 0 when in nothing, 1 when in something or when a file is damaged, 2 when one is not there.
    """
    from mayavi.evm.contents import WorldContents, differences
    from mayavi.evm.snapshot import read_info

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
    """A file that is not there was named wrongly: a misuse, unlike a file that cannot be read."""
    for path in paths:
        if path.is_dir():
            raise UsageError(f"'{path}' is a folder, not a snapshot", "name a file in it")
        if not path.exists():
            raise UsageError(f"there is no snapshot at '{path}'", "`mayavi world build --output FILE` writes one")


def print_differences(found: Iterable[Difference], labels: dict[str, str], limit: int | None) -> None:
    """One line a difference under the name of its account, at most `limit` an account."""
    for address, group in groupby(found, key=lambda difference: difference.address):
        lines = list(group)
        print("chain" if address is None else name_of(address, labels))
        for line in lines[:limit]:
            field = line.field if line.slot is None else f"{line.field} {in_hex(line.slot, line.field)}"
            print(f"  {field}: {shown(line.before, line.field)} → {shown(line.after, line.field)}")
        if limit is not None and len(lines) > limit:
            print_note(f"  … {len(lines) - limit:,} more, `--all` shows them")


def count(world: WorldContents) -> dict[str, int]:
    """How much a world holds."""
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
    """A difference for programs: addresses checksummed, integers beyond what JSON readers keep exact as text."""
    from mayavi.evm.address import checksum

    return {
        "address": None if difference.address is None else checksum(difference.address),
        "field": difference.field,
        "slot": None if difference.slot is None else in_hex(difference.slot, difference.field),
        "before": exact(difference.before),
        "after": exact(difference.after),
    }


def name_of(address: bytes, labels: dict[str, str]) -> str:
    """The checksummed address, and its name where it has one."""
    from mayavi.evm.address import checksum

    text = checksum(address)
    return f"{labels[text]} {text}" if text in labels else text


def in_hex(slot: int, field: str) -> str:
    """Slots in hex, as contracts' authors write them; block numbers in decimal, as everybody does."""
    return str(slot) if field == "block_hash" else f"{slot:#x}"


def shown(value: object, field: str) -> str:
    """A value for people: slots in hex, amounts with separators, what is not held as such."""
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
    """A value for programs: what JSON readers would round is text."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53 else value


def describe_source(source: dict[str, Any]) -> str:
    """Where a world came from, in one line."""
    kind, *rest = source.get("kind", "not recorded"), *(f"{k} {v}" for k, v in source.items() if k != "kind")
    return ", ".join([str(kind), *rest])


def utc(timestamp: object) -> str:
    """A block's time as people read it."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(int(str(timestamp)), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"timestamp {timestamp}"
