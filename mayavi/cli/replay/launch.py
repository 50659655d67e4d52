"""`mayavi replay launch`: record a token launch from a node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mayavi.cli.console.output import print_facts, print_json
from mayavi.cli.console.progress import counted
from mayavi.cli.replay.options import FromOption, JsonOption, ReplayChainOption, RequestsOption, RpcOption, ToOption
from mayavi.errors import UsageError


def launch(
    pool: Annotated[str, typer.Option("--pool", metavar="A", help="Address of the Uniswap V3 pool.")],
    first: FromOption,
    last: ToOption,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Record to write; a scenario is written beside it.")
    ] = Path("launch.csv"),
    token: Annotated[
        str | None, typer.Option("--token", metavar="A", help="The launched token, if the pool does not tell.")
    ] = None,
    rpc: RpcOption = None,
    chain: ReplayChainOption = None,
    max_requests: RequestsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record the launch of a token on a Uniswap V3 pool: initial price, liquidity, every purchase and sale.

    Writes a CSV file in the format of the scenario `launch_replay`, and a scenario that replays it.
    """
    from mayavi.evm.address import to_address
    from mayavi.replay.history.launch import record_launch
    from mayavi.replay.history.node import ReplayNode, check_range

    if out.suffix != ".csv":
        raise UsageError(f"'{out}' does not end in .csv", "the record is a CSV file: --out launch.csv")
    if not out.parent.is_dir():
        raise UsageError(f"there is no folder '{out.parent}'", "make it first")
    check_range(first, last)
    to_address(pool)
    if token is not None and token.startswith("0x"):
        to_address(token)
    with (
        ReplayNode.open(rpc, chain=chain, max_requests=max_requests) as node,
        counted("reading", "blocks", eta=True) as advance,
    ):
        found = record_launch(node, pool, first, last, token=token, progress=advance)
    scenario = out.with_suffix(".yaml")
    out.write_text(found.csv(), encoding="utf-8")
    scenario.write_text(found.scenario(out.name), encoding="utf-8")
    if as_json:
        print_json({**found.to_json(), "record": str(out), "scenario": str(scenario)})
        return
    summary = found.to_json()
    print_facts(
        [
            ("pool", f"{summary['name']} {summary['pool']}"),
            ("blocks", f"{first} to {last}"),
            ("trades", f"{summary['buys']:,} buys, {summary['sells']:,} sells, {summary['accounts']:,} accounts"),
            ("record", str(out)),
            ("scenario", str(scenario)),
        ]
    )
    for what, count in found.left_out.items():
        print(f"note: {count:,} {what} left out: the replay deviates from there on")
    print(f"replay it with `mayavi run {scenario}`")
