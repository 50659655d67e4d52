"""Write the tables of `docs/concepts/intervals.md`: how often every kind of interval covers the truth.

    PYTHONPATH=. .venv/bin/python tools/measure_coverage.py

Takes several minutes. Every cell has its own seeded generator: the same cell gives the same numbers wherever it is
computed, and the suite computes some again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from coverage_tables.backtests import historical_table, simulated_table, withheld_table
from coverage_tables.estimates import limits_table, stopping_table, summary_table
from coverage_tables.evaluations import evaluation_table

PAGE = Path(__file__).parents[1] / "docs" / "concepts" / "intervals.md"

TABLES: dict[str, Callable[[], list[str]]] = {
    "sweeps": summary_table,
    "limits": limits_table,
    "evaluations": evaluation_table,
    "simulated": simulated_table,
    "historical": historical_table,
    "withheld": withheld_table,
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
