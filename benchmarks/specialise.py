"""Transactions of a fleet's rows: replayed against interpreted, in turns on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, timed
from benchmarks.measuring.timing import in_turns
from benchmarks.replayed import measure_environments
from benchmarks.subjects.position import (
    ACCOUNT_DATA,
    BORROW,
    BORROWER,
    REPAY,
    USDC_E6,
    VARIABLE_RATE,
    Position,
    open_position,
)
from mayavi import Fork
from mayavi.evm.abi.contract import Function
from mayavi.evm.fleet import SUCCESS, Fleet, Program, Template
from mayavi.evm.words import to_words
from mayavi.gym_env import make_rows
from mayavi.protocols import UniswapV3

ROWS, QUICK_ROWS = 256, 32
ROUNDS = 11
RUNS = {"off": 4, "on": 64}
"""Runs of a round: a round of the other mode leaves the caches cold, and one of a millisecond is mostly noise."""
MODES = tuple(RUNS)
WARM_UP = 4_000
"""Rows that run before the timing: by then the paths are recorded and compiled."""
ENVIRONMENT_STEPS = 48
MOST_ACROSS = 2_000 * 10**18
"""WETH of a swap that leaves the last of the three ranges."""

APPROVE = Function.parse("approve(address spender, uint256 amount) returns (bool)")
EXCHANGE = Function.parse("exchange(int128 i, int128 j, uint256 dx, uint256 min_dy)")
COMET_SUPPLY = Function.parse("supply(address asset, uint256 amount)")
SWAP = Function.parse(
    "exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline,"
    " uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)"
)
TARGETS = {
    "getUserAccountData": 150.0,
    "repay": 100.0,
    "borrow": 100.0,
    "Comet supply": 40.0,
    "StableSwap exchange": 40.0,
    "Uniswap V3 swap": 30.0,
    "Uniswap V3 swap across ticks": 5.0,
}
"""How many times faster a replayed call is to be."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Call to be measured: its template from an amount, and the largest amount."""

    name: str
    template: Callable[[Any], Template]
    most: int
    commits: bool = True
    begins_anew: bool = False
    """Whether every run starts where the first one did."""


def measure(effort: Effort) -> Section:
    """Measure calls of five protocols, and steps of an environment."""
    rows = QUICK_ROWS if effort.quick else ROWS
    section = Section("specialise", f"transactions of {rows:,} rows on one thread, replayed and interpreted")
    position = open_position()
    fork = position.written
    subjects = subjects_of(position, prepare(fork))
    frozen = fork.frozen()
    for subject in subjects:
        section.rows.extend(measured(subject, frozen, rows, effort, section))
    open_ranges(fork)
    section.rows.extend(measured(across_ticks(position, fork), fork.frozen(), rows, effort, section))
    section.rows.extend(environment(rows, effort))
    section.notes.append("a row's whole run is timed: its inputs, the call, its writes and outputs")
    measure_environments(section, effort)
    section.notes.append("`memory` is what a process grows by after its first step: paths, code, and the rows' writes")
    return section


def prepare(fork: Fork) -> dict[str, bytes]:
    """Fund the borrower for every market, and return the addresses by name."""
    names = ("WETH", "USDC", "DAI", "AaveV3.Pool", "CompoundV3.cUSDCv3", "Curve.3pool", "UniswapV3.SwapRouter")
    found = {name: fork.address_of(name) for name in names}
    for token in ("WETH", "USDC", "DAI"):
        fork.deal(token, BORROWER, 10**24 if token != "USDC" else 10**15)
        for spender in names[3:]:
            fork.send(found[token], APPROVE.encode(found[spender], 2**256 - 1), BORROWER)
    return found


def subjects_of(position: Position, at: dict[str, bytes]) -> list[Subject]:
    """Return the calls to be measured."""
    pool, usdc = position.pool, position.usdc

    def call(to: bytes, data: bytes, hole: int) -> Callable[[Any], Template]:
        return lambda amount: Template(to, data, {hole: amount}, sender=BORROWER)

    swap = SWAP.encode((at["WETH"], usdc, 500, BORROWER, 2**255, 0, 0, 0))
    return [
        Subject("getUserAccountData", lambda _: Template(pool, ACCOUNT_DATA.encode(BORROWER)), 1, commits=False),
        Subject("repay", call(pool, REPAY.encode(usdc, 0, VARIABLE_RATE, BORROWER), 36), 1_000),
        Subject("borrow", call(pool, BORROW.encode(usdc, 0, VARIABLE_RATE, 0, BORROWER), 36), 1_000),
        Subject("Comet supply", call(at["CompoundV3.cUSDCv3"], COMET_SUPPLY.encode(usdc, 0), 36), USDC_E6),
        Subject("StableSwap exchange", call(at["Curve.3pool"], EXCHANGE.encode(0, 1, 0, 0), 68), 10**18),
        Subject("Uniswap V3 swap", call(at["UniswapV3.SwapRouter"], swap, 4 + 5 * 32), 10**15),
    ]


