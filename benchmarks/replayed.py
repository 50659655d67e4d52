"""Share of an environment's calls that is replayed under random actions, and what that takes: one process each.

    python -m benchmarks.replayed aave 50000

is such a process: nothing is recorded or compiled before its first step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, Unavailable
from benchmarks.subjects.position import REPOSITORY

STEPS, QUICK_STEPS = 50_000, 640
LEAST_SHARE = 0.98


def measure_environments(section: Section, effort: Effort) -> None:
    """Measure every environment on a chain from a cold start."""
    from mayavi.gym_env.chain_rows import ChainRowsEnv
    from mayavi.gym_env.registry import ENVS

    steps = QUICK_STEPS if effort.quick else STEPS
    names = [name for name, each in ENVS.items() if issubclass(each.load(), ChainRowsEnv)]
    for name in names[: 1 if effort.quick else None]:
        found = played(name, steps)
        share = Quantity(found["share"], "%")
        figures = {
            "hits": share,
            "paths": Quantity(found["paths"], ""),
            "recording": Quantity(1e3 * found["record_seconds"], "ms"),
            "compiling": Quantity(1e3 * found["compile_seconds"], "ms"),
            "memory": Quantity(found["memory"] / 1e6, "MB"),
        }
        section.rows.append(Row(f"{name}, {steps:,} random steps from a cold start", figures))
        if not effort.quick:  # the first steps of a process are recorded
            what = f"calls of '{name}' replayed"
            section.targets.append(Target(what, Quantity(LEAST_SHARE, "%"), share, at_most=False))


def played(name: str, steps: int) -> dict[str, Any]:
    """Play an environment in a fresh process."""
    arguments = [sys.executable, "-m", "benchmarks.replayed", name, str(steps)]
    done = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Unavailable(f"'{name}' cannot be played: {reason}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def resident_bytes() -> int:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Play, and print the counts and by how much memory grew since the first step."""
    from mayavi.evm.specialise import specialised
    from mayavi.gym_env.replayed_steps import play_randomly

    name, steps = sys.argv[1], int(sys.argv[2])
    before: list[int] = []

    def note(_done: int, _steps: int) -> None:
        if not before:
            before.append(resident_bytes())

    with specialised("on") as replayed:
        fleet = play_randomly(name, steps, progress=note)
        grown = resident_bytes() - before[0]
        print(json.dumps({**replayed.statistics(), "memory": grown}))
    del fleet


if __name__ == "__main__":
    main()
