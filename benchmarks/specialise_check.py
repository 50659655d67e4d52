"""`python -m benchmarks.specialise_check`: replay every call, interpret it too, and count the differences.

    python -m benchmarks.specialise_check --env aave --steps 1000000
    python -m benchmarks.specialise_check --json          # every subject, 10,000 steps of each

A third of the rows acts at random, a third at the edges of the action space, a third repeats one edge for a whole
episode. `pool` calls an Aave pool directly, for an ordinary account in and out of eMode and for one in isolation mode:
with nothing, one unit, everything and far too much, several times in a block and years apart. A difference ends its
subject; exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.subjects.position import (
    ACCOUNT_DATA,
    APPROVE,
    BORROW,
    BORROWER,
    REPAY,
    SUPPLY,
    VARIABLE_RATE,
    open_position,
)
from mayavi.evm.abi.contract import Function
from mayavi.evm.fleet import Fleet, Program, Template
from mayavi.evm.fork import Fork
from mayavi.evm.words import to_words
from mayavi.gym_env import make_rows
from mayavi.gym_env.rows import RowsEnv

ENVIRONMENTS = ("aave", "aave-shock", "compound", "vesting", "liquidator", "market")
SUBJECTS = (*ENVIRONMENTS, "pool")
ROWS = 96
CRASHES: dict[str, dict[str, object]] = {
    "aave-shock": {"shock_size": (-0.9, 0.5), "shock_chance": 1.0, "health_factor": (1.05, 2.5)},
    "liquidator": {"shock": (0.05, 0.9)},
    "market": {"shock": (0.05, 0.9)},
}
"""Settings that go beyond an environment's own: prices fall by up to nine tenths."""

WITHDRAW = Function.parse("withdraw(address asset, uint256 amount, address to) returns (uint256)")
EMODE = Function.parse("setUserEMode(uint8 category)")
ISOLATED, ISOLATED_ASSET = bytes.fromhex("b0220e2000000000000000000000000000000002"), "UNI"
COLLATERAL = Function.parse("setUserUseReserveAsCollateral(address asset, bool use)")


class Policy:
    """Actions for all rows: drawn, at the edges, or one edge for a whole episode."""

    def __init__(self, space: Any, shape: tuple[int, ...], rng: np.random.Generator) -> None:
        self.space, self.shape, self.rng = space, shape, rng
        self.kind = np.arange(shape[0]) % 3
        self.stubborn = self._edges()

    def begin(self, rows: NDArray[np.intp]) -> None:
        """Choose the edges that rows of new episodes repeat."""
        self.stubborn[rows] = self._edges()[rows]

    def actions(self) -> NDArray[Any]:
        """Draw the actions of one step."""
        kind = self.kind.reshape(-1, *(1,) * (self.stubborn.ndim - 1))
        return np.select([kind == 0, kind == 1], [self._drawn(), self._edges()], self.stubborn)

    def _drawn(self) -> NDArray[Any]:
        if hasattr(self.space, "n"):
            return self.rng.integers(self.space.n, size=self.shape)
        return self.rng.uniform(self.space.low, self.space.high, (*self.shape, *self.space.shape))

    def _edges(self) -> NDArray[Any]:
        if hasattr(self.space, "n"):
            return self.rng.choice([0, 1, self.space.n - 1], self.shape)
        low, high = self.space.low, self.space.high
        sides = [np.broadcast_to(each, (*self.shape, *self.space.shape)) for each in (low, high, np.clip(0, low, high))]
        return np.asarray(np.choose(self.rng.integers(0, 3, sides[0].shape), sides))


def environment_steps(name: str, seed: int, threads: int) -> tuple[Fleet, Iterator[int]]:
    """Return the fleet of an environment, and its steps: each item is a number of row steps taken."""
    settings: dict[str, object] = CRASHES.get(name, {}) if seed % 2 else {}
    if seed % 4 >= 2 and name != "market":
        settings = settings | {"actions": "continuous"}
    env: Any = make_rows(name, ROWS, threads=threads, specialise="check", config=settings)
    return env.fleet, stepped(env, np.random.default_rng(seed))


