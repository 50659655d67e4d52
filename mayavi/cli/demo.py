"""`mayavi demo`: a borrower on the real Aave V3 contracts."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import Column, print_json, print_note, print_table
from mayavi.cli.console.progress import activity

if TYPE_CHECKING:
    from mayavi.scenarios.demo import DemoRow

REPORTS = Path("data/reports")
_SMALL = frozenset({"step", "block", "timestamp", "transactions", "gas_used"})
"""Fields that every JSON reader keeps exact."""


def demo(
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the ETH price path; the same seed gives the same digest.")
    ] = 7,
    steps: Annotated[int, typer.Option("--steps", min=0, max=1_000, help="Steps of 18,000 blocks.")] = 4,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Supply 1 WETH, borrow 1,700 USDC, and follow the position as interest accrues and the ETH price moves.

    Runs offline on the Ethereum replica: Aave's own bytecode at its mainnet addresses, in this process.
    """
    from mayavi import Fork
    from mayavi.scenarios.demo import CHAIN, play
    from mayavi.sim.world_state import checked_seed

    checked_seed(seed)
    began = time.perf_counter()
    with activity(f"opening the {CHAIN} replica"):
        fork = Fork.replica(CHAIN)
    before = fork.digest()
    rows = list(play(fork, seed, steps))
    digest = fork.digest()
    run_id, problem = stored(rows, seed, (before, digest), store, time.perf_counter() - began)
    if as_json:
        run = {"run_id": run_id, "error": problem} if problem else {"run_id": run_id}
        print_json({"chain": CHAIN, "seed": seed, "digest": digest, **run, "steps": [exact(row) for row in rows]})
        return
    print(f"{CHAIN} replica, block {rows[0].block:,}: supply 1 WETH, borrow 1,700 USDC on Aave V3")
    print()
    print_rows(rows)
    print()
    if min(row.health_factor_wad for row in rows) < 10**18:
        print("below a health factor of 1 anyone may liquidate the position")
    print(f"seed {seed} · digest {digest}")
    print(f"run {run_id}" if run_id else f"not stored: {problem}")
    print_report(rows, seed, digest)
    print_note(f"{time.perf_counter() - began:.2f} s · the same seed gives the same digest on every machine")
    shows = f"`mayavi runs show {run_id}` its rows · " if run_id else ""
    print_note(
        f"next: {shows}`mayavi demo --seed {seed + 1}` another price path · `mayavi world info {CHAIN}` what this world"
        " holds"
    )


def stored(
    rows: list[DemoRow], seed: int, digests: tuple[str, str], store: Path | None, took_s: float
) -> tuple[str | None, str]:
    """Store the demo as a run; return its id, or None and why it could not be stored."""
    from mayavi.errors import MayaviError
    from mayavi.scenarios.demo import store_demo
    from mayavi.sim.store import store_path

    try:
        return store_demo(rows, seed, digests, store_path(store), took_s), ""
    except MayaviError as error:
        if store is not None:  # asked for
            raise
        return None, error.message


def print_report(rows: list[DemoRow], seed: int, digest: str) -> None:
    """Write the report of the demo and print its path; where that is impossible, print why."""
    from mayavi import __version__
    from mayavi.errors import MayaviError
    from mayavi.report.output import write_html
    from mayavi.report.plotly import is_installed
    from mayavi.report.render import render
    from mayavi.report.shapes.demo import DemoStep, demo_page
    from mayavi.scenarios.demo import CHAIN

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


def print_rows(rows: list[DemoRow]) -> None:
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


def exact(row: DemoRow) -> dict[str, int | str]:
    """A row for JSON: fixed-point numbers as text, since JSON readers round large integers."""
    return {name: value if name in _SMALL else str(value) for name, value in asdict(row).items()}
