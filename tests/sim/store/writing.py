"""A process that writes runs into a store: `python -m tests.sim.store.writing STORE RUNS STEPS ROWS`.

It prints the id of each run when it is stored, and goes on after RUNS runs until the file `STORE.stop` exists. With
RUNS = 0 it writes one run that never ends, and prints a dot for every step.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mayavi.sim.store import SegmentRecorder
from tests.sim.store.sample_runs import actions_of, info_of, snapshots_of, store_run


def main(path: Path, runs: int, steps: int, rows: int) -> None:
    stop = path.with_name(path.name + ".stop")
    written = 0
    while written < runs or (runs and not stop.exists()):
        print(store_run(path, steps=steps, count=rows, options={"flush_rows": 40}).run_id, flush=True)
        written += 1
    if runs:
        return
    recorder = SegmentRecorder(path, flush_rows=1)
    info = info_of()
    recorder.begin(info)
    print(info.run_id, flush=True)
    for step in range(10**9):
        recorder.record(actions_of(step, rows), snapshots_of(step))
        print(".", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(word) for word in sys.argv[2:]))
