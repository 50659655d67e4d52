"""`mayavi specialise`: show what replayed transactions were recorded as, and record them ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import Column, print_facts, print_json, print_note, print_table
from mayavi.cli.console.progress import activity, counted
from mayavi.errors import UnknownName

if TYPE_CHECKING:
    from mayavi.evm.fleet import Fleet

app = command_group("Show what replayed transactions were recorded as, and record them ahead.")

SHOWN_GUARDS = 12


@app.callback()
def specialise() -> None:
    """Show what replayed transactions were recorded as, and record them ahead."""


@app.command("warm", short_help="Record the transactions of an environment ahead, for later processes.")
def warm(
    env: Annotated[str, typer.Option("--env", help="Environment, by name or Gymnasium id.")],
    steps: Annotated[int, typer.Option("--steps", min=1, metavar="N", help="Random steps over all rows.")] = 100_000,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the environment; may be repeated."),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="replica[:BLOCK]|snapshot:PATH", help="World to play on.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play an environment at random, and keep the recorded paths of its transactions in the cache.

    Environments with the same settings then start with them: what was code is compiled at once, and nothing that is
    known is recorded again. No result depends on it.
    """
    from mayavi.cli.printing.specialise import print_statistics
    from mayavi.cli.rl.eval import settings_of
    from mayavi.errors import SetupError, UsageError
    from mayavi.evm.path_cache import paths_folder
    from mayavi.evm.specialise import specialised
    from mayavi.gym_env.replayed_steps import play_randomly

    if source is not None and source.partition(":")[0] == "rpc":
        raise UsageError(
            "paths of a world that a node completes are not kept", "warm a snapshot: --source snapshot:PATH"
        )
    with specialised() as replayed, counted(f"playing '{env}'", "steps", eta=True) as advance:
        fleet = play_randomly(env, steps, settings_of(overrides or []) or None, source=source, progress=advance)
        size, found = fleet.save_paths(), replayed.statistics()
    if size is None:
        raise SetupError(f"the recorded paths cannot be kept in '{paths_folder()}'", "MAYAVI_CACHE_DIR names another")
    if as_json:
        print_json({"env": env, "steps": steps, "folder": str(paths_folder()), "file_bytes": size, "specialise": found})
        return
    print_statistics(found)
    print_note(f"{size:,} bytes in {paths_folder()}; `mayavi specialise clear` deletes them")


