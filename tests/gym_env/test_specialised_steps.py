"""Environments give the same with transactions replayed, on any number of threads, against hostile policies too."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.subjects.position import (
    ACCOUNT_DATA,
    BORROW,
    BORROWER,
    REPAY,
    SUPPLY,
    VARIABLE_RATE,
    Position,
    open_position,
)
from mayavi.evm.abi.contract import Function
from mayavi.evm.fleet import REVERTED, SUCCESS, Fleet, Outcome, Program, Template
from mayavi.evm.hashing import keccak256
from mayavi.evm.words import to_words
from mayavi.gym_env import make_rows
from mayavi.gym_env.market.env import AaveMarketEnv
from mayavi.gym_env.rows import RowsEnv

ROWS, STEPS = 32, 48
ON_CHAIN = ["aave", "aave-shock", "compound", "vesting", "liquidator"]
WITHDRAW = Function.parse("withdraw(address asset, uint256 amount, address to) returns (uint256)")


def hostile(env: RowsEnv[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Anything from the action space: half of it at the ends and in the middle."""
    space: Any = env.action_space
    if hasattr(space, "n"):
        return rng.integers(space.n, size=env.rows)
    low, high = (np.broadcast_to(each, (env.rows, *space.shape)) for each in (space.low, space.high))
    kind = rng.integers(0, 6, low.shape)
    drawn = rng.uniform(low, high)
    chosen = np.select([kind == 0, kind == 1, kind == 2], [low, high, np.clip(0.0, low, high)], drawn)
    return np.asarray(chosen, dtype=np.float32)


def digest(env: RowsEnv[Any], steps: int) -> str:
    """Hash of rewards and states over `steps` steps, with a new episode wherever one ends."""
    rng, number, seen = np.random.default_rng(11), env.rows, sha256()
    env.begin(range(env.rows), range(env.rows))
    live = np.ones(env.rows, dtype=np.bool_)
    for _ in range(steps):
        stepped = env.step(hostile(env, rng), live)
        seen.update(np.ascontiguousarray(stepped.rewards).tobytes())
        over = np.flatnonzero(stepped.done)
        if over.size:
            for each in env.identities(over):
                seen.update(each)
            env.begin(over, range(number, number + over.size))
            number += over.size
    for each in env.identities(np.arange(env.rows)):
        seen.update(each)
    return seen.hexdigest()


@pytest.mark.slow(1)
@pytest.mark.parametrize("actions", ["discrete", "continuous"])
@pytest.mark.parametrize("name", ON_CHAIN)
def test_replayed_steps_are_interpreted_steps(name: str, actions: str) -> None:
    def made(mode: str, threads: int) -> Any:
        return make_rows(name, ROWS, actions=actions, specialise=mode, threads=threads)

    told = digest(made("off", 1), STEPS)
    checked = made("check", 1)
    assert digest(checked, STEPS) == told
    assert digest(made("on", 2), STEPS) == told
    sites = checked.fleet.statistics()
    assert sum(site["hits"] for site in sites) > 0.8 * sum(site["calls"] for site in sites)
    assert all(site["off"] is None for site in sites)


@pytest.mark.slow(1)
def test_agents_of_a_market_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"health_factor": (1.04, 1.15), "shock": (0.15, 0.4), "horizon": 8, "shock_steps": (1.0, 3.0)}
    told = []
    for mode in ("off", "check"):
        monkeypatch.setenv("MAYAVI_SPECIALISE", mode)
        env: Any = AaveMarketEnv(config)
        seen = []
        for episode in range(8):
            rng = np.random.default_rng(episode)
            observed, _ = env.reset(options={"episode": episode})
            over = False
            while not over:
                given = {name: int(rng.integers(env.action_spaces[name].n)) for name in sorted(observed)}
                observed, rewards, ended, cut, _ = env.step(given)
                seen.append({name: values.tolist() for name, values in observed.items()} | {"rewards": rewards})
                over = ended["__all__"] or cut["__all__"]
                observed = {name: each for name, each in observed.items() if not (ended[name] or cut[name])}
        told.append(seen)
    assert told[0] == told[1]


@pytest.fixture(scope="module")
def position() -> Position:
    return open_position()


