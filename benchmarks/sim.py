"""Simulations: the worked example, thousands of borrowers, sweeps, and a node instead of the kernel."""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, Unavailable, timed
from benchmarks.measuring.timing import in_turns
from benchmarks.startup import command, run
from benchmarks.subjects.node_evm import act_on_node
from benchmarks.subjects.position import open_replica
from mayavi.agents.base import Agent
from mayavi.agents.liquidation.liquidator import LiquidatorAgent
from mayavi.agents.trading.arbitrageur import ArbitrageurAgent
from mayavi.evm.specialise import specialised
from mayavi.scenarios.build.build import Built, build
from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.scenarios.run.request import RunRequest, versions
from mayavi.scenarios.run.result import Run
from mayavi.scenarios.run.run import execute
from mayavi.scenarios.sweep.request import SweepRequest
from mayavi.scenarios.sweep.sweep import run_sweep
from mayavi.sim.recorder import MemoryRecorder
from mayavi.sim.rows import RunEnd, RunInfo
from mayavi.sim.runner import Runner
from mayavi.sim.store import SegmentRecorder
from mayavi.worlds.contract_folder import contracts_root
from mayavi.worlds.source import WorldSource
from tests.node.hardhat import Hardhat
from tests.node.replica_on_node import put_on_node

PROCESS_ROUNDS = 11
RUN_ROUNDS = 3
STEPS = 100
BORROWERS, QUICK_BORROWERS = (100, 1_000, 5_000), (20, 60)
SWEEP_ROUNDS = 2
SWEEP_SEEDS = 32
"""Enough to outweigh the second in which worker processes start."""
EVERY_BLOCK_ROUNDS = 7
OUTCOMES = ("liquidations", "liquidated", "liquidated_accounts", "bad_debt", "debt", "collateral")
"""KPIs that must agree before times are compared."""
SAME_OUTCOME = 1e-4
"""Relative difference up to which they do: blocks that pass bear interest."""
KEPT_TIMES = 8.0
SEED = 7


def measure(effort: Effort) -> Section:
    """Measure everything in a temporary store."""
    open_replica()  # built before anything is timed
    section = Section("sim", "simulations on the Ethereum replica")
    with tempfile.TemporaryDirectory() as folder:
        worked_example(section, effort, Path(folder))
        population(section, effort, Path(folder))
        kept_reads(section, effort)
        two_processes(section, effort, Path(folder))
        every_block(section, effort)
        try:
            through_a_node(section, effort, Path(folder))
        except Unavailable as missing:
            section.notes.append(f"no node to compare with: {missing}")
    return section


def worked_example(section: Section, effort: Effort, folder: Path) -> None:
    """Measure `mayavi run aave_borrower`: a supply, a loan, four steps, from process start to the stored run."""
    what = "mayavi run aave_borrower"
    whole = run([*command(), "run", "aave_borrower", "--store", str(folder / "example.duckdb")])
    whole()
    timing = in_turns({what: whole}, effort.rounds(PROCESS_ROUNDS))[what]
    section.rows.append(timed(f"{what}, process start to stored run", timing, "ms"))
    section.targets.append(Target(f"{what}, from process start", Quantity(1.0, "s"), Quantity(timing.median, "s")))


def population(section: Section, effort: Effort, folder: Path) -> None:
    """Measure depeg_cascade with more and more borrowers: speed, time by part, and linearity."""
    steps, counts = (4, QUICK_BORROWERS) if effort.quick else (STEPS, BORROWERS)
    costs: dict[int, float] = {}
    for count in counts:
        scenario = cascade(count, steps)
        rounds = effort.rounds(1 if count == max(counts) else RUN_ROUNDS)
        runs = [stored(scenario, folder / "population.duckdb") for _ in range(rounds)]
        seconds = statistics.median(each.timings["total"] for each in runs)
        outside = statistics.median(1 - each.timings["kernel"] / each.timings["total"] for each in runs)
        agents = count + 3
        costs[count] = seconds / (agents * steps)
        figures = {
            "seconds": Quantity(seconds, "s"),
            "agent_steps": Quantity(agents * steps / seconds, "/s"),
            "outside_the_kernel": Quantity(outside, "%"),
        }
        section.rows.append(Row(f"depeg_cascade, {count:,} borrowers × {steps} steps, one thread", figures))
        if count == counts[1]:
            what = f"time outside the kernel, {count:,} borrowers"
            section.targets.append(Target(what, Quantity(0.35, "%"), Quantity(outside, "%")))
    growth = costs[max(counts)] / costs[min(counts)]
    what = f"cost of an agent's step, {max(counts):,} borrowers against {min(counts):,}"
    section.targets.append(Target(what, Quantity(1.2, "×"), Quantity(growth, "×")))


