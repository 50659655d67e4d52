"""Options shared by the commands of `mayavi replay`."""

from __future__ import annotations

from typing import Annotated

import typer

RpcOption = Annotated[
    str | None,
    typer.Option("--rpc", "--rpc-url", metavar="URL", help="The node to read from; by default MAYAVI_RPC_URL."),
]
ReplayChainOption = Annotated[
    str | None, typer.Option("--chain", metavar="NAME", help="The chain that the node must serve.")
]
RequestsOption = Annotated[
    int | None, typer.Option("--max-requests", metavar="N", help="Most HTTP requests, retries included.")
]
ConcurrencyOption = Annotated[int, typer.Option("--concurrency", metavar="N", help="Most requests at the same time.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
FromOption = Annotated[int, typer.Option("--from", metavar="N", help="First block.")]
ToOption = Annotated[int, typer.Option("--to", metavar="M", help="Last block.")]
