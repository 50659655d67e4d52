"""Result of a run: KPIs in memory, rows in the store, tables in notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.scenarios.figures.formatting import shown, title_of
from mayavi.scenarios.figures.notes import notes
from mayavi.scenarios.figures.tables import html_notes, html_table
from mayavi.sim.rows import AccountRow, ActionRow, KpiRow, RunStatus, SnapshotRow

if TYPE_CHECKING:
    from mayavi.report.notebook import Report
    from mayavi.scenarios.figures.highlights import Highlights
    from mayavi.sim.store import Rows, Store


class Kpis(Mapping[str, float]):
    """KPIs of a run by name, as floats in their unit: dollars, tokens, ratios, counts.

    `exact(name)` returns the row of a KPI, whose `value` is an exact integer.
    """

    def __init__(self, rows: Sequence[KpiRow]) -> None:
        self._rows = {row.name: row for row in rows}

    def exact(self, name: str) -> KpiRow:
        """Return the row of a KPI."""
        return self._rows[name]

    def rows(self) -> tuple[KpiRow, ...]:
        """Return all rows, in the order of the run."""
        return tuple(self._rows.values())

    def numbers(self) -> dict[str, float]:
        """Return all KPIs as a dictionary, whose lookups are faster."""
        return {name: row.number for name, row in self._rows.items()}

    def __getitem__(self, name: str) -> float:
        return self._rows[name].number

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Kpis({', '.join(f'{row.name}: {shown(row)}' for row in self.rows())})"

    def _repr_html_(self) -> str:
        return html_table(("figure", "value"), [(title_of(row.name), shown(row)) for row in self.rows()])


@dataclass(frozen=True)
class Run:
    """A run that has ended and is stored.

    ```python
    run = mayavi.run("depeg_cascade", chain="base", seed=7)
    run.kpis["bad_debt"], run.digest
    run.actions.df()
    ```
    """

    run_id: str
    scenario: str
    chain: str
    seed: int
    steps: int
    status: RunStatus
    digest: str
    """Identifies its rows: the same scenario, seed and world give the same digest."""
    kpis: Kpis
    timings: Mapping[str, float]
    store_path: Path
    sweep_id: str | None = None
    error: str = ""
    specialise: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What was replayed: calls, hits, paths, misses by guard; empty for runs stored by earlier versions."""
    highlights: Highlights | None = field(default=None, repr=False, compare=False)

    @property
    def store(self) -> Store:
        """The store that holds its rows."""
        from mayavi.sim.store import Store

        return Store(self.store_path)

    @property
    def actions(self) -> Rows[ActionRow]:
        """All actions in order of execution: iterate, or `.df()`."""
        return self.store.actions(self.run_id)

    @property
    def snapshots(self) -> Rows[SnapshotRow]:
        """Market figures after every step, one per row: iterate, or `.df()`."""
        return self.store.snapshots(self.run_id)

    @property
    def accounts(self) -> Rows[AccountRow]:
        """Borrowing accounts after the last step, with the reason why an unhealthy one is left: iterate, or `.df()`."""
        return self.store.accounts(self.run_id)

    @property
    def notes(self) -> list[str]:
        """Warnings about its KPIs; empty if everything went as the scenario describes."""
        return notes(self.kpis)

    def report(self) -> Report:
        """Build its report: shown inline by notebooks, `.save("report.html")` and `.pdf("report.pdf")` write it."""
        from mayavi.report.notebook import run_report

        return run_report(self.store, self.run_id)

    def _repr_html_(self) -> str:
        from html import escape

        head = f"{self.scenario} · {self.chain} · seed {self.seed} · run {self.run_id}"
        tail = f"{self.steps:,} steps · {self.status} · digest {self.digest[:16]}…"
        return f"<b>{escape(head)}</b>{self.kpis._repr_html_()}{html_notes(self.notes)}<p>{escape(tail)}</p>"