def kept_reads(section: Section, effort: Effort) -> None:
    """Compare depeg_cascade replayed and interpreted; rows must agree."""
    count, steps = (20, 4) if effort.quick else (1_000, STEPS)
    scenario = cascade(count, steps)
    digests = set()

    def acted(mode: str) -> float:
        with specialised(mode) as work:
            built = prepared(scenario)
            built.world.fork.read_within(work, seed=1)
            began = time.process_time()
            digests.add(ticked(scenario, built).digest)
            return time.process_time() - began

    timings = in_turns({mode: partial(acted, mode) for mode in ("off", "on")}, effort.rounds(RUN_ROUNDS))
    if len(digests) > 1:
        raise AssertionError(f"results differ: {digests}")
    for mode, timing in timings.items():
        row = f"depeg_cascade, {count:,} borrowers × {steps} steps, CPU, specialise={mode}"
        section.rows.append(timed(row, timing, "s"))
    what = "CPU of depeg_cascade interpreted, against replayed"
    ratio = Quantity(timings["off"].ratio(timings["on"]), "×")
    section.targets.append(Target(what, Quantity(KEPT_TIMES, "×"), ratio, at_most=False))


def two_processes(section: Section, effort: Effort, folder: Path) -> None:
    """Compare a sweep on two processes with one, each with one kernel thread."""
    scenario = cascade(10 if effort.quick else 300, 3 if effort.quick else 50)
    seeds = range(4 if effort.quick else SWEEP_SEEDS)
    world = WorldSource.of(chain="ethereum")
    taken: list[Path] = []

    def sweep(jobs: int) -> float:
        taken.append(folder / f"sweep-{len(taken)}.duckdb")  # a new one each time: what is stored is not run again
        began = time.perf_counter()
        asked = SweepRequest(
            scenarios=[scenario], points=[()], seeds=list(seeds), world=world, store=taken[-1], jobs=jobs
        )
        run_sweep(asked)
        return time.perf_counter() - began

    contestants: dict[str, Callable[[], float]] = {str(jobs): partial(sweep, jobs) for jobs in (1, 2)}
    timings = in_turns(contestants, effort.rounds(SWEEP_ROUNDS))
    for jobs, timing in timings.items():
        section.rows.append(timed(f"sweep of {len(seeds)} runs, --jobs {jobs}", timing, "s"))
    gain = Quantity(timings["1"].ratio(timings["2"]), "×")
    section.targets.append(Target("a sweep on two processes against one", Quantity(1.8, "×"), gain, at_most=False))


def every_block(section: Section, effort: Effort, most_a_block: int = 1_000) -> None:
    """Compare liquidators and arbitrageurs that act block by block with the same ones once a step, at equal outcomes.

    One liquidator may take very many accounts in a block, and the price falls once. So one look a step is enough, and
    both end the same but for the interest of a few blocks.
    """
    count, steps = (60, 6) if effort.quick else (300, 24)
    overrides = [
        f"agents.borrowers.count={count}",
        "agents.liquidators.count=1",
        f"agents.liquidators.most_a_block={most_a_block}",
        "prices.WETH={process: step, at: 1, size: -30%}",
    ]
    scenario = load_scenario("depeg_cascade", steps=steps, overrides=overrides)
    outcomes: dict[str, list[float]] = {}

    def acted(how: str) -> float:
        with bots_acting(every_block=how == "block by block"):
            built = prepared(scenario)
        began = time.process_time()
        end = ticked(scenario, built)
        seconds = time.process_time() - began
        outcomes[how] = [row.number for row in end.kpis if row.name in OUTCOMES]
        return seconds

    contestants: dict[str, Callable[[], float]] = {
        how: partial(acted, how) for how in ("block by block", "once a step")
    }
    timings = in_turns(contestants, effort.rounds(EVERY_BLOCK_ROUNDS))
    first, second = outcomes.values()
    if not first[0] or not all(math.isclose(*pair, rel_tol=SAME_OUTCOME) for pair in zip(first, second, strict=True)):
        raise AssertionError(f"outcomes differ, or nothing was liquidated, so times do not compare: {outcomes}")
    for how, timing in timings.items():
        row = f"depeg_cascade, {count} borrowers × {steps} steps, CPU, bots act {how}"
        section.rows.append(timed(row, timing, "s"))
    ratio = timings["block by block"].ratio(timings["once a step"])
    what = "CPU of bots that act block by block against once a step, at equal outcomes"
    section.targets.append(Target(what, Quantity(1.5, "×"), Quantity(ratio, "×")))


