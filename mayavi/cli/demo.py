"""`mayavi demo`: a borrower on the real Aave V3 contracts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import Column, print_json, print_note, print_table
from mayavi.cli.console.progress import activity

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

CHAIN = "ethereum"
STEP_BLOCKS = 18_000  # two and a half days
LARGEST_MOVE_BPS = 600  # largest price move of a step, up or down
COLLATERAL_WEI = 10**18
REPORTS = Path("data/reports")
BORROWED_USDC_E6 = 1_700 * 10**6


@dataclass(frozen=True, slots=True)
class Row:
    """State of the market and the position after a step, in exact integers."""

    step: int
    block: int
    price_usd_e8: int
    health_factor_wad: int
    debt_usdc_e6: int
    supply_rate_ray: int
    borrow_rate_ray: int


def demo(
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the ETH price path; the same seed gives the same digest.")
    ] = 7,
    steps: Annotated[int, typer.Option("--steps", min=0, max=1_000, help="Steps of 18,000 blocks.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Supply 1 WETH, borrow 1,700 USDC, and follow the position as interest accrues and the ETH price moves.

    Runs offline on the Ethereum replica: Aave's own bytecode at its mainnet addresses, in this process.
    """
    from mayavi import Fork

    began = time.perf_counter()
    with activity(f"opening the {CHAIN} replica"):
        fork = Fork.replica(CHAIN)
    rows = list(play(fork, seed, steps))
    digest = fork.digest()
    if as_json:
        print_json({"chain": CHAIN, "seed": seed, "digest": digest, "steps": [exact(row) for row in rows]})
        return
    print(f"{CHAIN} replica, block {rows[0].block:,}: supply 1 WETH, borrow 1,700 USDC on Aave V3")
    print()
    print_rows(rows)
    print()
    if min(row.health_factor_wad for row in rows) < 10**18:
        print("below a health factor of 1 anyone may liquidate the position")
    print(f"seed {seed} · digest {digest}")
    print_report(rows, seed, digest)
    print_note(f"{time.perf_counter() - began:.2f} s · the same seed gives the same digest on every machine")
    print_note(
        f"next: `mayavi demo --seed {seed + 1}` another price path · `mayavi world info {CHAIN}` what this world holds"
    )


def print_report(rows: list[Row], seed: int, digest: str) -> None:
    """Write the report of the demo and print its path; where that is impossible, print why."""
    from mayavi import __version__
    from mayavi.errors import MayaviError
    from mayavi.report.output import write_html
    from mayavi.report.plotly import is_installed
    from mayavi.report.render import render
    from mayavi.report.shapes.demo import DemoStep, demo_page

    if not is_installed():  # a demo downloads nothing for a picture
        print_note("no report: `mayavi setup` installs what draws its charts")
        return
    steps = [
        DemoStep(
            row.step,
            row.block,
            row.price_usd_e8 / 10**8,
            row.health_factor_wad / 10**18,
            row.debt_usdc_e6 / 10**6,
            row.borrow_rate_ray / 10**27,
        )
        for row in rows
    ]
    try:
        page = render(demo_page(steps, seed, CHAIN, digest, __version__))
        print(f"report {write_html(page, REPORTS / f'demo-seed-{seed}.html')}")
    except MayaviError as error:
        print_note(f"no report: {error}")


def play(fork: Fork, seed: int, steps: int) -> Iterator[Row]:
    """Open the position, then advance time and price `steps` times; yield a row after each, the opening first."""
    from random import Random

    from mayavi.evm.hashing import keccak_text
    from mayavi.protocols import AaveV3, PriceFeed

    rng = Random(seed)
    market = AaveV3(fork)
    feed = PriceFeed(fork, "Chainlink.ETH/USD")
    borrower = market.account(keccak_text("mayavi demo borrower")[-20:])

    fork.deal("WETH", borrower.address, COLLATERAL_WEI)
    borrower.supply("WETH", COLLATERAL_WEI)
    borrower.borrow("USDC", BORROWED_USDC_E6)
    for step in range(steps + 1):
        if step:
            fork.mine(STEP_BLOCKS)
            move_bps = rng.randint(-LARGEST_MOVE_BPS, LARGEST_MOVE_BPS)
            feed.move(feed.answer * (10_000 + move_bps) // 10_000)
        yield Row(
            step=step,
            block=fork.block_number,
            price_usd_e8=market.price_usd_e8("WETH"),
            health_factor_wad=borrower.data().health_factor_wad,
            debt_usdc_e6=borrower.debt("USDC"),
            supply_rate_ray=market.reserve("WETH").supply_rate_ray,
            borrow_rate_ray=market.reserve("USDC").variable_borrow_rate_ray,
        )


def print_rows(rows: list[Row]) -> None:
    """Print the rows as a table."""
    from mayavi.evm.units import format_units

    columns = [
        Column("step"),
        Column("block"),
        Column("ETH price"),
        Column("health factor", style="bold"),
        Column("debt, USDC"),
        Column("supply APR"),
        Column("borrow APR"),
    ]
    print_table(
        columns,
        [
            (
                str(row.step),
                f"{row.block:,}",
                f"${format_units(row.price_usd_e8, 8, 2)}",
                format_units(row.health_factor_wad, 18, 4),
                format_units(row.debt_usdc_e6, 6, 4),
                f"{format_units(row.supply_rate_ray * 100, 27, 2)} %",
                f"{format_units(row.borrow_rate_ray * 100, 27, 2)} %",
            )
            for row in rows
        ],
    )


def exact(row: Row) -> dict[str, int | str]:
    """A row for JSON: fixed-point numbers as text, since JSON readers round large integers."""
    return {name: value if name in {"step", "block"} else str(value) for name, value in asdict(row).items()}
