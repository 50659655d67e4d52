"""Fuzzer of specialised execution: `run(60, seed=7, channels=["steps", "sends"]).failed`.

Random contracts, programs and requests must give the same, whether calls are replayed or interpreted.
"""

from benchmarks.fuzz.fuzzing import run as run
from benchmarks.fuzz.report import Report as Report