@app.command("clear", short_help="Delete all paths in the cache.")
def clear(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Delete the recorded paths of all worlds from the cache. They are recorded again as they are needed."""
    from mayavi.evm.path_cache import clear_paths, paths_folder

    files, size = clear_paths()
    if as_json:
        print_json({"folder": str(paths_folder()), "files": files, "bytes": size})
    else:
        print(f"deleted {files:,} file{'' if files == 1 else 's'}, {size:,} bytes, in {paths_folder()}")


@app.command("show", short_help="Show the recorded paths of a contract's function.")
def show(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="CONTRACT.FUNCTION, FUNCTION or a selector (0x…).")],
    env: Annotated[str, typer.Option("--env", help="Environment whose random steps are recorded.")] = "aave",
    steps: Annotated[int, typer.Option("--steps", min=1, metavar="N", help="Random steps over all rows.")] = 20_000,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the environment; may be repeated."),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Print every guard, and the operations of every path.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with everything.")] = False,
) -> None:
    """Play an environment at random, and show the recorded paths of a function.

    For each path: opcodes that were recorded, operations before and after the passes, and guards with the instruction
    and the slots that they come from.
    """
    from mayavi.cli.rl.eval import settings_of
    from mayavi.gym_env.replayed_steps import play_randomly

    with activity(f"playing {steps:,} steps of '{env}'"):
        fleet = play_randomly(env, steps, settings_of(overrides or []) or None)
    sites = chosen_sites(fleet, target)
    if as_json:
        print_json({"env": env, "steps": steps, "target": target, "sites": sites})
        return
    for site in sites:
        print_site(site, show_all)


@app.command("reproduce", short_help="Repeat a replay that differed from the interpreter.")
def reproduce(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that the error names.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Repeat a replay that differed: the recorded paths on their state, and the interpreter.

    Ends with exit code 1 if a replay still differs, so it also says whether another build of the kernel is mended.
    """
    from mayavi.evm.replay_difference import reproduce as repeat

    found = repeat(file)
    if as_json:
        print_json({"file": str(file), "differs": found.differs, **asdict(found)})
    else:
        kernel = "this build" if found.same_kernel else "another build"
        facts = [("error", found.message), ("paths", found.by_paths), ("machine code", found.by_code)]
        print_facts([*facts, ("kernel", f"the error was found by {kernel} of the kernel")])
    if found.differs:
        raise typer.Exit(1)


def chosen_sites(fleet: Fleet, target: str) -> list[dict[str, Any]]:
    """Return the sites that `target` names, with `name`; `UnknownName` if there are none."""
    labels = {text: label for label, text in fleet.fork(0).labels.items()}
    counted = [(site_name(site, labels), site) for site in fleet.statistics()]
    found = [(name, site) for name, site in counted if is_meant(target, name, site)]
    if not found:
        names = sorted({name for name, _ in counted})
        raise UnknownName.of("call", target, names, f"there are: {', '.join(names)}")
    shown = []
    for selector in sorted({site["selector"] for _, site in found}):
        for site in fleet.paths(bytes.fromhex(selector.removeprefix("0x"))):
            for name, counts in found:
                if all(counts[key] == site[key] for key in ("to", "sender", "selector")):
                    shown.append({"name": name, **counts, **site, "paths_recorded": counts["paths"]})
    return shown


def site_name(site: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """`CONTRACT.FUNCTION` of a site; the address or the selector where a name is not known."""
    from mayavi.replay.transactions.decoding import signature_book

    function = signature_book().functions.get(bytes.fromhex(site["selector"].removeprefix("0x")))
    return f"{labels.get(site['to'], site['to'])}.{function.name if function else site['selector']}"


def is_meant(target: str, name: str, site: Mapping[str, Any]) -> bool:
    """Whether `target` is the name of a site, a part of it after a dot, or its selector."""
    wanted, full = target.lower(), name.lower()
    return wanted in {full, site["selector"]} or full.endswith(f".{wanted}")


def print_site(site: Mapping[str, Any], show_all: bool) -> None:
    """Print the counts of a site and its paths."""
    share = site["hits"] / max(site["calls"], 1)
    print_facts(
        [
            ("call", f"{site['name']} ({site['selector']}) by {site['sender']}"),
            ("replayed", f"{share:.1%} of {site['calls']:,} calls, {site['native']:,} by compiled paths"),
            (
                "paths",
                f"{site['paths_recorded']:,}, {site['compiled']:,} compiled in {site['compile_seconds'] * 1e3:.1f} ms",
            ),
            ("interpreter", site["off"] or "only what is not known yet"),
        ]
    )
    for number, path in enumerate(site["paths"], 1):
        print_path(number, path, show_all)


def print_path(number: int, path: Mapping[str, Any], show_all: bool) -> None:
    """Print a path: sizes, then its guards."""
    how = "machine code" if path["code"] else "step by step"
    ends = "succeeds" if path["success"] else "reverts"
    print(f"\npath {number}: {path['hits']:,} hits, {how}, {ends}; {path['opcodes']:,} opcodes,"
          f" {path['operations']:,} operations and {len(path['guards']):,} guards,"
          f" {path['operations_left']:,} and {path['guards_left']:,} after the passes")  # fmt: skip
    guards = path["guards"] if show_all else path["guards"][:SHOWN_GUARDS]
    columns = [Column("opcode", right=False), Column("contract", right=False), Column("pc")]
    rows = [(each["opcode"], each["contract"], str(each["pc"]), each["condition"]) for each in guards]
    print_table([*columns, Column("guard", right=False)], rows)
    if len(guards) < len(path["guards"]):
        print_note(f"… {len(path['guards']) - len(guards):,} more guards, `--all` shows them")
    if show_all:
        print(path["left"])