@contextmanager
def bots_acting(*, every_block: bool) -> Iterator[None]:
    """Let agents that are built meanwhile act in every block of a step, or once a step."""
    kinds: tuple[type[Agent], ...] = (LiquidatorAgent, ArbitrageurAgent)
    before = [kind.every_block for kind in kinds]
    for kind in kinds:
        kind.every_block = every_block
    try:
        yield
    finally:
        for kind, own in zip(kinds, before, strict=True):
            kind.every_block = own


def through_a_node(section: Section, effort: Effort, folder: Path) -> None:
    """Measure the same scenario with every call and transaction sent to `hardhat node`; rows must agree."""
    if not (contracts_root() / "node_modules" / ".bin" / "hardhat").exists():
        raise Unavailable("hardhat is not installed", "`make test` installs it")
    count, steps = (5, 4) if effort.quick else (100, 10)
    scenario = cascade(count, steps)
    ours = [ticked(scenario, prepared(scenario)) for _ in range(effort.rounds(RUN_ROUNDS))]
    fastest = statistics.median(each.timings["total"] for each in ours)
    section.rows.append(Row(f"{count} borrowers × {steps} steps, in process", {"seconds": Quantity(fastest, "s")}))
    for multicall in (False, True):
        built = prepared(scenario)
        with node_for(built, folder) as node:
            evm = act_on_node(node, built.world.fork, multicall=multicall)
            end = ticked(scenario, built)
        if end.digest != ours[0].digest:
            raise AssertionError("the node and the kernel do not agree on what happened")
        how = "reads through a multicall contract" if multicall else "one request a read"
        ratio = Quantity(end.timings["total"] / fastest, "×")
        figures = {"seconds": Quantity(end.timings["total"], "s"), "requests": Quantity(evm.requests, "gas")}
        section.rows.append(Row(f"the same through hardhat node, {how}", figures | {"against_us": ratio}))
        if not multicall:
            what = "the same scenario through hardhat node takes so many times as long"
            section.targets.append(Target(what, Quantity(10, "×"), ratio, at_most=False))
    section.notes.append(
        "the node's rows are the kernel's, bit for bit; many reads in one go through Uniswap's own multicall contract, "
        "since Multicall3 is in no package that the replica is built from"
    )


# -- runs -------------------------------------------------------------------------------------------------------------


def cascade(borrowers: int, steps: int) -> Scenario:
    """Return depeg_cascade without fees, which a node charges differently."""
    free = ["gas.base_fee=0", "gas.priority_fee=0"]
    return load_scenario("depeg_cascade", steps=steps, overrides=[f"agents.borrowers.count={borrowers}", *free])


def stored(scenario: Scenario, store: Path) -> Run:
    """Run as `mayavi run --threads 1` does, rows on disk included."""
    with SegmentRecorder(store) as recorder:
        fork = WorldSource.of(chain=scenario.config.chain).open()
        request = RunRequest(scenario=scenario, seed=SEED, source="replica", store=store)
        return execute(request, fork, recorder)


def prepared(scenario: Scenario) -> Built:
    """Return a simulation after `prepare`."""
    built = build(scenario.config, WorldSource.of(chain=scenario.config.chain).open(), SEED, 1)
    built.world.prepare()
    return built


def ticked(scenario: Scenario, built: Built) -> RunEnd:
    """Run all steps of a simulation in memory."""
    facts = (scenario.name, scenario.text, SEED, built.steps, scenario.config.chain, "replica", "", versions(), 0.0)
    info = RunInfo("benchmark", *facts)
    runner = Runner(
        built.world, built.scheduler, steps=built.steps, recorder=MemoryRecorder(), info=info, kpis=built.kpis
    )
    return runner.run()


class node_for(AbstractContextManager[Hardhat]):  # noqa: N801
    """Node that holds the world of a simulation."""

    def __init__(self, built: Built, folder: Path) -> None:
        self.fork = built.world.fork
        self.folder = Path(tempfile.mkdtemp(dir=folder))

    def __enter__(self) -> Hardhat:
        fork = self.fork
        first = fork.timestamp - fork.block_number - 100_000  # one second a block, and some to spare
        self.node = Hardhat.start(self.folder, fork.chain_id, fork.hardfork, first_timestamp=first, same_timestamp=True)
        put_on_node(self.node, fork)
        return self.node

    def __exit__(self, *_: object) -> None:
        self.node.stop()
