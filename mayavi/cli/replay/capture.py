"""`mayavi replay capture`: write blocks of a node as self-contained cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mayavi.cli.console.output import Column, print_json, print_table
from mayavi.cli.console.progress import counted
from mayavi.cli.replay.options import ConcurrencyOption, JsonOption, ReplayChainOption, RequestsOption, RpcOption


def capture(
    blocks: Annotated[str, typer.Option("--block", metavar="N[:M]", help="A block, or all from N to M.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of cases; made if it is not there.")],
    rpc: RpcOption = None,
    chain: ReplayChainOption = None,
    plain: Annotated[bool, typer.Option("--plain", help="Read the state value by value, without the tracer.")] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Build a witness from eth_getProof if the node has none.")
    ] = False,
    max_requests: RequestsOption = None,
    concurrency: ConcurrencyOption = 4,
    as_json: JsonOption = False,
) -> None:
    """Write blocks as self-contained cases: block, receipts, codes, and the state that its transactions read.

    The state comes from the node's execution witness, its prestate tracer, or plain reads while the block is executed.
    A witness is written beside the case, and then `mayavi validate witness DIR` proves the state and computes the state
    root. `mayavi validate blocks DIR` replays the cases. Both need no network. Exit code 1 if a replay differs from the
    chain.
    """
    from mayavi.replay.history.capture import capture as capture_blocks
    from mayavi.replay.history.capture import parse_blocks
    from mayavi.replay.history.node import ReplayNode

    first, last = parse_blocks(blocks)
    with (
        ReplayNode.open(rpc, chain=chain, max_requests=max_requests, concurrency=concurrency) as node,
        counted("capturing", "blocks", eta=True) as advance,
    ):
        report = capture_blocks(node, first, last, out, traced=not plain, prove=prove, progress=advance)
    if as_json:
        print_json(report.to_json())
    else:
        columns = [Column("block"), Column("transactions"), Column("accounts"), Column("slots")]
        columns += [Column("state from", right=False), Column("witness", right=False)]
        columns += [Column("result", right=False, style="bold")]
        rows = [
            (
                str(each.number),
                f"{each.transactions:,}",
                f"{each.accounts:,}",
                f"{each.slots:,}",
                each.source,
                each.witness or "none",
                "exact" if each.difference is None else "differs",
            )
            for each in report.blocks
        ]
        print_table(columns, rows)
        print()
        for each in report.blocks:
            if each.difference is not None:
                print(f"block {each.number}, {each.difference}")
        for note in report.notes:
            print(f"note: {note}")
        print(f"{len(report.blocks):,} cases in '{out}', {report.requests:,} requests")
        print(f"replay them with `mayavi validate blocks {out}`")
        if any(each.witness for each in report.blocks):
            print(f"prove their state with `mayavi validate witness {out}`")
    if not report.exact:
        raise typer.Exit(1)