def stepped(env: RowsEnv[Any], rng: np.random.Generator) -> Iterator[int]:
    """Step all rows without end; a new episode wherever one is over."""
    several = env.multi_agent
    shapes = {role.name: (env.rows, role.agents) if several else (env.rows,) for role in env.roles}
    policies = {role.name: Policy(role.action_space, shapes[role.name], rng) for role in env.roles}
    number = env.rows
    env.begin(range(env.rows), range(env.rows))
    while True:
        drawn = {name: policy.actions() for name, policy in policies.items()}
        done = env.step(drawn if several else next(iter(drawn.values()))).done
        if several:
            done = (env.steps >= env.config.horizon) | ~env.acting().any(axis=1)
        over = np.flatnonzero(done)
        if over.size:
            env.begin(over, range(number, number + over.size))
            number += over.size
            for policy in policies.values():
                policy.begin(over)
        yield env.rows


def pool_steps(seed: int, threads: int) -> tuple[Fleet, Iterator[int]]:
    """Return a fleet of borrowers, and direct calls of the pool: one of twelve, then the account is read."""
    position = open_position()
    fork, pool, usdc = position.written, position.pool, position.usdc
    weth, isolated = fork.address_of("WETH"), fork.address_of(ISOLATED_ASSET)
    open_isolated_position(fork, pool, usdc, isolated)
    frozen = Fork.from_state(fork.freeze(), labels=fork.labels, source=fork.source)
    program = Program()
    amount, which, pause = (program.input(name) for name in ("amount", "which", "pause"))
    program.advance(program.minimum(pause, 1), pause)
    ordinary, in_isolation = (
        [
            SUPPLY.encode(collateral, 0, account, 0),
            WITHDRAW.encode(collateral, 0, account),
            BORROW.encode(usdc, 0, VARIABLE_RATE, 0, account),
            REPAY.encode(usdc, 0, VARIABLE_RATE, account),
            COLLATERAL.encode(collateral, False),
        ]
        for account, collateral in ((BORROWER, weth), (ISOLATED, isolated))
    )
    ordinary.append(BORROW.encode(weth, 0, VARIABLE_RATE, 0, BORROWER))
    templates = [Template(pool, data, {36: amount}, sender=BORROWER) for data in ordinary]
    templates.append(Template(pool, EMODE.encode(0), {4: amount}, sender=BORROWER))
    templates += [Template(pool, data, {36: amount}, sender=ISOLATED) for data in in_isolation]
    status, gas, _ = program.call(templates, choice=which)
    reads = [Template(pool, ACCOUNT_DATA.encode(account)) for account in (BORROWER, ISOLATED)]
    theirs = program.less(len(ordinary), which)
    account = program.call(reads, choice=theirs, returns=6, commit=False)[2]
    for name, word in {"status": status, "gas": gas, "health": account[5]}.items():
        program.output(name, word)
    fleet = Fleet(frozen, ROWS, specialise="check")
    return fleet, hostile_calls(fleet, program, len(templates), np.random.default_rng(seed), threads)


def open_isolated_position(fork: Fork, pool: bytes, usdc: bytes, asset: bytes) -> None:
    """Open a position that is in isolation mode: the account's only collateral has a debt ceiling."""
    fork.deal(asset, ISOLATED, 10**24)
    for token in (asset, usdc):
        fork.send(token, APPROVE.encode(pool, 2**256 - 1), ISOLATED)
    fork.send(pool, SUPPLY.encode(asset, 10**23, ISOLATED, 0), ISOLATED)
    fork.send(pool, COLLATERAL.encode(asset, True), ISOLATED)
    fork.send(pool, BORROW.encode(usdc, 10**9, VARIABLE_RATE, 0, ISOLATED), ISOLATED)


