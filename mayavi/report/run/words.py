"""Sentences and figures that the shapes share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mayavi.report.figure_formats import figure_format
from mayavi.report.numbers import DASH, FORMATS, change, count, exists, usd
from mayavi.report.numbers import short as short_number
from mayavi.report.page import Tile, Tone, Verdict
from mayavi.report.run.parameters import sweep_line
from mayavi.scenarios.figures.formatting import shown
from mayavi.sim.store.database.schema import literal

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows
    from mayavi.sim.rows import KpiRow

HARDLY = 5e-4
"""Relative change of a price below which it counts as none."""


def plural(number: float | None, what: str, many: str = "") -> str:
    """Return `1 account`, `9 accounts`."""
    return f"{count(number)} {what if number == 1 else many or what + 's'}"


def counted(number: float | None, what: str) -> str:
    """Return `9 accounts`; empty if the number is not known."""
    return "" if number is None else plural(number, what)


def money(number: float | None, unit: str = "usd_e8") -> str:
    """Format an amount in dollars, or in ether for markets that count in it."""
    return usd(number) if unit == "usd_e8" else DASH if number is None else f"{short_number(number)} ETH"


def format_of(name: str, unit: str) -> str:
    """The format of a KPI by its name and unit."""
    return figure_format(name, unit).format


def kpi_tile(rows: RunRows, name: str, label: str, *, tone: Tone = "plain", change: str = "", unit: str = "") -> Tile:
    """A tile for a KPI, with the query for its exact value; a dash if the run has no such KPI."""
    query = rows.written(f"SELECT number FROM kpis WHERE run_id = {{run}} AND name = {literal(name)}")
    row = rows.kpis.get(name)
    if row is None:
        return Tile(label, DASH, exact="the run has no such KPI", source=query)
    scaled = row.number / 1e18 if row.unit == "wei" else row.number
    text = FORMATS[format_of(name, row.unit)](scaled)
    shown_unit = unit or {"eth_e8": "ETH", "gas": "gas"}.get(row.unit, "")
    return Tile(
        label, text, unit=shown_unit, change=change, exact=exact_text(row, rows.run.chain), source=query, tone=tone
    )


def exact_text(row: KpiRow, chain: str) -> str:
    """A KPI as the command line prints it; a dash for NaN and infinities."""
    return shown(row, chain) if exists(row.number) else DASH


def price_moves(rows: RunRows) -> list[tuple[str, str, float]]:
    """Tokens with their oracle's or pool's change, as (name, kind, change), the largest move first."""
    moves = []
    for name, row in rows.kpis.items():
        kind, _, of = name.partition(".")
        if kind in {"oracle_change", "price_impact", "pool_change"} and exists(row.number):
            moves.append((of, kind, row.number))
    return sorted(moves, key=lambda move: (-abs(move[2]), move[0]))


def moved(name: str, share: float, against: str = "") -> str:
    """Say how a price moved: `WETH falls 28.8 %`, `DAI rises 6.80 % against USDC`."""
    other = f" against {against}" if against else ""
    if not share:
        return f"{name} does not move{other}"
    if abs(share) < HARDLY:
        return f"{name} hardly moves{other}"
    return f"{name} {'falls' if share < 0 else 'rises'} {change(share).lstrip('+−')}{other}"


def moved_most(rows: RunRows, *, oracle: bool = True) -> str:
    """Say which price moved most, oracles first; a pool's price is against the token that it quotes in."""
    moves = price_moves(rows)
    if oracle:
        moves = [move for move in moves if move[1] == "oracle_change"] or moves
    if not moves:
        return "Prices are not recorded"
    if abs(moves[0][2]) < 5e-5:
        return "Prices hardly move"
    return moved_pair(moves[0][0], moves[0][2])


def moved_pair(of: str, share: float) -> str:
    """Say how the price of a token or of a pool such as `DAI/USDC.100` moved."""
    base, _, rest = of.partition("/")
    return moved(base, share, rest.rpartition(".")[0] or rest)


def ended(rows: RunRows, verdict: Verdict) -> Verdict:
    """The verdict, or for a run that did not finish, that it did not."""
    run = rows.run
    if run.status == "finished":
        return verdict
    done = f"{run.steps_done or 0:,} of {run.steps:,} steps"
    reason = run.error.strip().splitlines()[-1] if run.error.strip() else ""
    if run.status == "halted":
        why = f": {reason}" if reason else ""
        return Verdict(f"The run halted after {done}{why}. {verdict.sentence}", "HALTED", "bad", verdict.interval)
    word = "is still running" if run.status == "running" else "was interrupted"
    return Verdict(f"The run {word}: {done} are recorded, and its KPIs are not known yet.", run.status.upper(), "warn")


def after_gas(rows: RunRows) -> str:
    """Say that a profit is after gas, or that gas costs nothing in the run."""
    return "; gas is free in this run" if rows.gas_is_free else " after gas"


def at_least(number: float) -> str:
    """Write a lower bound with three significant digits, rounded down: `at 1.56 or above` for 1.5676."""
    if number <= 0:
        return f"{number:.3g}"
    scale = 10.0 ** (2 - math.floor(math.log10(number)))
    return f"{math.floor(number * scale + 1e-9) / scale:.3g}"


def one_seed(rows: RunRows) -> str:
    """Say that a single run has no interval, and how to get one."""
    if rows.run.sweep_id:
        return f"One run, seed {rows.run.seed}: it has no interval. Its sweep `{rows.run.sweep_id}` has one."
    command = sweep_line(rows.run)
    hint = f" `{command}` gives one." if command else ""
    return f"One run, seed {rows.run.seed}: it has no interval.{hint}"
