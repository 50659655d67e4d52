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
    plain: Annotated[bool, typer.Option("--plain", help="Do not use the node's prestate tracer.")] = False,
    max_requests: RequestsOption = None,
    concurrency: ConcurrencyOption = 4,
    as_json: JsonOption = False,
) -> None:
    """Write blocks as self-contained cases: block, receipts, codes, and the state that its transactions read.

    The state comes from the node's prestate tracer, or from plain reads while the block is executed. An execution
    witness is written too if the node has one. `mayavi validate blocks DIR` replays the cases without network. Exit
    code 1 if a replay differs from the chain.
    """
    from mayavi.replay.history.capture import capture as capture_blocks
    from mayavi.replay.history.capture import parse_blocks
    from mayavi.replay.history.node import ReplayNode

    first, last = parse_blocks(blocks)
    with (
        ReplayNode.open(rpc, chain=chain, max_requests=max_requests, concurrency=concurrency) as node,
        counted("capturing", "blocks", eta=True) as advance,
    ):
        report = capture_blocks(node, first, last, out, traced=not plain, progress=advance)
    if as_json:
        print_json(report.to_json())
    else:
        columns = [Column("block"), Column("transactions"), Column("accounts"), Column("slots")]
        columns += [Column("state from", right=False), Column("result", right=False, style="bold")]
        rows = [
            (
                str(each.number),
                f"{each.transactions:,}",
                f"{each.accounts:,}",
                f"{each.slots:,}",
                each.source,
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
    if not report.exact:
        raise typer.Exit(1)
