"""Crash ETH on the real Aave V3 and Uniswap V3 contracts and estimate the bad debt, with intervals.

python examples/stress_test.py
"""

import tempfile
from pathlib import Path

import mayavi

store = Path(tempfile.mkdtemp()) / "runs.duckdb"  # the default is data/runs/runs.duckdb
small = {"agents.borrowers.count": 20, "prices.WETH.at": 1}

run = mayavi.run("depeg_cascade", chain="base", seed=7, steps=6, overrides=small, store=store)
print(f"run {run.run_id} on {run.chain}: {run.kpis['liquidated']:,.0f} USD liquidated, digest {run.digest[:16]}")

actions = run.actions.df()
for (kind, status), count in actions.groupby(["kind", "status"]).size().items():
    print(f"  {count:>3} × {kind}, {status}")

sweep = mayavi.sweep(
    "depeg_cascade",
    seeds=range(4),
    jobs=2,
    steps=6,
    overrides=small,
    grid={"prices.WETH.size": ["-15%", "-45%"]},
    store=store,
)
for point in sweep.points:
    at_risk = point.figures["bad_debt"].at_risk
    interval = at_risk.interval(lambda number: f"{number:,.0f}")
    print(f"{point.label}: VaR {at_risk.value:,.0f} USD, {interval} ({at_risk.missing()})")
print("a deeper shock costs more:", sweep.points[0].figures["bad_debt"].p95.value < at_risk.value)
