"""Waiting times: the first import, help, the demo, a run, building the replicas and opening one.

Whole processes are timed from the outside, the interpreter's own start included.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring.report import Effort, Quantity, Section, Target, timed
from benchmarks.measuring.timing import in_turns, seconds_each
from benchmarks.subjects.position import open_position
from mayavi import Fork
from mayavi.worlds import market_names, world_names
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.builder import build_replica
from mayavi.worlds.cache import replica_path
from mayavi.worlds.tables.market import load_market

PROCESS_ROUNDS = 11
BUILD_ROUNDS = 7
LOAD_ROUNDS = 21
LARGEST_MARKET = "ethereum@2025-12"
EXAMPLE = "mayavi run aave_borrower --seed 7"
LIBRARIES = "import duckdb, numpy.random, pydantic.main, typer, yaml"
"""The packages that a run uses: no change of ours makes their import faster."""


def measure(effort: Effort) -> Section:
    """Processes in turns on warm disks; every replica is built into a folder of its own."""
    section = Section("startup", "what a person waits for (whole processes, warm disk)")
    open_position()  # the replica is built before anything that only opens it
    python, mayavi = sys.executable, command()
    processes = {
        "python -c pass": run([python, "-c", "pass"]),
        "python -c 'import mayavi'": run([python, "-c", "import mayavi"]),
        "mayavi --help": run([*mayavi, "--help"]),
        "mayavi demo": run([*mayavi, "demo"]),
        EXAMPLE: run_example(mayavi),
        f"{EXAMPLE}, PYTHONDONTWRITEBYTECODE=1": run_example(mayavi, PYTHONDONTWRITEBYTECODE="1"),
    }
    limits_ms = {
        "python -c 'import mayavi'": 150,
        "mayavi --help": 300,
        "mayavi demo": 700,
        f"{EXAMPLE}, PYTHONDONTWRITEBYTECODE=1": 500,
    }
    for process in () if effort.quick else processes.values():
        process()
    for what, timing in in_turns(processes, effort.rounds(PROCESS_ROUNDS)).items():
        section.rows.append(timed(what, timing, "ms"))
        if what in limits_ms:
            limit = Quantity(limits_ms[what], "ms")
            section.targets.append(Target(what, limit, Quantity(timing.median * 1e3, "ms")))

    compare_with_libraries(section, mayavi, effort)
    path = replica_path("ethereum")
    loading = in_turns({"load": lambda: seconds_each(lambda: Fork.load_snapshot(path), 1)}, effort.rounds(LOAD_ROUNDS))[
        "load"
    ]
    section.rows.append(timed("loading the replica's snapshot", loading, "ms"))
    section.targets.append(
        Target("loading the replica's snapshot", Quantity(100, "ms"), Quantity(loading.median * 1e3, "ms"))
    )
    chains = world_names()[: 2 if effort.quick else None]
    one, every = "mayavi world build ethereum", f"mayavi world build, one after the other for {len(chains)} chains"
    builds = {one: lambda: build(mayavi, ["ethereum"]), every: lambda: build(mayavi, chains)}
    building = in_turns(builds, effort.rounds(BUILD_ROUNDS))
    for what, limit_s in ((one, 3), (every, 15)):
        section.rows.append(timed(what, building[what], "ms"))
        measured = Quantity(building[what].median, "s")
        section.targets.append(Target(f"{what}, nothing cached", Quantity(limit_s, "s"), measured))
    measure_markets(section, effort)
    return section


def measure_markets(section: Section, effort: Effort) -> None:
    """Building the markets of Aave V3.6 in this process, and opening the largest from its snapshot."""
    store = ArtifactStore()
    tables = {name: load_market(name) for name in ([LARGEST_MARKET] if effort.quick else market_names())}
    for table in () if effort.quick else tables.values():
        build_replica(table, store)  # compiles what is not compiled yet, and reads it
    largest = tables[LARGEST_MARKET]
    one = (
        f"building {LARGEST_MARKET}: {len(largest.aave.reserves)} reserves, {len(largest.aave.emodes)} efficiency modes"
    )
    every = f"building {len(tables)} markets of Aave V3.6"
    opening = f"opening {LARGEST_MARKET} from its snapshot"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "market.snapshot"
        build_replica(largest, store).dump_snapshot(path)
        tasks = {
            one: lambda: seconds_each(lambda: build_replica(largest, store), 1),
            every: lambda: seconds_each(lambda: [build_replica(each, store) for each in tables.values()], 1),
            opening: lambda: seconds_each(lambda: Fork.load_snapshot(path), 1),
        }
        found = in_turns(tasks, effort.rounds(BUILD_ROUNDS))
    for what, limit_ms in ((one, 1_000), (every, 5_000), (opening, 100)):
        section.rows.append(timed(what, found[what], "ms"))
        section.targets.append(Target(what, Quantity(limit_ms, "ms"), Quantity(found[what].median * 1e3, "ms")))


def compare_with_libraries(section: Section, mayavi: list[str], effort: Effort) -> None:
    """Compare the CPU time of the worked example with that of importing the libraries it uses."""
    example, libraries = f"{EXAMPLE}, CPU time", f"python -c '{LIBRARIES}', CPU time"
    contestants = {
        libraries: cpu_time(run([sys.executable, "-c", LIBRARIES])),
        example: cpu_time(run_example(mayavi, PYTHONDONTWRITEBYTECODE="1")),
    }
    found = in_turns(contestants, effort.rounds(PROCESS_ROUNDS))
    ratio = Quantity(found[example].ratio(found[libraries]), "×")
    section.rows += [timed(libraries, found[libraries], "ms"), timed(example, found[example], "ms", ratio=ratio)]
    section.targets.append(Target(f"{example}, to the import of its libraries", Quantity(1.6, "×"), ratio))


def cpu_time(process: Callable[[], float]) -> Callable[[], float]:
    """CPU seconds of a process and its threads instead of the time from its start to its end."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    def once() -> float:
        before = used()
        process()
        return used() - before

    return once


def command() -> list[str]:
    """The `mayavi` of this environment."""
    script = Path(sys.executable).with_name("mayavi")
    return [str(script)] if script.exists() else [sys.executable, "-m", "mayavi"]


def run(arguments: list[str], **environment: str) -> Callable[[], float]:
    """Seconds from the start of a process to its end."""

    def once() -> float:
        began = time.perf_counter()
        subprocess.run(arguments, check=True, capture_output=True, env=os.environ | environment)
        return time.perf_counter() - began

    return once


def run_example(mayavi: list[str], **environment: str) -> Callable[[], float]:
    """Seconds of the worked example, each time into an empty database."""

    def once() -> float:
        with tempfile.TemporaryDirectory() as folder:
            arguments = [*mayavi, *EXAMPLE.split()[1:], "--store", f"{folder}/runs.duckdb"]
            return run(arguments, **environment)()

    return once


def build(mayavi: list[str], chains: list[str]) -> float:
    """Seconds of building replicas where nothing is cached, each in a process of its own."""
    with tempfile.TemporaryDirectory() as fresh:
        return sum(run([*mayavi, "world", "build", chain], MAYAVI_CACHE_DIR=fresh)() for chain in chains)
