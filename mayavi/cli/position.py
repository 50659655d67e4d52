"""`mayavi position`: show an account's collateral, debt and liquidation prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import Column, print_facts, print_json, print_note, print_table
from mayavi.cli.console.progress import activity
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.aave.account import AaveAccount
    from mayavi.protocols.compound.account import CompoundV3Account
    from mayavi.protocols.morpho.account import MorphoAccount


class Protocol(StrEnum):
    """Supported lending protocols."""

    AAVE = "aave"
    SPARK = "spark"
    COMPOUND = "compound"
    MORPHO = "morpho"


@dataclass(frozen=True, slots=True)
class Line:
    """One asset of a position. Values and prices have eight decimals, in the market's `quote` unit."""

    symbol: str
    decimals: int
    supplied: int
    supplied_value_e8: int
    collateral: bool
    debt: int
    debt_value_e8: int
    price_e8: int
    liquidation_threshold_bps: int
    liquidation_price_e8: int | None


@dataclass(frozen=True, slots=True)
class MarketPosition:
    """Position of an account on one market."""

    protocol: Protocol
    market: str
    quote: str
    lines: tuple[Line, ...]
    collateral_value_e8: int
    debt_value_e8: int
    borrowable_value_e8: int
    health_factor_wad: int
    liquidatable: bool


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


def aave_position(protocol: Protocol, account: AaveAccount) -> MarketPosition:
    """Position on Aave or SparkLend."""
    found = account.position()
    lines = tuple(
        Line(
            symbol=each.symbol,
            decimals=each.decimals,
            supplied=each.supplied,
            supplied_value_e8=each.supplied_usd_e8,
            collateral=each.used_as_collateral,
            debt=each.debt,
            debt_value_e8=each.debt_usd_e8,
            price_e8=each.price_usd_e8,
            liquidation_threshold_bps=each.liquidation_threshold_bps,
            liquidation_price_e8=each.liquidation_price_usd_e8,
        )
        for each in found.assets
    )
    totals = found.totals
    return MarketPosition(
        protocol=protocol,
        market=account.market.title,
        quote="USD",
        lines=lines,
        collateral_value_e8=totals.collateral_usd_e8,
        debt_value_e8=totals.debt_usd_e8,
        borrowable_value_e8=totals.available_usd_e8,
        health_factor_wad=totals.health_factor_wad,
        liquidatable=totals.health_factor_wad < 10**18,
    )


def compound_position(account: CompoundV3Account) -> MarketPosition:
    """Position on one Comet market. Supplied base tokens do not count as collateral."""
    found = account.position()
    lines = tuple(
        Line(
            symbol=each.symbol,
            decimals=each.decimals,
            supplied=each.supplied,
            supplied_value_e8=0 if each.debt else each.value_e8,
            collateral=each.liquidate_collateral_factor_wad > 0,
            debt=each.debt,
            debt_value_e8=each.value_e8 if each.debt else 0,
            price_e8=each.price_e8,
            liquidation_threshold_bps=each.liquidate_collateral_factor_wad // 10**14,
            liquidation_price_e8=each.liquidation_price_e8,
        )
        for each in found.assets
    )
    totals = found.totals
    return MarketPosition(
        protocol=Protocol.COMPOUND,
        market=f"Compound V3 {found.market}",
        quote=found.quote,
        lines=lines,
        collateral_value_e8=totals.collateral_value_e8,
        debt_value_e8=totals.debt_value_e8,
        borrowable_value_e8=max(0, totals.borrow_limit_e8 - totals.debt_value_e8),
        health_factor_wad=totals.liquidation_ratio_wad,
        liquidatable=totals.liquidatable,
    )


def morpho_position(account: MorphoAccount) -> MarketPosition:
    """Position on one Morpho market, in units of the loan token. What the account lends is no collateral."""
    market, data = account.market, account.data()
    value, loan, collateral = market.value_e8, market.loan, market.collateral
    limit, threshold = account.liquidation_price_e36(), market.lltv_wad // 10**14
    lines = []
    if data.collateral:
        worth, edge = value(data.collateral_value), None if limit is None else market.price_e8(limit)
        line = Line(collateral.symbol, collateral.decimals, data.collateral, worth, True, 0, 0, 0, threshold, edge)
        lines.append(replace(line, price_e8=market.price_e8()))
    if data.supplied or data.debt:
        amounts = data.supplied, value(data.supplied), False, data.debt, value(data.debt)
        lines.append(Line(loan.symbol, loan.decimals, *amounts, 10**8, 0, None))
    return MarketPosition(
        protocol=Protocol.MORPHO,
        market=f"Morpho {market.name}",
        quote=loan.symbol,
        lines=tuple(lines),
        collateral_value_e8=value(data.collateral_value),
        debt_value_e8=value(data.debt),
        borrowable_value_e8=value(max(0, data.debt_limit - data.debt)),
        health_factor_wad=data.health_factor_wad,
        liquidatable=data.liquidatable,
    )


