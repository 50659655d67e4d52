"""`mayavi setup`: install contract packages, compile contracts, build replicas."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from mayavi.cli.console.output import is_styled, print_facts, print_json, print_note
from mayavi.cli.console.progress import activity
from mayavi.errors import UsageError


def setup(
    chains: Annotated[
        list[str] | None,
        typer.Option("--chain", metavar="CHAIN", help="Build the replica of this chain only; may be repeated."),
    ] = None,
    replicas: Annotated[
        bool, typer.Option("--replicas/--no-replicas", help="Build replicas now instead of at first use.")
    ] = True,
    node: Annotated[bool, typer.Option("--node", hidden=True, help="Also install the node that tests use.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Install the contract packages, compile our Vyper contracts and build the replicas.

    Other commands do the same when they first need it. Only the contract packages need the network, and only once;
    MAYAVI_OFFLINE=1 forbids the download. Existing files are not changed.
    """
    from contextlib import nullcontext

    from mayavi.cache_directory import default_cache_dir
    from mayavi.worlds import describe_world, world_names
    from mayavi.worlds.contract_folder import contracts_root
    from mayavi.worlds.setup import Step, set_up

    if chains and not replicas:
        raise UsageError("--chain and --no-replicas contradict each other", "leave one of them out")
    for chain in chains or ():
        describe_world(chain)  # an unknown name is an error before anything is installed
    wanted = (chains or world_names()) if replicas else []
    steps: list[Step] = []
    # `set_up` prints a line before each step that takes time; terminals also show a spinner.
    with activity("setting up") if is_styled(sys.stderr) else nullcontext():
        steps.extend(set_up(wanted, node=node))
    if as_json:
        places = {"contracts": str(contracts_root()), "cache": str(default_cache_dir())}
        print_json({"steps": [asdict(step) | {"seconds": round(step.seconds, 3)} for step in steps], **places})
        return
    print_facts((step.name, f"done in {step.seconds:.1f} s" if step.changed else "already there") for step in steps)
    print_note(f"contracts in {contracts_root()}")
    if replicas:
        print_note(f"replicas in {default_cache_dir() / 'replicas'} · next: `mayavi demo`")
