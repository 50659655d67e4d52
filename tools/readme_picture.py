"""Draw `docs/assets/depeg_cascade.svg`, the picture of the README, from a real run.

    PYTHONPATH=. .venv/bin/python tools/readme_picture.py

Runs `depeg_cascade` with seed 7 and a slower fall of WETH into a temporary database, then plots its market snapshots
and actions. Needs the extras `rl` (matplotlib) and `notebook` (pandas). The same seed draws the same file.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

import mayavi

PICTURE = Path(__file__).parents[1] / "docs" / "assets" / "depeg_cascade.svg"
FALL = "{process: ramp, at: 2, steps: 14, size: -35%, then: {process: gbm, volatility: 90%}}"
BLUE, RED, GREY = "#2f5d9e", "#c0392b", "#9aa5b1"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = mayavi.run("depeg_cascade", seed=7, overrides={"prices.WETH": FALL}, store=Path(folder) / "runs.duckdb")
        figures, actions = run.snapshots.df(), run.actions.df()
    liquidated = actions[(actions["kind"] == "liquidate") & (actions["status"] == "success")]
    facts = [
        json.loads(each) | {"step": step} for each, step in zip(liquidated["details"], liquidated["step"], strict=True)
    ]
    mpl.rcParams.update({"svg.hashsalt": "mayavi", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
    picture, (above, below) = plt.subplots(
        2, 1, figsize=(8, 4.6), sharex=True, height_ratios=[3, 2], layout="constrained"
    )
    draw_health(above, figures, facts)
    draw_market(below, figures, facts)
    picture.savefig(PICTURE, metadata={"Date": None, "Creator": "tools/readme_picture.py"})
    print(f"wrote {PICTURE}, {PICTURE.stat().st_size:,} bytes")


def draw_health(axes: Any, figures: Any, facts: list[dict[str, Any]]) -> None:
    """Health factor of every borrower after each step; a liquidated account ends with a cross."""
    first: dict[str, dict[str, Any]] = {}
    for each in facts:
        first.setdefault(each["borrower"], each)
    for account, path in figures[figures["metric"] == "health_factor"].groupby("subject"):
        end = first.get(account)
        steps, health = path["step"].tolist(), path["number"].tolist()
        if end is not None:
            kept = [index for index, step in enumerate(steps) if step < end["step"]]
            steps = [*(steps[index] for index in kept), end["step"]]
            health = [*(health[index] for index in kept), int(end["borrower_health_factor_wad"]) / 1e18]
            axes.plot(steps[-1:], health[-1:], color=RED, marker="x", ms=5)
        axes.plot(steps, health, color=GREY if end is None else RED, lw=0.5 if end is None else 1.0, alpha=0.8)
    axes.axhline(1, color="black", lw=0.8, ls="--")
    axes.set(ylim=(0.9, 2.6), ylabel="health factor", title="WETH falls by 35 %: 100 borrowers on the real Aave V3")
    axes.plot([], [], color=RED, marker="x", label=f"liquidated ({len(first)})")
    axes.plot([], [], color=GREY, label="not liquidated")
    axes.legend(loc="upper right", frameon=False, ncols=2)


def draw_market(axes: Any, figures: Any, facts: list[dict[str, Any]]) -> None:
    """WETH on the oracle as a line, liquidated debt of each step as bars."""
    price = figures[(figures["subject"] == "AaveV3.WETH") & (figures["metric"] == "price")]
    axes.plot(price["step"], price["number"], color=BLUE)
    axes.set_ylabel("WETH, USD", color=BLUE)
    axes.set_xlabel("hour")
    bars = axes.twinx()
    totals: dict[int, float] = {}
    for each in facts:
        totals[each["step"]] = totals.get(each["step"], 0.0) + int(each["covered_e8"]) / 1e11
    bars.bar(list(totals), list(totals.values()), color=RED, alpha=0.7)
    bars.set_ylabel("liquidated, kUSD", color=RED)


if __name__ == "__main__":
    main()
