"""Vaults: what a share is worth over time, and which markets the assets are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change, short
from mayavi.report.page import Block, Section

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

MOST_VAULTS = 3
_IN = "in_"


def vault_section(rows: RunRows) -> Section | None:
    """Share price and allocation of every vault of the run."""
    vaults = [subject for subject, metrics in rows.subjects.items() if "share_price" in metrics][:MOST_VAULTS]
    blocks = [block for vault in vaults for block in (_share_price(rows, vault), _allocation(rows, vault)) if block]
    if not blocks:
        return None
    lead = "Depositors own shares of a vault. Interest raises their price, and bad debt of a market lowers it at once."
    return Section("vaults", "Vaults", tuple(blocks), lead)


def _share_price(rows: RunRows, vault: str) -> Block | None:
    values = rows.series(vault, "share_price")
    known = [value for value in values if value is not None]
    if not known or not known[0]:
        return None
    name, share = vault.partition(".")[2] or vault, known[-1] / known[0] - 1
    moved = f"{'loses' if share < 0 else 'gains'} {change(share).lstrip('+−')}" if share else "keeps its price"
    return lines(
        f"A share of {name} {moved}",
        f"Price of a share in the vault's asset, after its fee; {rows.sample}.",
        rows.x,
        [Line("share price", values, step=True)],
        Axis("", "short"),
        source=f"Market figures of {vault} (table market_snapshots).",
    )


def _allocation(rows: RunRows, vault: str) -> Block | None:
    metrics = sorted(each for each in rows.subjects[vault] if each.startswith(_IN))
    series = [Line(metric.removeprefix(_IN), rows.series(vault, metric)) for metric in metrics[:5]]
    used = [line for line in series if any(line.values)]
    if not used:
        return None
    name = vault.partition(".")[2] or vault
    ends = {line.label: next((value for value in reversed(line.values) if value is not None), 0.0) for line in used}
    largest = max(ends, key=lambda label: (ends[label], label))
    return lines(
        f"{name} ends with {short(ends[largest])} in {largest}",
        f"Assets of the vault in each market, interest and losses included; {rows.sample}.",
        rows.x,
        used,
        Axis("", "short", zero=True),
        source=f"Market figures of {vault} (table market_snapshots).",
    )
