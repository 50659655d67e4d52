"""`mayavi world`: list, describe and build offline replicas."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import Column, print_facts, print_json, print_table
from mayavi.cli.console.progress import counted
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.worlds.description import WorldDescription

app = command_group("List, describe and build offline replicas.")

Chain = Annotated[str, typer.Argument(metavar="WORLD", help="A world of `mayavi world list`.")]
BlockChoice = Annotated[
    int | None, typer.Option("--block", metavar="N", help="A block of `mayavi world list`; by default the newest.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("list")
def list_worlds(as_json: JsonFlag = False) -> None:
    """List the replicas: chains, of which the first is the default, and markets of Aave V3.6, and which are built."""
    from mayavi.worlds import describe_world, market_names, world_blocks, world_names

    worlds = [describe_world(name, block) for name in world_names() for block in world_blocks(name)]
    worlds += [describe_world(name) for name in market_names()]
    if as_json:
        print_json({"worlds": [summary(world) for world in worlds]})
        return
    columns = [Column("world", right=False, style="bold"), Column("block"), Column("date", right=False)]
    columns += [Column(title, right=False) for title in ("Aave", "what", "built")]
    print_table(columns, [_row(each) for each in worlds])


def _row(world: WorldDescription) -> tuple[str, ...]:
    built = "yes" if world.snapshot else "no"
    return world.world, f"{world.block.number:,}", world.date, f"V{world.aave}", world.title.rpartition(",")[0], built


@app.command("info", short_help="Describe a replica: contracts, sources, differences.")
def info(
    chain: Chain = "ethereum",
    block: BlockChoice = None,
    names: Annotated[bool, typer.Option("--names", help="List every named contract with its address.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the contents of a replica, the sources of its facts and its differences from the real chain.

    Only `--names` builds the replica, since some contracts get their address while it is built.
    """
    from mayavi.worlds import describe_world

    labels = open_replica(chain, block)[0].labels if names else {}
    world = describe_world(chain, block)
    if as_json:
        document = {
            **summary(world),
            "contents": list(world.contents),
            "sources": [{"what": each.what, "from": each.origin, "date": each.date} for each in world.sources],
            "assumed": [{"subject": each.subject, "text": each.text} for each in world.assumed],
            "differences": [{"subject": each.subject, "text": each.text} for each in world.differences],
        }
        print_json(document | ({"names": labels} if names else {}))
        return
    if names:
        print_table([Column("name", right=False), Column("address", right=False)], list(labels.items()))
        return
    which = chain if block is None else f"{chain} --block {block}"
    print_facts(
        [
            ("chain", f"{world.chain} ({world.chain_id}), {world.title}"),
            ("block", f"{world.block.number:,} of {world.date}, rules of {world.hardfork}"),
            ("built", str(world.snapshot) if world.snapshot else f"not yet; `mayavi world build {which}` does it"),
            ("names", f"`mayavi world info {which} --names` lists them with their addresses"),
        ]
    )
    print_section("contents", world.contents)
    dated = [f"{each.what}: {each.origin}" + (f", {each.date}" if each.date else "") for each in world.sources]
    print_section("recorded" if world.assumed else "sources", dated)
    if world.assumed:
        print_section("assumed", [f"{each.subject}: {each.text}" for each in world.assumed])
    print_section(f"differences from {world.chain}", [f"{each.subject}: {each.text}" for each in world.differences])


@app.command("build", short_help="Build or open a replica and print its digest.")
def build(
    chain: Chain = "ethereum",
    block: BlockChoice = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build it again even if it is built already.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write the world to this snapshot file.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Build the replica of a chain, or open it if it is built already, and print its digest.

    The digest is the same on every machine: it depends only on the contracts and the parameters.
    """
    from mayavi.worlds import describe_world

    if output is not None:
        refuse_unwritable(output)
    began = time.perf_counter()
    fork, built = open_replica(chain, block, rebuild=rebuild)
    if output is not None:
        fork.dump_snapshot(output)
    digest = fork.digest()
    world = describe_world(chain, block)
    snapshot, number = world.snapshot, world.block.number
    took_s = time.perf_counter() - began
    if as_json:
        place = str(snapshot) if snapshot else None
        timing = {"built": built, "seconds": round(took_s, 3)}
        print_json(
            {"chain": chain, "world": world.world, "block": number, "digest": digest, **timing, "snapshot": place}
        )
        return
    facts = [
        (chain, f"{'built' if built else 'opened'} in {took_s:.2f} s"),
        ("digest", digest),
        ("kept in", str(snapshot) if snapshot else "nowhere: the cache could not be written"),
    ]
    if output is not None:
        facts.append(("written to", str(output)))
    print_facts(facts)


def open_replica(chain: str, block: int | None = None, *, rebuild: bool = False) -> tuple[Fork, bool]:
    """Open the replica of `chain` at `block` with a progress bar; return it and whether it was built."""
    from mayavi.worlds import open_world

    built = False
    with counted(f"building {chain}", "steps") as advance:

        def progress(_: str, done: int, total: int) -> None:
            nonlocal built
            built = True
            advance(done, total)

        return open_world(chain, block=block, rebuild=rebuild, progress=progress), built


def refuse_unwritable(output: Path) -> None:
    """Raise `UsageError` if no file can be written at `output`; create nothing."""
    import os

    folder = output.parent
    if output.is_dir():
        raise UsageError(f"'{output}' is a folder", f"name the file to write, such as '{output / 'my.snapshot'}'")
    if output.exists() and not output.is_file():
        raise UsageError(f"'{output}' is not an ordinary file", "name a file to write")
    there = next(each for each in output.parents if each.exists())
    if not there.is_dir():
        raise UsageError(f"'{there}' is a file, and '{output}' would lie below it", "name another place")
    if there != folder:
        raise UsageError(f"there is no folder '{folder}' for '{output.name}'", f"`mkdir -p {folder}` makes it")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"the folder '{folder}' cannot be written to", "name another place")


def summary(world: WorldDescription) -> dict[str, object]:
    """The JSON summary of a world."""
    return {
        "world": world.world,
        "aave": world.aave,
        "date": world.date,
        "chain": world.chain,
        "title": world.title,
        "chain_id": world.chain_id,
        "hardfork": world.hardfork,
        "block": world.block.number,
        "timestamp": world.block.timestamp,
        "built": world.snapshot is not None,
        "snapshot": str(world.snapshot) if world.snapshot else None,
    }


def print_section(title: str, lines: Sequence[str]) -> None:
    """Print a heading and its points, wrapped to the terminal width."""
    from shutil import get_terminal_size
    from textwrap import wrap

    print(f"\n{title}")
    for line in lines:
        width = min(get_terminal_size((120, 24)).columns, 120)
        print("\n".join(wrap(line, width, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)))