def open_ranges(fork: Fork) -> None:
    """Open three positions around the price, ten ticks wider each: a swap leaves them one after the other."""
    market = UniswapV3(fork)
    pool = market.pool("WETH", "USDC", 500)
    middle = pool.tick - pool.tick % pool.tick_spacing
    for token in (pool.token0, pool.token1):
        fork.send(token.address, APPROVE.encode(fork.address_of("UniswapV3.PositionManager"), 2**256 - 1), BORROWER)
    for width in range(pool.tick_spacing, 4 * pool.tick_spacing, pool.tick_spacing):
        amounts: dict[str | bytes, int] = {"WETH": 100 * 10**18, "USDC": 300_000 * USDC_E6}
        market.mint(pool, middle - width, middle + width, amounts, sender=BORROWER)


def across_ticks(position: Position, fork: Fork) -> Subject:
    """Return a swap that crosses up to three ticks at which liquidity changes."""
    swap = SWAP.encode((fork.address_of("WETH"), position.usdc, 500, BORROWER, 2**255, 0, 0, 0))
    router = fork.address_of("UniswapV3.SwapRouter")
    template = lambda amount: Template(router, swap, {4 + 5 * 32: amount}, sender=BORROWER)  # noqa: E731
    return Subject("Uniswap V3 swap across ticks", template, MOST_ACROSS, begins_anew=True)


def measured(subject: Subject, fork: Fork, rows: int, effort: Effort, section: Section) -> list[Row]:
    """Time a call in both modes; equal states are checked first."""
    program = Program()
    amount = program.input("amount")
    program.advance(1, program.input("pause"))
    status, gas, _ = program.call(subject.template(amount), commit=subject.commits)
    program.output("status", status)
    program.output("gas", gas)
    fleets = {mode: Fleet(fork, rows, specialise=mode) for mode in MODES}
    streams = {mode: np.random.default_rng(3) for mode in MODES}

    def seconds(mode: str) -> float:
        return sum(run_seconds(mode) for _ in range(RUNS[mode])) / RUNS[mode]

    def run_seconds(mode: str) -> float:
        rng = streams[mode]
        given = {"amount": drawn(rng, subject.most, rows), "pause": rng.integers(1, 30, rows)}
        if subject.begins_anew:
            fleets[mode].reset()
        began = time.process_time()
        told = fleets[mode].run(program, threads=1, **given)
        took = time.process_time() - began
        assert (told.status("status") == SUCCESS).all(), f"{subject.name} fails"
        return took / rows

    for _ in range(max(WARM_UP // rows, 3)):
        for mode in MODES:
            run_seconds(mode)
    fleets["on"].finish_compiling()
    for mode in MODES:
        run_seconds(mode)
    assert fleets["off"].identities() == fleets["on"].identities(), f"{subject.name} differs"
    timings = in_turns({mode: lambda mode=mode: seconds(mode) for mode in MODES}, effort.rounds(ROUNDS))  # type: ignore[misc]
    ratio = timings["off"].ratio(timings["on"])
    wanted, found = Quantity(TARGETS[subject.name], "×"), Quantity(ratio, "×")
    section.targets.append(Target(f"{subject.name}, replayed against interpreted", wanted, found, at_most=False))
    site = fleets["on"].statistics()[0]
    beside = {
        "ratio": Quantity(ratio, "×"),
        "hits": Quantity(site["hits"] / site["calls"], "%"),
        "paths": Quantity(site["paths"], ""),
        "recording": Quantity(1e3 * site["seconds"], "ms"),
        "compiling": Quantity(1e3 * site["compile_seconds"], "ms"),
    }
    return [timed(f"{subject.name}, interpreted", timings["off"], "µs"),
            timed(f"{subject.name}, replayed", timings["on"], "µs", **beside)]  # fmt: skip


def drawn(rng: np.random.Generator, most: int, rows: int) -> Any:
    """Draw an amount for every row: 64-bit integers where they are enough."""
    if most < 2**63:
        return rng.integers(1, most, rows, endpoint=True)
    return to_words([1 + int(share * most) for share in rng.random(rows)], rows, "amount")


def environment(rows: int, effort: Effort) -> list[Row]:
    """Time steps of the Aave environment with random actions in both modes."""
    envs: dict[str, Any] = {mode: make_rows("aave", rows, specialise=mode, threads=1) for mode in MODES}
    streams = {mode: np.random.default_rng(3) for mode in MODES}
    numbers = dict.fromkeys(MODES, rows)
    for env in envs.values():
        env.begin(range(rows), range(rows))

    def seconds(mode: str) -> float:
        env, rng, taken = envs[mode], streams[mode], 0.0
        for _ in range(ENVIRONMENT_STEPS):
            actions = rng.integers(env.action_space.n, size=rows)
            began = time.process_time()
            stepped = env.step(actions, np.ones(rows, dtype=np.bool_))
            over = np.flatnonzero(stepped.done)
            if over.size:
                env.begin(over, range(numbers[mode], numbers[mode] + over.size))
                numbers[mode] += over.size
            taken += time.process_time() - began
        return taken / (ENVIRONMENT_STEPS * rows)

    for _ in range(3):  # paths that are taken seldom are recorded and compiled later
        for mode in MODES:
            seconds(mode)
        envs["on"].fleet.finish_compiling()
    timings = in_turns({mode: lambda mode=mode: seconds(mode) for mode in MODES}, effort.rounds(5))  # type: ignore[misc]
    return [
        timed(f"a step of the Aave environment, {'replayed' if mode == 'on' else 'interpreted'}", timings[mode], "µs",
              steps=Quantity(1 / timings[mode].median, "/s"), ratio=Quantity(timings["off"].ratio(timings[mode]), "×"))
        for mode in MODES
    ]  # fmt: skip