def pool_program(position: Position) -> Program:
    """Wait, then do one of four things to the pool with any amount, then read the account."""
    program, weth = Program(), position.frozen.address_of("WETH")
    amount, which, pause = (program.input(name) for name in ("amount", "which", "pause"))
    program.advance(program.minimum(pause, 1), pause)
    calls = [
        SUPPLY.encode(weth, 0, BORROWER, 0),
        WITHDRAW.encode(weth, 0, BORROWER),
        BORROW.encode(position.usdc, 0, VARIABLE_RATE, 0, BORROWER),
        REPAY.encode(position.usdc, 0, VARIABLE_RATE, BORROWER),
    ]
    templates = [Template(position.pool, data, {36: amount}, sender=BORROWER) for data in calls]
    status, gas, _ = program.call(templates, choice=which)
    account = Template(position.pool, ACCOUNT_DATA.encode(BORROWER))
    _, view_gas, words = program.call(account, returns=6, commit=False)
    for name, each in {"status": status, "gas": gas, "view_gas": view_gas}.items():
        program.output(name, each)
    for index, each in enumerate(words):
        program.output(f"account {index}", each)
    return program


def amounts(rng: np.random.Generator) -> list[int]:
    """Nothing, everything, one unit, a little, and far too much."""
    sizes = [0, 2**256 - 1, 1, 10 ** int(rng.integers(4, 12)), 10 ** int(rng.integers(14, 18)), 2**128]
    return [sizes[int(rng.integers(6))] for _ in range(ROWS)]


@pytest.mark.slow
def test_a_pool_under_hostile_amounts_in_one_block_and_years_apart(position: Position) -> None:
    program = pool_program(position)
    fleets = {mode: Fleet(position.frozen, ROWS, specialise=mode) for mode in ("off", "check")}
    statuses: set[int] = set()
    rng = np.random.default_rng(5)
    for _ in range(STEPS):
        given: dict[str, Any] = {
            "amount": to_words(amounts(rng), ROWS, "amount"),
            "which": rng.integers(0, 4, ROWS),
            "pause": rng.choice([0, 0, 1, 2, 12, 86_400, 40_000_000], ROWS),
        }
        told: dict[str, Outcome] = {mode: fleet.run(program, threads=1, **given) for mode, fleet in fleets.items()}
        assert (told["off"].words == told["check"].words).all()
        statuses |= set(told["off"].status("status").tolist())
    assert statuses == {SUCCESS, REVERTED}
    assert fleets["off"].identities() == fleets["check"].identities()


def test_a_changed_parameter_of_the_pool_is_seen(position: Position) -> None:
    """The loan-to-value of a reserve is folded into every path; a row that changes it must see it at once."""
    fleet = Fleet(position.frozen, 4, specialise="check")
    program = Program()
    account = Template(position.pool, ACCOUNT_DATA.encode(BORROWER))
    words = program.call(account, returns=6, commit=False)[2]
    program.output("ltv", words[4])
    for _ in range(8):
        before = fleet.run(program, threads=1)["ltv"].uint64()
    assert sum(site["hits"] for site in fleet.statistics()) > 0
    changed = fleet.fork(2)
    pool, weth = position.pool, position.frozen.address_of("WETH")
    slot = configuration_slot(changed, pool, weth)
    changed.set_storage(pool, slot, (changed.storage(pool, slot) & ~0xFFFF) | 5_000)
    fleet.set_row(2, changed)
    after = fleet.run(program, threads=1)["ltv"].uint64()
    assert after.tolist() == [before[0], before[1], 5_000, before[3]]


def configuration_slot(fork: Any, pool: bytes, asset: bytes) -> int:
    """The slot of a reserve's configuration in the pool: the one whose word `getConfiguration` returns."""
    told = fork.call(pool, Function.parse("getConfiguration(address asset) view returns (uint256)").encode(asset))
    for mapping in range(100):
        slot = int.from_bytes(keccak256(bytes(12) + asset + mapping.to_bytes(32, "big")), "big")
        if fork.storage(pool, slot) == int.from_bytes(told, "big"):
            return slot
    raise AssertionError("no mapping holds the reserve")
