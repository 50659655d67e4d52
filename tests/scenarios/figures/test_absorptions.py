"""The bad debt of a Compound V3 market is what its own reserves lost, to the unit, whenever accounts are absorbed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import pytest

from mayavi import Fork
from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.lending.open_market import lending_market
from mayavi.errors import ActionRefused
from mayavi.evm.address import account_address
from mayavi.evm.units import WAD
from mayavi.protocols import CompoundV3
from mayavi.scenarios.figures.tally import ScenarioTally
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.hooks import Hook
from mayavi.sim.rows import ActionRow, SnapshotRow
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState
from tests.agents.stage import WETH
from tests.protocols.compound.worlds import MAINNET, mainnet_world, set_price
from tests.scenarios.play import play

MARKET = "CompoundV3.cUSDCv3"
USDC = 10**6
UNIT_E8 = 100
"""Value of the smallest unit of USDC: Comet rounds an account's debt, and its own totals, to that."""


class Take(NamedTuple):
    """Absorption of one account, after which `funds` buy some of its collateral."""

    borrower: str
    funds: int = 0
    collateral: str = "WETH"
    fails: bool = False


class Move(NamedTuple):
    """Change of the price of WETH inside a step, to a share of what it was."""

    share: Fraction


Plan = Mapping[int, Sequence[Take | Move]]


class Keeper(Agent):
    """Liquidator that follows a plan, step by step."""

    def __init__(self, name: str, plan: Plan) -> None:
        super().__init__(name)
        self.plan = plan

    def prepare(self, world: World) -> None:
        self.lending = lending_market(world.fork, MARKET)
        self.address = world.address(self.name)
        world.fork.deal("USDC", self.address, 10**7 * USDC)

    def step(self, world: World, step_idx: int) -> StepResult:
        return StepResult(tuple(self.intent(world, each) for each in self.plan.get(step_idx, ())))

    def intent(self, world: World, planned: Take | Move) -> Intent:
        if isinstance(planned, Move):
            return Intent("post", lambda: move(CompoundV3(world.fork), planned.share))
        place, about = world.address(planned.borrower), {"borrower": planned.borrower, "collateral": planned.collateral}
        return Intent("liquidate", lambda: self.take(place, planned), about)

    def take(self, borrower: bytes, planned: Take) -> Details:
        funds = {"USDC": planned.funds}
        quotes = self.lending.quote_liquidations([borrower], [0], [planned.collateral], ["USDC"], funds)
        if not quotes:
            raise ActionRefused("there is nothing left to absorb")
        done = self.lending.liquidate(self.address, quotes[0])
        if planned.fails:
            raise ActionRefused("the keeper changes its mind")
        covered_e8 = done.covered * self.lending.price_e8("USDC") // USDC
        return {"covered": done.covered, "covered_e8": covered_e8, "paid": done.paid, "seized": done.seized}


class Books(NamedTuple):
    """What a market has of its own: base tokens, and absorbed collateral that it has not sold."""

    reserves: int
    collateral: dict[str, int]

    @classmethod
    def of(cls, market: CompoundV3) -> Books:
        return cls(market.reserves, {each.symbol: market.collateral_reserves(each.symbol) for each in market.assets})

    def lost_e8(self, after: Books, market: CompoundV3) -> Fraction:
        """Return how much less the market has afterwards, at its present prices; negative for a gain."""
        lost = Fraction((self.reserves - after.reserves) * market.price_e8(), USDC)
        for each in market.assets:
            kept = after.collateral[each.symbol] - self.collateral[each.symbol]
            lost -= Fraction(kept * market.price_e8(each.symbol), 10**each.decimals)
        return lost


class Auditor(Hook):
    """Reads the books of the market at the end of each step, before time and interest pass."""

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Iterable[SnapshotRow]:
        self.books = Books.of(CompoundV3(world.fork))
        return ()


class Run:
    """Steps of an hour, each of one block in which the keeper acts and an hour of interest."""

    def __init__(self, fork: Fork, plan: Plan) -> None:
        self.market, self.auditor = CompoundV3(fork), Auditor()
        self.tally = ScenarioTally(absorbers={"keeper": MARKET})
        agents = [Keeper("keeper", plan)]
        self.scheduler = Scheduler(
            WorldState(fork, agents, seed=7),
            [AgentBlock("act", agents)],
            ordering="fifo",
            step_blocks=300,
            hooks=[self.auditor],
            tally=self.tally,
            halt_on_exception=True,
        )
        self.scheduler.begin()
        self.rows: list[ActionRow] = []

    def step(self) -> Fraction:
        """Run a step and return what the market lost in it by its own books."""
        before = Books.of(self.market)
        self.rows = self.scheduler.tick()[0]
        return before.lost_e8(self.auditor.books, self.market)


@cache
def _replica() -> Fork:
    return Fork.replica("ethereum").frozen()


@pytest.fixture(params=["replica", MAINNET])
def fork(request: pytest.FixtureRequest) -> Fork:
    """Ethereum with four borrowers of cUSDCv3, on the replica's Comet and on mainnet's bytecode."""
    world = mainnet_world(request.getfixturevalue("cases")) if request.param == MAINNET else _replica()
    fork = world.copy()
    for name, size, factor in (("alice", 10, 1_150), ("bob", 25, 1_180), ("carol", 7, 1_160), ("rich", 40, 1_600)):
        opened(fork, name, {"WETH": size * WETH}, factor)
    return fork


