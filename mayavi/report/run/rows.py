"""`RunRows`: the rows of one run, aggregated by SQL in the store.

Queries run in DuckDB, so that a run of a million rows costs what its aggregates cost. A query that a reader may repeat
is written in full, with the id of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mayavi.sim.store.amounts import decimals_of
from mayavi.sim.store.database.row_conversion import kpi_row
from mayavi.sim.store.database.schema import literal
from mayavi.sim.store.database.views import reading

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from mayavi.report.charts.axes import Xs
    from mayavi.sim.rows import KpiRow
    from mayavi.sim.store import RunRecord, Store

_TABLES = ("actions", "market_snapshots", "kpis", "accounts")
MOST_POINTS = 600
"""Steps that a chart shows at most; of longer runs every n-th is drawn, and sums are over n steps."""


class RunRows:
    """A stored run and its aggregates. Use `opened(store, run_id)`, which keeps one connection."""

    def __init__(self, store: Store, run: RunRecord, connection: DuckDBPyConnection) -> None:
        self.store, self.run = store, run
        self._connection = connection
        self._id = literal(run.run_id)

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query; `{run}` stands for the quoted id of the run."""
        return self._connection.execute(self.written(query)).fetchall()

    def written(self, query: str) -> str:
        """Return the query as a reader may run it."""
        return query.replace("{run}", self._id)

    @cached_property
    def kpis(self) -> dict[str, KpiRow]:
        """KPIs by name, in the order of the run."""
        answer = self._connection.execute(self.written("SELECT * FROM kpis WHERE run_id = {run} ORDER BY seq"))
        names = [column[0] for column in answer.description or ()]
        rows = [kpi_row(dict(zip(names, row, strict=True))) for row in answer.fetchall()]
        return {row.name: row for row in rows}

    def kpi(self, name: str) -> float | None:
        """The number of a KPI; None if the run has none."""
        row = self.kpis.get(name)
        return None if row is None else row.number

    @cached_property
    def decimals(self) -> dict[str, int]:
        """Decimals by symbol, as far as the run recorded figures of the token."""
        return decimals_of(self.store, self.run.run_id)

    # -- time ---------------------------------------------------------------------------------------------------------

    @cached_property
    def all_steps(self) -> list[tuple[int, int, int]]:
        """Step, block and timestamp of every recorded step, step −1 (before the first) included."""
        rows = self.sql(
            "SELECT step, max(block_number), max(timestamp) FROM market_snapshots WHERE run_id = {run}"
            " GROUP BY step ORDER BY step"
        ) or self.sql(
            "SELECT step, max(block_number), max(timestamp) FROM actions WHERE run_id = {run}"
            " GROUP BY step ORDER BY step"
        )
        return [(int(step), int(block or 0), int(moment or 0)) for step, block, moment in rows]

    @cached_property
    def stride(self) -> int:
        """Steps between two points of a chart."""
        return 1 + max(0, len(self.all_steps) - 1) // MOST_POINTS

    @cached_property
    def timeline(self) -> list[tuple[int, int, int]]:
        """The steps that charts show: all, or every n-th and the last."""
        steps, stride = self.all_steps, self.stride
        last = steps[-1][0] if steps else -1
        return [each for each in steps if each[0] % stride == stride - 1 or each[0] in {-1, last}]

    @cached_property
    def x(self) -> Xs:
        """The time axis of the charts of this run."""
        from mayavi.report.charts.axes import Xs

        line = self.timeline
        return Xs(
            [moment for _, _, moment in line],
            time=True,
            steps=[step for step, _, _ in line],
            blocks=[block for _, block, _ in line],
        )

    @property
    def sample(self) -> str:
        """The sample size of a time chart in words."""
        done, stride = sum(step >= 0 for step, _, _ in self.all_steps), self.stride
        steps = f"{done:,} step{'' if done == 1 else 's'}"
        return f"{steps}, every {_ordinal(stride)} drawn" if stride > 1 else steps

    def binned(self) -> str:
        """SQL for the drawn step that a step of `actions` belongs to."""
        last = max((step for step, _, _ in self.all_steps), default=0)
        return f"least(step // {self.stride} * {self.stride} + {self.stride - 1}, {last})"

    # -- figures ------------------------------------------------------------------------------------------------------

    @cached_property
    def subjects(self) -> dict[str, set[str]]:
        """Metrics by subject of the market figures."""
        found: dict[str, set[str]] = {}
        for subject, metric in self.sql(
            "SELECT DISTINCT subject, metric FROM market_snapshots WHERE run_id = {run} ORDER BY ALL"
        ):
            found.setdefault(subject, set()).add(metric)
        return found

    @cached_property
    def populations(self) -> list[str]:
        """Names of the groups of borrowing accounts."""
        return [subject for subject, metrics in self.subjects.items() if "accounts_with_debt" in metrics]

    @cached_property
    def priced_in_ether(self) -> set[str]:
        """Subjects whose oracle price is in ether."""
        return {
            subject
            for (subject,) in self.sql(
                "SELECT DISTINCT subject FROM market_snapshots WHERE run_id = {run} AND metric = 'price'"
                " AND unit = 'eth_e8'"
            )
        }

    def series(self, subject: str, metric: str) -> list[float | None]:
        """A market figure over the timeline."""
        return self._over_steps(
            "SELECT step, max(number) FROM market_snapshots WHERE run_id = {run}"
            f" AND subject = {literal(subject)} AND metric = {literal(metric)} GROUP BY step"
        )

    def total(self, metric: str) -> list[float | None]:
        """The sum of a figure over all groups of accounts."""
        if not self.populations:
            return []
        named = ", ".join(map(literal, self.populations))
        return self._over_steps(
            "SELECT step, sum(number) FROM (SELECT step, subject, max(number) AS number FROM market_snapshots"
            f" WHERE run_id = {{run}} AND metric = {literal(metric)} AND subject IN ({named}) GROUP BY ALL)"
            " GROUP BY step"
        )

    def summed(self, value: str, where: str, *, cumulative: bool = False) -> list[float | None]:
        """A sum over actions by drawn step, such as `summed("1", "kind = 'sell'")`; zero where there are none."""
        found = self._over_steps(
            f"SELECT {self.binned()} AS step, sum({value})::DOUBLE FROM actions"
            f" WHERE run_id = {{run}} AND {where} GROUP BY 1"
        )
        values: list[float | None] = []
        total = 0.0
        for each in found:
            total = total + (each or 0.0) if cumulative else (each or 0.0)
            values.append(total)
        return values

    def least(self, value: str, where: str) -> list[float | None]:
        """The least of a value of actions by drawn step; None where there are none."""
        return self._over_steps(
            f"SELECT {self.binned()} AS step, min({value})::DOUBLE FROM actions WHERE run_id = {{run}} AND {where}"
            " GROUP BY 1"
        )

    @cached_property
    def gas_is_free(self) -> bool:
        """Whether no action of the run paid a fee."""
        ((fees,),) = self.sql("SELECT coalesce(sum(fee_wei_number), 0) FROM actions WHERE run_id = {run}")
        return not fees

    def _over_steps(self, query: str) -> list[float | None]:
        found = dict(self.sql(query))
        return [found.get(step) for step, _, _ in self.timeline]


@contextmanager
def opened(store: Store, run_id: str) -> Iterator[RunRows]:
    """Yield the rows of a run over one connection; raise `UnknownRun` for an unknown id."""
    run = store.run(run_id)
    with reading(store.path) as connection:
        for table in _TABLES:  # once, because dozens of queries follow
            connection.execute(
                f"CREATE TEMP TABLE run_{table} AS SELECT * FROM {table} WHERE run_id = {literal(run.run_id)}"
            )
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM run_{table}")
        yield RunRows(store, run, connection)


def detail(key: str, scale: str = "1e8") -> str:
    """SQL for a number in the details of an action."""
    return f"(TRY_CAST(json_extract_string(details, '$.{key}') AS DOUBLE) / {scale})"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in {11, 12, 13} else 0, "th")
    return f"{number}{ending}"
