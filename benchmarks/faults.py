"""`python -m benchmarks.faults`: how many of twenty deliberate mistakes in the kernel are found, and how soon.

    python -m benchmarks.faults --seconds 60               # by the fuzzer
    python -m benchmarks.faults --seconds 600 --fault GasToSpare
    python -m benchmarks.faults --self-check               # by the self-check, on the scenarios of the library

One build of the kernel has all mistakes (the feature `faults`); `MAYAVI_FAULT` switches one on. It is built without
link-time optimisation into `.cache/faults`, beside the installed one. Exit code 1 if fewer than `--wanted` are found.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mayavi.cli.console.output import Column, print_table

REPOSITORY = Path(__file__).resolve().parents[1]
PLACE = REPOSITORY / ".cache" / "faults"
SEED = 1
FOUND = "differs from the interpreted one"


@dataclass(frozen=True)
class Search:
    """What looking for one mistake came to."""

    fault: str
    seconds: float | None
    """When it was found; None if it was not."""
    what: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Look for every mistake, one after the other."""
    parser = argparse.ArgumentParser("python -m benchmarks.faults", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of the fuzzer for each (60)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the fuzzer ({SEED})")
    parser.add_argument("--fault", action="append", help="mistake to look for, more than once if wanted (all)")
    parser.add_argument("--self-check", action="store_true", help="play the scenarios of the library instead")
    parser.add_argument("--wanted", type=int, default=0, help="exit code 1 if fewer are found (0)")
    parser.add_argument("--json", action="store_true", help="one JSON object for each")
    asked = parser.parse_args(arguments)
    if not asked.seconds > 0 or asked.seed < 0:
        parser.error("seconds are positive, and a seed is at least 0")
    build()
    known = ask("from mayavi import _kernel; print(*_kernel.faults())").stdout.split()
    chosen = list(dict.fromkeys(asked.fault or known))
    if unknown := set(chosen) - set(known):
        parser.error(f"unknown fault '{min(unknown)}'; they are {', '.join(known)}")
    scenarios = names_of_scenarios() if asked.self_check else []
    found = []
    for fault in chosen:
        fuzzed = not asked.self_check
        search = by_fuzzing(fault, asked.seconds, asked.seed) if fuzzed else by_self_check(fault, scenarios)
        found.append(search)
        if asked.json:
            print(json.dumps(vars(search)), flush=True)
        elif sys.stderr.isatty():
            print(f"{fault}: {search.what}", file=sys.stderr, flush=True)
    count = sum(search.seconds is not None for search in found)
    if not asked.json:
        rows = [(each.fault, "—" if each.seconds is None else f"{each.seconds:.1f}", each.what) for each in found]
        print_table([Column("mistake", right=False), Column("seconds"), Column("found by", right=False)], rows)
        print(f"{count} of {len(found)} found")
    return int(count < asked.wanted)


def build() -> None:
    """Build the kernel with the mistakes, and lay a package out that has it."""
    target = PLACE / "target"
    unlinked = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    features = "extension-module,faults"
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--lib", "--quiet", "--features", features],
        cwd=REPOSITORY / "kernel",
        env={**os.environ, **unlinked, "CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": sys.executable},
        check=True,
    )
    package = PLACE / "package"
    (package / "mayavi").mkdir(parents=True, exist_ok=True)
    parts = [each for each in (REPOSITORY / "mayavi").iterdir() if not each.match("_kernel.*.so")]
    links = {package / "mayavi" / each.name: each for each in parts}
    links |= {package / name: REPOSITORY / name for name in ("benchmarks", "contracts")}
    links[package / "mayavi" / "_kernel.abi3.so"] = target / "release" / "lib_kernel.so"
    for link, to in links.items():
        link.unlink(missing_ok=True)
        link.symlink_to(to)


def ask(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in the package with the mistakes."""
    return run(["-c", code], None, None)


def run(arguments: list[str], fault: str | None, limit: float | None) -> subprocess.CompletedProcess[str]:
    """Run Python in the package with the mistakes, one of them switched on."""
    surroundings = {**os.environ, "MAYAVI_FAULT": fault or "", "MAYAVI_CACHE_DIR": str(PLACE / "cache")}
    surroundings.pop("PYTHONPATH", None)
    place = PLACE / "package"
    return subprocess.run(
        [sys.executable, *arguments], cwd=place, env=surroundings, capture_output=True, text=True, timeout=limit
    )


def by_fuzzing(fault: str, seconds: float, seed: int) -> Search:
    """Let the fuzzer look for a mistake."""
    began = time.monotonic()
    done = run(["-m", "benchmarks.fuzz", "--seconds", str(seconds), "--seed", str(seed), "--json"], fault, None)
    try:
        report = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f"the fuzzer failed with {fault}: {done.stderr[-2_000:]}") from None
    if not report["differences"]:
        return Search(fault, None, f"not found in {seconds:.0f} s")
    (first, *_) = report["differences"]
    spent = min(time.monotonic() - began, report.get("found_after") or report["seconds"])
    return Search(fault, spent, f"{first['channel']}: {first['what'][:90]}")


def names_of_scenarios() -> list[str]:
    """Names of the scenarios that need no file and no node."""
    listed = json.loads(run(["-m", "mayavi", "scenarios", "list", "--json"], None, None).stdout)
    return [each["name"] for each in listed["scenarios"]]


def by_self_check(fault: str, scenarios: Sequence[str]) -> Search:
    """Play the scenarios of the library until a run ends because of a difference."""
    began = time.monotonic()
    for name in scenarios:
        store = PLACE / "runs.duckdb"
        done = run(["-m", "mayavi", "run", name, "--seed", "7", "--store", str(store), "--json"], fault, None)
        if done.returncode == 1 and FOUND in done.stderr + done.stdout:
            return Search(fault, time.monotonic() - began, name)
    return Search(fault, None, f"not found in {len(scenarios)} scenarios")


if __name__ == "__main__":
    sys.exit(main())
