"""`mayavi position`: show an account's collateral, debt and liquidation prices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import print_json
from mayavi.cli.console.progress import activity
from mayavi.cli.positions.position import MarketPosition, Protocol
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


def position(
    account: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="An address, or a label of `mayavi world info --names`.")
    ],
    chain: Annotated[
        str | None, typer.Option("--chain", help="Chain; by default ethereum, or that of --snapshot.")
    ] = None,
    protocol: Annotated[
        Protocol | None, typer.Option("--protocol", help="Only this protocol; by default all of the chain.")
    ] = None,
    rpc: Annotated[bool, typer.Option("--rpc", help="Read the real chain through the node in MAYAVI_RPC_URL.")] = False,
    rpc_url: Annotated[
        str | None, typer.Option("--rpc-url", metavar="URL", help="Read the real chain through this node.")
    ] = None,
    block: Annotated[
        str | None, typer.Option("--block", metavar="N", help="With a node: block number, block hash or `latest`.")
    ] = None,
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", metavar="FILE", help="Read a snapshot file instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show an account's collateral, debt, health factor and liquidation prices.

    Reads the offline replica of the chain, the real chain (`--rpc`), or a snapshot file.
    """
    from mayavi.cli.printing.position import document, print_positions
    from mayavi.evm.address import checksum
    from mayavi.evm.chains import chain as known_chain

    fork = open_fork(chain, rpc=rpc, rpc_url=rpc_url, block=block, snapshot=snapshot)
    kind = "snapshot" if snapshot else "replica" if fork.source.get("kind") == "replica" else "chain"
    world = f"{fork.source.get('world') or known_chain(fork.chain_id).name} {kind}"
    address = fork.address_of(account)
    refuse_absent(fork, protocol, world)
    with activity(f"reading the position of {account}"):
        found = list(market_positions(fork, address, protocol))
    if as_json:
        print_json(document(fork, address, kind, found))
    else:
        print(f"{checksum(address)} on the {world}, block {fork.block_number:,}")
        print_positions(found)


def open_fork(chain: str | None, *, rpc: bool, rpc_url: str | None, block: str | None, snapshot: Path | None) -> Fork:
    """Open the world that the options name. Raises `UsageError` if they contradict each other."""
    from mayavi import Fork
    from mayavi.evm.chains import chain as known_chain

    live = rpc or rpc_url is not None
    if live and snapshot is not None:
        raise UsageError("a node and --snapshot exclude each other", "leave one of them out")
    if block is not None and not live:
        raise UsageError(f"--block {block} needs a node to read that block from", "add --rpc or --rpc-url URL")
    if snapshot is not None:
        if not snapshot.is_file():
            raise UsageError(f"there is no snapshot at '{snapshot}'", "`mayavi world build --output FILE` writes one")
        fork = Fork.load_snapshot(snapshot)
        if chain is not None and known_chain(chain).chain_id != fork.chain_id:
            raise UsageError(f"'{snapshot}' holds chain {fork.chain_id}, not {chain}", "leave --chain out")
        return fork
    chain = chain or "ethereum"
    if live:
        known_chain(chain)
        with activity(f"asking the node of {chain}"):
            return Fork.from_rpc(rpc_url, block_of(block), chain=chain)
    with activity(f"opening the {chain} replica"):
        return Fork.replica(chain)


def block_of(text: str | None) -> int | str | None:
    """Parse `--block`."""
    if text is None or text == "latest" or text[:2] in ("0x", "0X"):
        return text
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit()):
        raise UsageError(f"'{text}' is not a block", "give a number, a block hash or latest")
    return int(digits)


def market_positions(fork: Fork, address: bytes, wanted: Protocol | None) -> Iterator[MarketPosition]:
    """Positions of the account on every market of the chain, or of the protocol `wanted`."""
    from mayavi import protocols
    from mayavi.cli.positions.aave import aave_position
    from mayavi.cli.positions.compound import compound_position
    from mayavi.cli.positions.morpho import morpho_position
    from mayavi.protocols.compound.market import markets_of

    for protocol in protocols_of(fork) if wanted is None else [wanted]:
        if protocol is Protocol.COMPOUND:
            for market in sorted(markets_of(fork)):
                yield compound_position(protocols.CompoundV3(fork, market).account(address))
        elif protocol is Protocol.MORPHO:
            blue = protocols.MorphoBlue(fork)
            for name in sorted(blue.markets):
                yield morpho_position(blue.market(name).account(address))
        else:
            lender = protocols.AaveV3(fork) if protocol is Protocol.AAVE else protocols.SparkLend(fork)
            yield aave_position(protocol, lender.account(address))


def refuse_absent(fork: Fork, wanted: Protocol | None, world: str) -> None:
    """Raise `UsageError` if the world has no lending protocol, or not the one that is wanted."""
    present = protocols_of(fork)
    if not present:
        raise UsageError(f"no lending protocol is known on the {world}", "its names are those of `fork.labels`")
    if wanted is not None and wanted not in present:
        raise UsageError(f"{wanted} is not on the {world}", f"on it: {', '.join(present)}")


def protocols_of(fork: Fork) -> list[Protocol]:
    """Protocols whose contracts have labels in this world."""
    from mayavi.protocols.compound.market import markets_of
    from mayavi.worlds.tables.morpho_market import BLUE_LABEL

    found = {Protocol.AAVE: "AaveV3.Pool" in fork.labels, Protocol.SPARK: "Spark.Pool" in fork.labels}
    found |= {Protocol.COMPOUND: bool(markets_of(fork)), Protocol.MORPHO: BLUE_LABEL in fork.labels}
    return [protocol for protocol, there in found.items() if there]
