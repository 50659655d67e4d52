"""`python -m benchmarks.sweep`: runs of one scenario per second of processor time, and where that time goes.

    python -m benchmarks.sweep                                 # 1,000 runs of aave_borrower
    python -m benchmarks.sweep --scenario depeg_cascade --runs 20 --json

The same seeds are run as sweeps on one process with `specialise` off and on, in turns, and a few of them one by one,
each as `mayavi run` does it in a warm process. Digests must be equal; exit code 1 if they are not.
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
TURNS = 4
"""Sweeps of each mode that the seeds are divided into."""
ALONE = 20
"""Seeds that are run one by one too, at most."""


def measure(scenario: str, runs: int) -> dict[str, Any]:
    """Run the seeds each way in turns, and compare."""
    seeds = range(1, runs + 1)
    found: dict[str, list[Run]] = {"off": [], "on": []}
    seconds = dict.fromkeys(found, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        mayavi.run(scenario, seed=0, threads=1, store=root / "first.duckdb")  # imports, the replica, compiled texts
        few = seeds[:ALONE]
        alone, alone_s = timed(lambda: [one(scenario, seed, root) for seed in few])
        size = -(-runs // TURNS)
        for start in range(0, runs, size):
            for mode in found:
                store, some = root / f"{mode}-{start}.duckdb", seeds[start : start + size]
                done, spent = timed(lambda: swept(scenario, some, store, mode))  # noqa: B023
                found[mode] += done
                seconds[mode] += spent
    times = {part: sum(run.timings.get(part, 0.0) for run in found["on"]) for part in PARTS}
    differ = sum(a.digest != b.digest for a, b in zip(found["off"], found["on"], strict=True))
    differ += sum(a.digest != b.digest for a, b in zip(alone, found["on"], strict=False))
    return {
        "scenario": scenario,
        "runs": runs,
        "differences": differ,
        "alone_runs_per_cpu_second": len(few) / alone_s,
        "off_runs_per_cpu_second": runs / seconds["off"],
        "sweep_runs_per_cpu_second": runs / seconds["on"],
        "gain": alone_s / len(few) / (seconds["on"] / runs),
        "gain_against_off": seconds["off"] / seconds["on"],
        "shares": {part: spent / sum(times.values()) for part, spent in times.items()},
    }


def one(scenario: str, seed: int, root: Path) -> Run:
    """Run one seed, with its own rows in the store."""
    return mayavi.run(scenario, seed=seed, threads=1, store=root / "alone.duckdb")


def swept(scenario: str, seeds: Sequence[int], store: Path, mode: str) -> Sequence[Run]:
    """Run seeds as a sweep on one process."""
    return mayavi.sweep(scenario, seeds=seeds, jobs=1, store=store, specialise=mode).runs


def timed(work: Callable[[], Sequence[Run]]) -> tuple[Sequence[Run], float]:
    """Return the runs and the seconds of processor time that they took."""
    began = time.process_time()
    return work(), time.process_time() - began


def describe(found: dict[str, Any]) -> str:
    """What was measured, in words."""
    shares = ", ".join(f"{part} {share:.0%}" for part, share in found["shares"].items())
    return (
        f"{found['scenario']}: {found['runs']:,} runs, {found['sweep_runs_per_cpu_second']:.2f} a second of processor"
        f" time as a sweep, {found['off_runs_per_cpu_second']:.2f} with specialise=off"
        f" ({found['gain_against_off']:.2f} ×), {found['alone_runs_per_cpu_second']:.2f} one by one"
        f" ({found['gain']:.2f} ×); {found['differences']:,} digests differ; time of a run: {shares}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one scenario."""
    parser = argparse.ArgumentParser("python -m benchmarks.sweep", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--scenario", default="aave_borrower", help="scenario of the library, or a file (aave_borrower)"
    )
    parser.add_argument("--runs", type=int, default=1_000, help="number of seeds (1,000)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    asked = parser.parse_args(arguments)
    if asked.runs < 1:
        parser.error("at least one run is needed")
    found = measure(asked.scenario, asked.runs)
    print(json.dumps(found) if asked.json else describe(found), flush=True)
    return int(found["differences"] > 0)


if __name__ == "__main__":
    sys.exit(main())
