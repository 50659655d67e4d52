"""The same scenario and seed give the same rows: whatever the list, the threads and the rest of the program do."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest

from mayavi import Fork
from mayavi.agents.base import Agent, Intent, StepResult, World
from mayavi.protocols import AaveV3, UniswapV3
from mayavi.sim.market_figures import AaveFigures, UniswapFigures
from mayavi.sim.market_snapshot import MarketSnapshotHook
from mayavi.sim.population_figures import PopulationFigures
from mayavi.sim.rows import RunEnd
from mayavi.sim.world_state import WorldState, random_stream
from tests.sim.small_world import Racer, Scripted, ran, wish

ROUTE = ("WETH", "USDC", 500)


class Trader(Agent):
    """Trades a random amount with the pool each step: its result depends on chance and on who came before."""

    def prepare(self, world: World) -> None:
        self.me = world.address(self.name)
        world.fork.deal("WETH", self.me, 1_000 * 10**18)

    def step(self, world: World, step_idx: int) -> StepResult:
        amount = int(world.rng(self.name).integers(1, 10**18)) * 50
        uniswap = UniswapV3(world.fork)

        def sell() -> dict[str, int]:
            return {"out": uniswap.swap_exact_input(ROUTE, amount, sender=self.me).amount_out}

        return self.does("sell", sell, details={"in": amount}, priority_fee_wei=int(self.name == "carl"))


class Crowd(Agent):
    """Many accounts on Aave, read in one batch; those with an even number borrow more each step."""

    def prepare(self, world: World) -> None:
        self.market = AaveV3(world.fork)
        self.names = [f"{self.name}-{number}" for number in range(40)]
        self.places = [world.address(name) for name in self.names]
        for place in self.places:
            world.fork.deal("WETH", place, 10**18)
            self.market.account(place).supply("WETH", 10**18)

    def step(self, world: World, step_idx: int) -> StepResult:
        data = world.observe("crowd", lambda: self.market.account_data(self.places))
        free = data.available_usd_e8.ints()

        def borrow(number: int) -> Intent:
            account, amount = self.market.account(self.places[number]), free[number] // 1_000
            return Intent("borrow", lambda: account.borrow("USDC", amount) and None, account=self.names[number])

        return StepResult(tuple(borrow(number) for number in range(0, 40, 2)))


def life(fork: Fork, agents: list[Agent], seed: int = 7, **options: object) -> RunEnd:
    market = AaveV3(fork)
    pool = UniswapV3(fork).pool(*ROUTE)
    readers = [AaveFigures(market, ["WETH", "USDC"]), UniswapFigures(pool)]
    crowd = [f"crowd-{number}" for number in range(40)]
    hook = MarketSnapshotHook([*readers, PopulationFigures("crowd", market, crowd, crowd[:2])])
    return ran(fork, agents, seed=seed, hooks=[hook], **options)[1]  # type: ignore[arg-type]


def cast() -> list[Agent]:
    return [Trader("anna"), Trader("bert"), Trader("carl"), Crowd("crowd")]


@pytest.mark.parametrize("ordering", ["shuffle", "priority_fee"])
def test_the_place_in_the_list_changes_nothing(replica: Fork, ordering: str) -> None:
    digests = set()
    for order in list(permutations(range(4)))[::5]:
        agents = cast()
        end = life(replica.copy(), [agents[index] for index in order], ordering=ordering)
        digests.add((end.digest, end.final_world_digest))
    assert len(digests) == 1


def test_who_breaks_and_who_rests_stands_in_the_record_whatever_its_place_in_the_list(replica: Fork) -> None:
    def breaks(world: World, step_idx: int) -> StepResult:
        raise ValueError("broken")

    def rests(world: World, step_idx: int) -> StepResult:
        return StepResult(note="tired")

    names = {"anna": breaks, "bert": rests, "carl": breaks, "dora": rests}
    rows = []
    for order in (names, dict(reversed(names.items()))):
        agents = [Scripted(name, script) for name, script in order.items()]
        rows.append(ran(replica.copy(), agents, steps=2, record_rests=True)[0].actions)
    assert rows[0] == rows[1]
    assert [row.agent for row in rows[0][:4]] == ["anna", "carl", "bert", "dora"]


def test_in_fifo_the_place_in_the_list_matters(replica: Fork) -> None:
    ends = [life(replica.copy(), agents, ordering="fifo") for agents in (cast(), cast()[::-1])]
    assert ends[0].digest != ends[1].digest


def test_the_same_seed_gives_the_same_rows_and_another_seed_others(replica: Fork) -> None:
    one, again, other = (life(replica.copy(), cast(), seed=seed) for seed in (7, 7, 8))
    assert (one.digest, one.final_world_digest, one.kpis) == (again.digest, again.final_world_digest, again.kpis)
    assert other.digest != one.digest


def test_threads_change_nothing(replica: Fork) -> None:
    one, two = (life(replica.copy(), cast(), threads=threads) for threads in (1, 2))
    assert (one.digest, one.final_world_digest) == (two.digest, two.final_world_digest)


def test_no_global_generator_is_touched_nor_does_one_change_anything(replica: Fork) -> None:
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[union-attr, index]
    first = life(replica.copy(), cast())
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[union-attr, index]
    random.seed(2)
    np.random.seed(2)
    assert life(replica.copy(), cast()).digest == first.digest


def test_another_agent_more_changes_no_stream_and_no_address(fork: Fork) -> None:
    alone, together = (WorldState(fork, agents, seed=3) for agents in ([Racer("a")], [Racer("b"), Racer("a")]))
    together.rng("b").random(100)
    assert alone.rng("a").random(5).tolist() == together.rng("a").random(5).tolist()
    assert alone.address("a") == together.address("a") != together.address("b")
    assert alone.address("alice").hex() == "880cde67cf06c34e9c35de9e8ea369fe9d0d6570"  # pinned: the same in every run


def test_streams_follow_from_seed_and_name_alone() -> None:
    draws = {
        (seed, name): random_stream(seed, name).integers(0, 2**63, 4).tolist() for seed in (0, 1) for name in ("a", "b")
    }
    assert len({tuple(draw) for draw in draws.values()}) == 4
    # Pinned: another machine or another version must draw the same.
    assert draws[0, "a"] == [2102262661826007251, 4200117631983237690, 7438747434322988919, 3334212533468300850]


def test_a_traceback_holds_nothing_of_this_machine(replica: Fork) -> None:
    def broken(world: World, step_idx: int) -> StepResult:
        raise ValueError(f"no use for {object()!r}")

    rows = [ran(replica.copy(), [Scripted("me", broken)], steps=1)[0].actions[0] for _ in range(2)]
    assert rows[0] == rows[1]
    assert "/" not in rows[0].reason
    assert rows[0].reason.splitlines()[-1] == "ValueError: no use for <object object at 0x…>"
    assert "test_determinism.py:" in rows[0].reason


def test_rows_do_not_depend_on_what_ran_before_in_this_process(replica: Fork) -> None:
    first = life(replica.copy(), cast()).digest
    ran(replica.copy(), [Racer("x"), Scripted("y", lambda world, step_idx: wish())], steps=5)
    assert life(replica.copy(), cast()).digest == first
