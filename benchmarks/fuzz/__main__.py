"""`python -m benchmarks.fuzz`: compare replayed with interpreted execution of random contracts.

    python -m benchmarks.fuzz --seconds 600
    python -m benchmarks.fuzz --seconds 60 --seed 7 --channel steps     # repeats a run

Exit code 1 if something differed, or if nothing was replayed in a channel.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Sequence

from benchmarks.fuzz.fuzzing import EVERY, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz the named channels."""
    parser = argparse.ArgumentParser("python -m benchmarks.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, help="time limit (60 without --calls)")
    parser.add_argument("--calls", type=int, help="end once so many calls and steps were compared")
    parser.add_argument("--seed", type=int, help="seed of a run to repeat (a fresh one each time)")
    parser.add_argument("--channel", action="append", choices=EVERY, help="channel, more than once if wanted (all)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    asked = parser.parse_args(arguments)
    seconds = 60.0 if asked.seconds is None and asked.calls is None else asked.seconds
    if (seconds is not None and not seconds > 0) or (asked.calls is not None and asked.calls < 1):
        parser.error("seconds and calls are positive")
    if asked.seed is not None and asked.seed < 0:
        parser.error("a seed is at least 0")
    seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
    if not asked.json:
        print(f"seed {seed}", flush=True)
    report = run(seconds, seed, tuple(dict.fromkeys(asked.channel or EVERY)), calls=asked.calls)
    print(json.dumps(report.as_json()) if asked.json else report.describe(), flush=True)
    return int(report.failed)


if __name__ == "__main__":
    sys.exit(main())
