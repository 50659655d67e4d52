"""Print how the figures of the crash study depend on the length of a step, as the table of `docs/studies/crash.md`.

    PYTHONPATH=. .venv/bin/python tools/step_convergence.py --seeds 0:8 --jobs 2

Runs `docs/studies/scenarios/crash.yaml` with steps of 12 seconds to one hour: ten minutes before the fall, an hour of
falling, half an hour after it. Runs are kept in `--store`, so an interrupted command continues.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import mayavi

SCENARIO = Path(__file__).parents[1] / "docs" / "studies" / "scenarios" / "crash.yaml"
STEP_SECONDS = (12, 60, 300, 900, 3_600)
FIGURES = ("bad_debt", "liquidated", "liquidations", "liquidated_accounts", "liquidatable_accounts")


def overrides(seconds: int) -> list[str]:
    """Return the overrides that keep the market and change the length of a step."""
    before, falling, after = (max(1, round(minutes * 60 / seconds)) for minutes in (10, 60, 30))
    return [
        f"step_time={seconds}s",
        f"steps={before + falling + after}",
        f"prices.WETH.at={before}",
        f"prices.WETH.steps={falling}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:8")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--store", default="data/convergence.duckdb")
    options = parser.parse_args()
    print(f"| step | {' | '.join(name.replace('_', ' ') for name in FIGURES)} |")
    print(f"|---|{'---:|' * len(FIGURES)}", flush=True)
    for seconds in STEP_SECONDS:
        found = mayavi.sweep(
            SCENARIO, seeds=options.seeds, jobs=options.jobs, overrides=overrides(seconds), store=options.store
        )
        cells = []
        for name in FIGURES:
            mean = found.summary[name].mean
            interval = "" if mean.low is None or mean.high is None else f" ({mean.low:,.0f} to {mean.high:,.0f})"
            cells.append(f"{mean.value:,.0f}{interval}")
        time = f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"
        print(f"| {time} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