def opened(fork: Fork, name: str, collateral: Mapping[str, int], factor: int) -> None:
    """Open a loan at a health factor in thousandths."""
    lending = lending_market(fork, MARKET)
    account = lending.account(account_address(name))
    for symbol, amount in collateral.items():
        fork.deal(symbol, account.address, amount)
        account.supply(symbol, amount)
    account.borrow("USDC", lending.loan_of("USDC", account.health().debt_value_at(factor * WAD // 1_000)))


def move(market: CompoundV3, share: Fraction) -> None:
    set_price(market, "WETH", int(market.price_e8("WETH") * share))


def test_absorptions_in_different_steps_lose_what_the_reserves_lost(fork: Fork) -> None:
    some, everything = 2_000 * USDC, 10**6 * USDC
    run = Run(fork, {0: [Take("alice", some)], 2: [Take("bob")], 3: [Take("carol", everything)]})
    lost = []
    for share in (Fraction(60, 100), Fraction(9, 10), Fraction(95, 100), Fraction(9, 10)):
        move(run.market, share)
        lost.append(run.step())
    assert lost[1] == 0
    assert min(lost[0], lost[2], lost[3]) > 1_000 * 10**8
    losses = run.tally.market_losses_e8
    assert list(losses) == ["alice", "bob", "carol"]
    for name, expected in zip(losses, (lost[0], lost[2], lost[3]), strict=True):
        assert abs(losses[name] - expected) <= UNIT_E8
    assert run.tally.market_loss_e8 == sum(losses.values())
    kept = run.auditor.books.collateral["WETH"]
    assert 25 * WETH < kept < 35 * WETH  # a part of alice's, all of bob's, none of carol's


def test_a_profit_on_one_account_does_not_pay_for_the_bad_debt_of_another(fork: Fork) -> None:
    """Comet credits `rich` what its collateral is worth beyond its debt, so that is no profit of the market either."""
    takes = [Take("rich"), Take("alice"), Take("bob", 5_000 * USDC)]
    run = Run(fork, {0: takes})
    move(run.market, Fraction(62, 100))
    alone = []
    for take in takes:
        single = Run(fork.copy(), {0: [take]})
        alone.append(single.step())
    assert alone[0] < 0 < min(alone[1:])
    together = run.step()
    assert abs(together - sum(alone)) <= len(takes) * UNIT_E8
    assert abs(run.tally.market_loss_e8 - sum(alone[1:])) <= 2 * UNIT_E8
    assert set(run.tally.market_losses_e8) == {"alice", "bob"}
    assert run.tally.market_loss_e8 > together + 1_000 * 10**8


def test_collateral_of_another_kind_that_the_market_keeps_is_no_loss(fork: Fork) -> None:
    opened(fork, "dave", {"WETH": 10 * WETH, "WBTC": 10**8 // 10}, 1_150)
    run = Run(fork, {0: [Take("dave", 10**6 * USDC)]})
    move(run.market, Fraction(55, 100))
    lost = run.step()
    assert run.auditor.books.collateral["WBTC"] == 10**8 // 10
    assert abs(run.tally.market_loss_e8 - lost) <= UNIT_E8
    assert lost > 1_000 * 10**8


def test_what_was_absorbed_at_a_loss_is_not_taken_back_when_another_is_absorbed_at_none(fork: Fork) -> None:
    run = Run(fork, {0: [Take("alice")], 1: [Take("rich")]})
    move(run.market, Fraction(60, 100))
    first = run.step()
    move(run.market, Fraction(100, 99))
    assert run.step() < 0 < first
    assert abs(run.tally.market_loss_e8 - first) <= UNIT_E8


def test_an_absorption_that_was_undone_lost_nothing(fork: Fork) -> None:
    fall = Move(Fraction(8, 10))
    run = Run(fork, {0: [Take("alice", fails=True), fall, Take("alice"), Take("alice")]})
    move(run.market, Fraction(70, 100))
    lost = run.step()
    assert [row.status for row in run.rows] == ["failed", "success", "success", "failed"]
    assert abs(run.tally.market_loss_e8 - lost) <= UNIT_E8
    assert lost > 1_000 * 10**8


SCENARIO = """
name: absorbed
chain: ethereum
steps: 6
step_time: 1h
prices:
  WETH: {process: ramp, at: 1, steps: 4, size: -65%}
agents:
  borrowers:
    kind: borrower
    protocol: compound_v3
    market: cUSDCv3
    count: 12
    collateral: WETH
    size_usd: {uniform: [20_000, 60_000]}
    debt: USDC
    health_factor: {uniform: [1.1, 2]}
    behaviour: hold
  liquidator: {kind: liquidator, protocol: compound_v3, market: cUSDCv3, frictionless: true}
"""


def test_the_bad_debt_of_a_scenario_is_what_its_market_lost() -> None:
    """The liquidator buys all it absorbs, but for dust that is worth less than the smallest unit of USDC."""
    played = play("", text=SCENARIO)
    market, liquidations = CompoundV3(played.built.world.fork), played.details("liquidate")
    assert len({row.step for row in played.actions if row.kind == "liquidate"}) > 1
    price = market.price_e8()
    assert sum(Books.of(market).collateral.values()) * market.price_e8("WETH") < len(liquidations) * UNIT_E8 * WETH
    expected = sum(max(0, (int(each["covered"]) - int(each["paid"])) * price // USDC) for each in liquidations)
    assert expected > 10_000 * 10**8
    assert abs(played.kpis["bad_debt"] - expected) <= len(liquidations) * UNIT_E8
