"""Fuzzer of specialised execution: random contracts, replayed and interpreted, must do the same.

    report = run(60, seed=7, channels=["steps", "sends"])
    report.failed
"""

from benchmarks.fuzz.fuzzing import run as run
from benchmarks.fuzz.report import Report as Report
