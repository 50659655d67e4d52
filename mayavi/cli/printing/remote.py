"""Results of a service as the objects that the summaries of `mayavi run` and `mayavi sweep` print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.cli.console.progress import duration
from mayavi.scenarios.figures.highlights import Highlights
from mayavi.scenarios.figures.reasons import ReasonTally
from mayavi.scenarios.run.result import Kpis, Run
from mayavi.scenarios.sweep.result import PointSummary, Sweep
from mayavi.sim.figure_table import number
from mayavi.sim.rows import KpiRow
from mayavi.statistics.estimate import Estimate
from mayavi.statistics.summary import ESTIMATES, Summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mayavi.api.models.runs import RunDetails, RunSummary
    from mayavi.api.models.sweeps import SweepDetails
    from mayavi.client import Client


def result_of(client: Client, details: RunDetails) -> Run:
    """Return a run of a service with its KPIs and highlights."""
    kpis = [
        KpiRow(each.name, each.value, float("nan") if each.number is None else each.number, each.unit)
        for each in details.kpis
    ]
    return _run(details, Kpis(kpis), _highlights(client, details))


def _run(summary: RunSummary, kpis: Kpis, highlights: Highlights | None = None) -> Run:
    return Run(
        run_id=summary.run_id,
        scenario=summary.scenario,
        chain=summary.chain,
        seed=int(summary.seed),
        steps=summary.steps,
        status="halted" if summary.status == "halted" else "finished",
        digest=summary.digest,
        kpis=kpis,
        timings={"total": summary.seconds or 0.0},
        store_path=Path(),
        sweep_id=summary.sweep_id,
        error=summary.error,
        highlights=highlights,
    )


def _highlights(client: Client, details: RunDetails) -> Highlights:
    """Collect from the rows what the run itself collects on the way."""
    failures, decisions = ReasonTally(), ReasonTally()
    raised: dict[str, int] = {}
    columns = ("status", "reason", "agent")
    for row in client.rows(details.run_id, "actions", where=["status:ne:success"], columns=columns):
        if row["status"] == "failed":
            failures.add(row["reason"])
        elif row["status"] == "declined":
            decisions.add(row["reason"])
        elif row["status"] == "raised":
            raised[row["agent"]] = raised.get(row["agent"], 0) + 1
    liquidations = ["kind:eq:liquidate", "status:eq:success"]
    liquidated = client.rows(details.run_id, "actions", where=liquidations, columns=("details",))
    first = json.loads(liquidated[0]["details"])["borrower"] if liquidated else ""
    return Highlights(failures.counts(), decisions.counts(), raised, first, _price_moves(client, details))


def _price_moves(client: Client, details: RunDetails) -> dict[str, tuple[float, float]]:
    columns = ("subject", "value", "unit")
    before, after = (
        {
            row["subject"]: number(int(row["value"]), row["unit"])
            for row in client.rows(
                details.run_id, "market_snapshots", where=["metric:eq:price", f"step:eq:{step}"], columns=columns
            )
        }
        for step in (-1, details.steps - 1)
    )
    return {subject: (price, after[subject]) for subject, price in before.items() if subject in after}


def last_line(client: Client, run: Run) -> str:
    """Return the digest, the time, and where the run is shown."""
    identity = f"digest {run.digest[:4]}…{run.digest[-4:]} · {run.timings.get('total', 0.0):.1f} s"
    return f"{identity} · {client.url}/app/runs/{run.run_id} shows more"


def sweep_of(client: Client, details: SweepDetails) -> Sweep:
    """Return a finished sweep of a service with its statistics."""
    runs = sorted(client.runs(sweep_id=details.sweep_id, status="finished"), key=lambda run: run.run_id)
    seconds = 0.0
    if details.started_at is not None and details.ended_at is not None:
        seconds = (details.ended_at - details.started_at).total_seconds()
    return Sweep(
        sweep_id=details.sweep_id,
        scenario=details.scenario,
        chain=runs[0].chain if runs else "",
        seeds=tuple(sorted({int(run.seed) for run in runs})),
        runs=tuple(_run(run, Kpis(())) for run in runs),
        points=tuple(point_of(each) for each in details.summary.get("points", ())),
        seconds=seconds,
        resumed=0,
        store_path=Path(),
    )


def last_line_of_sweep(client: Client, sweep: Sweep) -> str:
    """Return the number of runs, the time, and where the sweep is shown."""
    runs = "1 run" if len(sweep.runs) == 1 else f"{len(sweep.runs):,} runs"
    return f"{runs} · {duration(sweep.seconds)} · {client.url}/app/sweeps/{sweep.sweep_id} shows each"


def point_of(data: Mapping[str, Any]) -> PointSummary:
    """Return the statistics of a point of the grid from their JSON data."""
    figures = {
        name: Summary(
            each["count"],
            each["minimum"],
            each["maximum"],
            **{estimate: Estimate(**each[estimate]) for estimate in ESTIMATES},
        )
        for name, each in data["figures"].items()
    }
    return PointSummary(
        tuple(data["overrides"]), figures, {name: each["unit"] for name, each in data["figures"].items()}
    )
