"""The page of `mayavi demo`: one borrower, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mayavi.report.charts.axes import Axis, Xs
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change, exact_usd, percent
from mayavi.report.page import Chart, Column, Page, Provenance, Section, Table, Tile, Verdict


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step of the demo: block, ETH price, health factor, debt in USDC, yearly borrow rate."""

    step: int
    block: int
    price_usd: float
    health_factor: float
    debt_usdc: float
    borrow_rate: float


def demo_page(steps: Sequence[DemoStep], seed: int, chain: str, digest: str, version: str) -> Page:
    """Build the page from the steps, the opening first."""
    first, last = steps[0], steps[-1]
    low = min(steps, key=lambda each: (each.health_factor, each.step))
    safe = low.health_factor >= 1
    move = last.price_usd / first.price_usd - 1
    ending = "stays above 1" if safe else "falls below 1: anyone may liquidate it"
    sentence = (
        f"ETH moves {change(move)}, and the position's health factor {ending} ({low.health_factor:.3g} at its lowest)."
    )
    return Page(
        title=f"demo on {chain}, seed {seed}",
        subject=f"demo · 1 WETH supplied, 1,700 USDC borrowed on Aave V3 · {chain} · seed {seed}",
        verdict=Verdict(sentence, "SOLVENT" if safe else "LIQUIDATABLE", "good" if safe else "bad"),
        tiles=(
            Tile("Lowest health factor", f"{low.health_factor:.3g}", change=f"after step {low.step}"),
            Tile("ETH price at the end", exact_usd(last.price_usd), change=f"{change(move)} from the start"),
            Tile("Debt at the end", f"{last.debt_usdc:,.2f}", unit="USDC"),
            Tile("Borrow rate", percent(last.borrow_rate), change="a year, variable"),
        ),
        summary=(
            f"A borrower supplies 1 WETH and borrows 1,700 USDC on Aave's own bytecode in block {first.block:,}.",
            f"In {len(steps) - 1} steps interest adds {last.debt_usdc - first.debt_usdc:,.2f} USDC to the debt.",
            f"ETH goes from {exact_usd(first.price_usd)} to {exact_usd(last.price_usd)}.",
        ),
        hero=_health(steps, low),
        sections=(Section("steps", "Step by step", (_price(steps), _table(steps))),),
        provenance=Provenance(
            (("seed", str(seed)), ("digest", digest), ("mayavi", version), ("chain", f"{chain}, from a replica")),
            f"mayavi demo --seed {seed} --steps {len(steps) - 1}",
        ),
    )


def _health(steps: Sequence[DemoStep], low: DemoStep) -> Chart:
    return lines(
        f"The health factor is {low.health_factor:.3g} at its lowest, after step {low.step}",
        f"Health factor of the position by block; {len(steps)} points.",
        _blocks(steps),
        [Line("health factor", [each.health_factor for each in steps], markers=True)],
        Axis("health factor", ".3~f"),
        marks=[(1.0, "liquidation below 1")],
        wide=True,
    )


def _price(steps: Sequence[DemoStep]) -> Chart:
    share = steps[-1].price_usd / steps[0].price_usd - 1
    return lines(
        f"ETH moves {change(share)} from start to end",
        f"Price of ETH at Aave's oracle by block; {len(steps)} points.",
        _blocks(steps),
        [Line("ETH", [each.price_usd for each in steps], markers=True)],
        Axis("", "usd"),
    )


def _blocks(steps: Sequence[DemoStep]) -> Xs:
    return Xs([each.block for each in steps], label="block", format="count")


def _table(steps: Sequence[DemoStep]) -> Table:
    columns = (
        Column("step", "count"),
        Column("block", "count"),
        Column("ETH price", "exact_usd"),
        Column("health factor", "number"),
        Column("debt", "number", "USDC"),
        Column("borrow rate", "exact_percent"),
    )
    rows = tuple(
        (each.step, each.block, each.price_usd, each.health_factor, each.debt_usdc, each.borrow_rate) for each in steps
    )
    return Table(columns, rows, "All steps")