def hostile_calls(
    fleet: Fleet, program: Program, choices: int, rng: np.random.Generator, threads: int
) -> Iterator[int]:
    """Run a program of amounts, choices and pauses without end; every row starts again now and then."""
    sizes: list[Callable[[], int]] = [
        lambda: 0, lambda: 1, lambda: 2**256 - 1, lambda: 2**128,
        lambda: 10 ** int(rng.integers(3, 12)), lambda: 10 ** int(rng.integers(12, 20)),
    ]  # fmt: skip
    while True:
        amounts = [sizes[int(kind)]() for kind in rng.integers(0, len(sizes), ROWS)]
        which, pause = rng.integers(0, choices, ROWS), rng.choice([0, 0, 1, 2, 12, 3_600, 86_400, 40_000_000], ROWS)
        fleet.run(program, threads=threads, amount=to_words(amounts, ROWS, "amount"), which=which, pause=pause)
        if over := np.flatnonzero(rng.random(ROWS) < 0.05).tolist():
            fleet.reset(over)
        yield ROWS


def check(name: str, steps: int, seed: int, threads: int) -> dict[str, Any]:
    """Run a subject and return its counts, and the first difference if there is one."""
    began, taken, difference = time.process_time(), 0, None
    fleet, course = pool_steps(seed, threads) if name == "pool" else environment_steps(name, seed, threads)
    try:
        while taken < steps:
            taken += next(course)
    except RuntimeError as error:
        difference = str(error)
    sites, programs = fleet.statistics(), fleet.program_statistics()
    total = {key: sum(site[key] for site in sites) for key in ("calls", "hits", "native", "paths", "resets")}
    return {
        "subject": name,
        "seed": seed,
        "steps": taken,
        "differences": int(difference is not None),
        "difference": difference,
        **total,
        "runs": sum(program["calls"] for program in programs if not program["off"]),
        "whole": sum(program["hits"] for program in programs),
        "whole_native": sum(program["native"] for program in programs),
        "whole_paths": sum(program["paths"] for program in programs),
        "off": [f"{site['selector']} of {site['to']}: {site['off']}" for site in sites if site["off"]]
        + [f"program {program['program']} as a whole: {program['off']}" for program in programs if program["off"]],
        "seconds": round(time.process_time() - began, 1),
    }


def describe(found: dict[str, Any]) -> str:
    """Return the counts of a subject in words; a line each for a difference and for sites left to the interpreter."""
    share = found["hits"] / max(found["calls"], 1)
    counts = f"{found['steps']:,} steps, {found['calls']:,} calls, {share:.1%} replayed ({found['native']:,} by code)"
    ended = f"{found['paths']:,} paths, {found['differences']} differences, {found['seconds']} s"
    if found["runs"]:
        share = found["whole"] / found["runs"]
        counts += f", {share:.1%} of {found['runs']:,} rows as a whole ({found['whole_native']:,} by code)"
        ended = f"{found['whole_paths']:,} and {ended}"
    remarks = [each for each in (found["difference"], *found["off"]) if each]
    lines = [f"{found['subject']}: {counts}, {ended}", *(f"  {each}" for each in remarks)]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the named subjects one after the other."""
    parser = argparse.ArgumentParser("python -m benchmarks.specialise_check", description=__doc__.split("\n")[0])
    parser.add_argument("--env", action="append", choices=SUBJECTS, help="subject, more than once if wanted (all)")
    parser.add_argument("--steps", type=int, default=10_000, help="steps of each subject, over all rows (10,000)")
    parser.add_argument("--seed", type=int, default=0, help="odd: prices crash; 2 or 3 of 4: continuous actions (0)")
    parser.add_argument("--threads", type=int, default=1, help="threads (1)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    asked = parser.parse_args(arguments)
    if asked.steps < 1 or asked.threads < 1 or asked.seed < 0:
        parser.error("steps and threads are at least 1, a seed at least 0")
    differences = 0
    for name in asked.env or SUBJECTS:
        found = check(name, asked.steps, asked.seed, asked.threads)
        differences += found["differences"]
        if asked.json:
            print(json.dumps(found), flush=True)
            continue
        print(describe(found), flush=True)
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
