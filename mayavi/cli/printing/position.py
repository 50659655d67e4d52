"""Print the positions of an account, as tables or as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from mayavi.cli.console.output import Column, print_facts, print_note, print_table

if TYPE_CHECKING:
    from mayavi.cli.positions.position import Line, MarketPosition
    from mayavi.evm.fork import Fork


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
