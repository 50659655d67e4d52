"""`mayavi setup`: install contract packages, compile contracts, build replicas."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import is_styled, print_facts, print_json, print_note
from mayavi.cli.console.progress import activity
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.worlds.setup import Step


def setup(
    chains: Annotated[
        list[str] | None,
        typer.Option("--chain", metavar="CHAIN", help="Build the replica of this chain only; may be repeated."),
    ] = None,
    replicas: Annotated[
        bool, typer.Option("--replicas/--no-replicas", help="Build replicas now instead of at first use.")
    ] = True,
    everything: Annotated[
        bool, typer.Option("--all", help="Also install what only some runs need, so that later runs need no network.")
    ] = False,
    node: Annotated[bool, typer.Option("--node", hidden=True, help="Also install the node that tests use.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Install the contract packages, compile our Vyper contracts, install Plotly for reports and build the replicas.

    Other commands do the same when they first need it. `--all` adds the Solidity compiler, Aave V3.6, Uniswap V4 and
    Pendle. Only the npm packages need the network, and only once;
    MAYAVI_OFFLINE=1 forbids the download. Existing files are not changed.
    """
    from contextlib import nullcontext

    from mayavi.cache_directory import default_cache_dir
    from mayavi.worlds import describe_world, world_names
    from mayavi.worlds.contract_folder import contracts_root
    from mayavi.worlds.setup import set_up

    if chains and not replicas:
        raise UsageError("--chain and --no-replicas contradict each other", "leave one of them out")
    for chain in chains or ():
        describe_world(chain)  # an unknown name is an error before anything is installed
    wanted = (chains or world_names()) if replicas else []
    steps: list[Step] = []
    # `set_up` prints a line before each step that takes time; terminals also show a spinner.
    with activity("setting up") if is_styled(sys.stderr) else nullcontext():
        for step in set_up(wanted, node=node, everything=everything):
            steps.append(step)
            if step.name == "Vyper contracts":  # before the replicas, which take longest
                steps.append(set_up_reports(node=node))
    if as_json:
        places = {"contracts": str(contracts_root()), "cache": str(default_cache_dir())}
        print_json({"steps": [asdict(step) | {"seconds": round(step.seconds, 3)} for step in steps], **places})
        return
    print_facts((step.name, f"done in {step.seconds:.1f} s" if step.changed else "already there") for step in steps)
    print_note(f"contracts in {contracts_root()}")
    if replicas:
        print_note(f"replicas in {default_cache_dir() / 'replicas'} · next: `mayavi demo`")


def set_up_reports(*, node: bool) -> Step:
    """Install the script that draws the charts of reports; `node` adds what tests need."""
    from mayavi.report.plotly import ensure_plotly, report_packages
    from mayavi.worlds.setup import Step

    began = time.perf_counter()
    installed = ensure_plotly(dev=node)
    folder = report_packages()
    detail = f"{len(folder.locked_packages())} npm packages in {folder.packages}"
    return Step("report packages", installed, detail, time.perf_counter() - began)
