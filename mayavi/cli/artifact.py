"""`mayavi artifact`: a run as one file, and the proof that it can be had again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.group import command_group
from mayavi.cli.output import Column, print_json, print_note, print_table
from mayavi.cli.progress import activity, counted
from mayavi.cli.runs import RunArgument, StoreOption
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.sim.store.artifact import BundledRun, Outcome


app = command_group("Write a run to a bundle, or verify one: `artifact RUN_ID` writes.", default="write")


@app.command("write")
def write(
    run: RunArgument,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Where to; by default SCENARIO-RUN_ID.zip here.")
    ] = None,
    store: StoreOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a run to a bundle: its rows as Parquet, the scenario, what it ran on, and a manifest of hashes.

    The bytes depend on what happened in the run alone: the same run gives the same file.
    """
    from mayavi.sim.store import Store
    from mayavi.sim.store.artifact import write_artifact

    database = Store(store)
    found = database.run(run)
    path = output or Path(f"{found.scenario}-{found.run_id}.zip")
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder", "name a file in it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{path.absolute().parent}'", "create it, or name another place")
    with activity(f"bundling {found.run_id}"):
        digest = write_artifact(database, found.run_id, path)
    if as_json:
        print_json(
            {
                "run_id": found.run_id,
                "bundle": str(path),
                "bytes": path.stat().st_size,
                "sha256": digest,
                "digest": found.digest,
            }
        )
        return
    print(f"{path}, {path.stat().st_size:,} bytes, sha256 {digest}")
    print_note(f"`mayavi artifact verify {path}` runs it again and compares")


@app.command("verify")
def verify(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A file that `mayavi artifact RUN_ID` wrote.")],
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", metavar="FILE", help="The world of a run that started from a file.")
    ] = None,
    rpc_url: Annotated[
        str | None, typer.Option("--rpc-url", metavar="URL", help="With a run on a node: that node, or another.")
    ] = None,
    block: Annotated[str | None, typer.Option("--block", metavar="N", help="With a run on a node: its block.")] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of the kernel; changes the time it takes, no result.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check every hash of a bundle, run it again from its manifest and compare the digests.

    Exit code 0 when all is the same, 1 when something differs or the bundle is damaged, 2 when there is none.
    """
    from mayavi.sim.store.artifact import Outcome, verify_artifact

    def run_again(run: BundledRun) -> Outcome:
        from mayavi.cli.position import block_of
        from mayavi.scenarios.loading import load_text
        from mayavi.scenarios.running import execute, versions
        from mayavi.scenarios.world_source import WorldSource
        from mayavi.sim.recorder import MemoryRecorder

        scenario = load_text(run.scenario_text, origin=f"{bundle}: scenario.yaml")
        source = WorldSource.of(run.source, chain=run.chain, snapshot=snapshot, rpc_url=rpc_url, block=block_of(block))
        with activity("opening the world"):
            fork = source.open()
        recorder = MemoryRecorder()
        with counted(f"running {run.scenario} again", "steps") as advance:
            execute(
                scenario,
                fork,
                recorder,
                seed=run.seed,
                source=run.source,
                store=bundle,
                threads=threads,
                progress=advance,
            )
        assert recorder.info is not None
        assert recorder.ended is not None
        end = recorder.ended
        return Outcome(end.digest, recorder.info.world_digest, end.final_world_digest, versions())

    result = verify_artifact(bundle, run_again)
    if as_json:
        print_json(
            {
                "bundle": str(bundle),
                "verified": result.verified,
                "scenario": result.run.scenario,
                "chain": result.run.chain,
                "seed": str(result.run.seed),
                "digest": result.run.digest,
                "checks": [
                    {"name": each.name, "equal": each.equal, "expected": each.expected, "got": each.got}
                    for each in result.checks
                ],
                "versions": {each.name: {"bundle": each.expected, "here": each.got} for each in result.versions},
            }
        )
    else:
        rows = [(each.name, each.expected, each.got, "yes" if each.equal else "NO") for each in result.checks]
        print_table(
            [Column("", right=False), Column("bundle", right=False), Column("now", right=False), Column("same")], rows
        )
        for each in result.versions:
            if not each.equal:
                print_note(f"{each.name} was {each.expected} then and is {each.got} here")
        print(
            "verified: it ran again to the same rows" if result.verified else "NOT verified: it ran to something else"
        )
    if not result.verified:
        raise typer.Exit(1)