def document(fork: Fork, address: bytes, kind: str, positions: list[MarketPosition]) -> dict[str, object]:
    """The JSON object: fixed-point numbers as text, null where undefined."""
    from mayavi.evm.address import checksum
    from mayavi.protocols.health import NO_DEBT

    return {
        "address": checksum(address),
        "chain_id": fork.chain_id,
        "block": fork.block_number,
        "timestamp": fork.timestamp,
        "source": kind,
        "positions": [
            {
                "protocol": each.protocol.value,
                "market": each.market,
                "quote": each.quote,
                "collateral_value_e8": str(each.collateral_value_e8),
                "debt_value_e8": str(each.debt_value_e8),
                "borrowable_value_e8": str(each.borrowable_value_e8),
                "health_factor_wad": None if each.health_factor_wad == NO_DEBT else str(each.health_factor_wad),
                "liquidatable": each.liquidatable,
                "assets": [exact(line) for line in each.lines],
            }
            for each in positions
        ],
    }


def exact(line: Line) -> dict[str, object]:
    """JSON object of one asset."""
    plain = {"symbol", "decimals", "collateral", "liquidation_threshold_bps"}
    return {name: value if name in plain or value is None else str(value) for name, value in asdict(line).items()}


def print_positions(positions: list[MarketPosition]) -> None:
    """Print a table per market with a position, and one line for all other markets."""
    for each in positions:
        if each.lines:
            print(f"\n{each.market}, values in {each.quote}\n")
            print_position(each)
    empty = [each.market for each in positions if not each.lines]
    if empty:
        print()
        print_note(f"nothing on {', '.join(empty)}")


def print_position(found: MarketPosition) -> None:
    """Print the assets of a position, then its totals."""
    from mayavi.evm.units import format_units
    from mayavi.protocols.health import NO_DEBT

    def value(amount_e8: int) -> str:
        return format_units(amount_e8, 8, 2) if amount_e8 else "–"

    def amount(units: int, decimals: int) -> str:
        return format_units(units, decimals, min(decimals, 6)) if units else "–"

    def price(price_e8: int | None) -> str:
        if price_e8 is None:
            return "–"
        return format_units(price_e8, 8, 2 if price_e8 >= 100 * 10**8 else 6)

    columns = [Column("asset", right=False, style="bold")]
    titles = ("supplied", "value", "collateral", "debt", "value", "price", "threshold", "liquidated at")
    columns += [Column(title) for title in titles]
    print_table(
        columns,
        [
            (
                line.symbol,
                amount(line.supplied, line.decimals),
                value(line.supplied_value_e8),
                ("yes" if line.collateral else "no") if line.supplied else "–",
                amount(line.debt, line.decimals),
                value(line.debt_value_e8),
                price(line.price_e8),
                f"{line.liquidation_threshold_bps / 100:g} %" if line.liquidation_threshold_bps else "–",
                price(line.liquidation_price_e8),
            )
            for line in found.lines
        ],
    )
    if not found.collateral_value_e8 and not found.debt_value_e8:  # a pure lender on Compound cannot be liquidated
        return
    owes = found.health_factor_wad != NO_DEBT
    print()
    print_facts(
        [
            ("collateral", f"{format_units(found.collateral_value_e8, 8, 2)} {found.quote}"),
            ("debt", f"{format_units(found.debt_value_e8, 8, 2)} {found.quote}"),
            ("may still borrow", f"{format_units(found.borrowable_value_e8, 8, 2)} {found.quote}"),
            ("health factor", format_units(found.health_factor_wad, 18, 4) if owes else "none: no debt"),
        ]
    )
    if found.liquidatable:
        print("it can be liquidated now")
