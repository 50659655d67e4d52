"""Write the tables of `docs/concepts/intervals.md`: how often every kind of interval covers the truth.

    PYTHONPATH=. .venv/bin/python tools/measure_coverage.py

Takes several minutes. The suite computes some cells again and compares.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from tests.statistics.coverage_experiments import (
    COUNTS,
    DISTRIBUTIONS,
    HEAVY,
    LOGNORMAL,
    MOSTLY_ZERO,
    NORMAL,
    RARE,
    STATISTICS,
    Coverage,
    Distribution,
    block_coverage,
    improvement_coverage,
    interquartile_coverage,
    pooled_coverage,
    ratio_coverage,
    stopping_coverage,
    summary_coverage,
)

PAGE = Path(__file__).parents[1] / "docs" / "concepts" / "intervals.md"


def shown(cell: Coverage) -> str:
    """Format a cell: coverage in percent, `one side` or the share of shown intervals if not all are complete."""
    if math.isnan(cell.covered):
        return "–"
    text = f"{cell.covered * 100:.1f}"
    if not cell.complete:
        return f"{text} (one side)"
    if cell.complete < 0.995:
        return f"{text} ({cell.complete * 100:.0f} % {'of samples' if cell.shown == cell.complete else 'two-sided'})"
    return text


def row(*cells: str) -> str:
    """Line of a table."""
    return f"| {' | '.join(cells)} |"


def summary_row(distribution: Distribution, count: int) -> str:
    """Line of the table of sweeps."""
    found = summary_coverage(distribution, count)
    return row(distribution.name, f"{count:,}", *(shown(found[name]) for name in STATISTICS))


def summary_table() -> list[str]:
    """Table of the intervals of a sweep."""
    lines = [row("figure", "runs", "p5", "p50", "p95", "P(> 0)", "mean", "ES"), row(*["---"] * 8)]
    return lines + [summary_row(each, count) for each in DISTRIBUTIONS for count in COUNTS]


def limits_table() -> list[str]:
    """Table of means that the method does not cover."""
    lines = [row("figure", *(f"{count:,} runs" for count in COUNTS[1:])), row(*["---"] * 5)]
    for each in (HEAVY, RARE):
        cells = [summary_coverage(each, count, names=("mean",))["mean"] for count in COUNTS[1:]]
        lines.append(row(f"mean, {each.name}", *(shown(cell) for cell in cells)))
    return lines


def evaluation_table() -> list[str]:
    """Table of the intervals of evaluations and simulated backtests."""
    lines = [row("interval", *(f"{count:,} episodes" for count in COUNTS)), row(*["---"] * 6)]
    for each in DISTRIBUTIONS:
        cells = [shown(interquartile_coverage(each, count)) for count in COUNTS]
        lines.append(row(f"interquartile mean, {each.name}", *cells))
    cells = [shown(improvement_coverage(count)) for count in COUNTS]
    lines.append(row("probability of improvement, 30 % ties", *cells))
    lines.append(row("ratio of means, lognormal", *(shown(ratio_coverage(count)) for count in COUNTS)))
    for trainings in (2, 5):
        for spread in (0.1, 1.0):
            cells = [shown(pooled_coverage(trainings, count, spread)) for count in COUNTS]
            lines.append(row(f"mean of {trainings} trainings that differ by {spread:g}, lognormal episodes", *cells))
    cells = [shown(pooled_coverage(5, count, 0.3, interquartile=True)) for count in COUNTS]
    lines.append(row("interquartile mean of 5 trainings, normal episodes", *cells))
    return lines


def block_table() -> list[str]:
    """Table of the block bootstrap of historical backtests."""
    lengths = {1_344: 1_000, 4_368: 500, 8_760: 300}
    lines = [
        row("mean hourly return", *(f"{hours:,} hours, {hours // 168} blocks" for hours in lengths)),
        row(*["---"] * 4),
    ]
    for memory in (0.0, 0.5, 0.95):
        cells = [shown(block_coverage(hours, memory, number)) for hours, number in lengths.items()]
        lines.append(row(f"autocorrelation {memory:g}", *cells))
    return lines


def stopping_table() -> list[str]:
    """Table of sweeps that stop at a target."""
    lines = [row("target", "figure", "covered at the stop", "median runs"), row(*["---"] * 4)]
    for target, distribution in (
        ("VaR ±20%", LOGNORMAL),
        ("VaR ±10%", LOGNORMAL),
        ("VaR ±20%", MOSTLY_ZERO),
        ("mean(bad_debt) ±20%", LOGNORMAL),
        ("mean(bad_debt) ±10%", LOGNORMAL),
        ("mean(bad_debt) ±20%", MOSTLY_ZERO),
        ("VaR ±10%", NORMAL),
    ):
        covered, runs = stopping_coverage(distribution, target, 1_000)
        lines.append(row(target, distribution.name, shown(covered), f"{runs:,.0f}"))
    return lines


TABLES = {
    "sweeps": summary_table,
    "limits": limits_table,
    "evaluations": evaluation_table,
    "blocks": block_table,
    "stopping": stopping_table,
}


def with_table(text: str, name: str, lines: list[str]) -> str:
    """Replace the table between the markers of `name`."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, _, rest = text.partition(begin)
    return "\n".join([f"{head}{begin}", "", *lines, "", f"{end}{rest.partition(end)[2]}"])


def main() -> None:
    """Measure the named tables, or all, and write them."""
    for name in sys.argv[1:] or TABLES:
        lines = TABLES[name]()
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), name, lines), encoding="utf-8")
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
