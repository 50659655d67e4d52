"""Any other run: prices, trades and figures, without a question of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.numbers import count
from mayavi.report.page import Chart, Tile, Verdict
from mayavi.report.run.lending import debt_section, rates_section
from mayavi.report.run.own_contracts import change_of, chart_of, own_figures
from mayavi.report.run.pools import pool_section
from mayavi.report.run.prices import price_chart, price_section, quoted
from mayavi.report.run.trading import sales_section
from mayavi.report.run.words import ended, kpi_tile, moved_pair, one_seed, plural, price_moves
from mayavi.report.shapes.shape import Answer, Shape

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

NAMES = (
    ("actions", "Actions"),
    ("failed", "Failed actions"),
    ("transactions", "Transactions"),
    ("arbitrage_profit", "Arbitrage profit"),
    ("gas_used", "Gas used"),
)


def matches(rows: RunRows) -> bool:
    """Always: it comes last."""
    del rows
    return True


def answer(rows: RunRows) -> Answer:
    """Compose the page of a run without a known shape."""
    return Answer(
        ended(rows, verdict(rows)),
        tiles(rows),
        summary(rows),
        hero(rows),
        (price_section(rows), sales_section(rows), pool_section(rows), debt_section(rows), rates_section(rows)),
    )


def verdict(rows: RunRows) -> Verdict:
    """Say what moved most."""
    ((actions,),) = rows.sql("SELECT count(*) FROM actions WHERE run_id = {run}")
    if not actions and not rows.all_steps:
        return Verdict("The run recorded nothing: no actions and no market figures.", "EMPTY", "plain")
    moves = price_moves(rows)
    own = next((change_of(rows, *each) for each in own_figures(rows)), "")
    what = moved_pair(moves[0][0], moves[0][2]) if moves else own or "no price was recorded"
    return Verdict(f"In {plural(actions, 'action')}, {what}.", "FINISHED", "plain", one_seed(rows))


def tiles(rows: RunRows) -> tuple[Tile, ...]:
    """Counts of the run, and its largest price moves."""
    found = [kpi_tile(rows, name, label) for name, label in NAMES if name in rows.kpis]
    found += [kpi_tile(rows, f"{kind}.{of}", f"Price of {of}") for of, kind, _ in price_moves(rows)[:2]]
    return tuple(found[:6])


def hero(rows: RunRows) -> Chart | None:
    """The first price that was recorded, or else the first figure of the scenario's own contracts."""
    named = quoted(rows)
    if named:
        return price_chart(rows, named[0], hero=True)
    return next((chart_of(rows, *each) for each in own_figures(rows)), None)


def summary(rows: RunRows) -> tuple[str, ...]:
    """How many actions there were and what prices did."""
    ((actions, failed),) = rows.sql(
        "SELECT count(*), count(*) FILTER (status IN ('failed', 'raised')) FROM actions WHERE run_id = {run}"
    )
    steps = plural(rows.run.steps_done or 0, "step")
    sentences = [f"The run has {plural(actions, 'action')} in {steps}; {count(failed)} failed."]
    sentences += [f"{moved_pair(of, share)}." for of, _, share in price_moves(rows)[:3]]
    return tuple(sentences)


SHAPE = Shape("market", matches, answer)
