"""`python -m benchmarks.sweep`: runs of one scenario per second of processor time, and where that time goes.

    python -m benchmarks.sweep                                 # 40 runs of depeg_cascade
    python -m benchmarks.sweep --scenario morpho_depeg --runs 10 --json

The same seeds are run one by one, each as `mayavi run` does it in a warm process, and as a sweep on one process.
Digests must be equal; exit code 1 if they are not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mayavi
from mayavi.scenarios.run.result import Run

PARTS = ("kernel", "agents", "hooks", "prepare", "store", "engine")


def measure(scenario: str, runs: int) -> dict[str, Any]:
    """Run the seeds both ways in turns, and compare."""
    seeds = range(1, runs + 1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        mayavi.run(scenario, seed=0, threads=1, store=root / "first.duckdb")  # imports, the replica, compiled texts
        alone, alone_s = timed(lambda: [one(scenario, seed, root) for seed in seeds])
        together, together_s = timed(
            lambda: mayavi.sweep(scenario, seeds=seeds, jobs=1, store=root / "sweep.duckdb").runs
        )
    spent = {part: sum(run.timings.get(part, 0.0) for run in together) for part in PARTS}
    return {
        "scenario": scenario,
        "runs": runs,
        "differences": sum(a.digest != b.digest for a, b in zip(alone, together, strict=True)),
        "alone_runs_per_cpu_second": runs / alone_s,
        "sweep_runs_per_cpu_second": runs / together_s,
        "gain": alone_s / together_s,
        "shares": {part: seconds / sum(spent.values()) for part, seconds in spent.items()},
    }


def one(scenario: str, seed: int, root: Path) -> Run:
    """Run one seed, with its own rows in the store."""
    return mayavi.run(scenario, seed=seed, threads=1, store=root / "alone.duckdb")


def timed(work: Callable[[], Sequence[Run]]) -> tuple[Sequence[Run], float]:
    """Return the runs and the seconds of processor time that they took."""
    began = time.process_time()
    return work(), time.process_time() - began


def describe(found: dict[str, Any]) -> str:
    """What was measured, in words."""
    shares = ", ".join(f"{part} {share:.0%}" for part, share in found["shares"].items())
    return (
        f"{found['scenario']}: {found['runs']:,} runs, {found['sweep_runs_per_cpu_second']:.2f} a second of processor"
        f" time as a sweep, {found['alone_runs_per_cpu_second']:.2f} one by one ({found['gain']:.2f} ×);"
        f" {found['differences']:,} digests differ; time of a run: {shares}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one scenario."""
    parser = argparse.ArgumentParser("python -m benchmarks.sweep", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--scenario", default="depeg_cascade", help="scenario of the library, or a file (depeg_cascade)"
    )
    parser.add_argument("--runs", type=int, default=40, help="number of seeds (40)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    asked = parser.parse_args(arguments)
    if asked.runs < 1:
        parser.error("at least one run is needed")
    found = measure(asked.scenario, asked.runs)
    print(json.dumps(found) if asked.json else describe(found), flush=True)
    return int(found["differences"] > 0)


if __name__ == "__main__":
    sys.exit(main())
