"""Agents on pools created by a scenario: recorded trades, noise, partial sales, fleeing holders."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from mayavi import Fork
from mayavi.agents.lending.opening_borrower import OpeningBorrower
from mayavi.agents.trading.curve_arbitrageur import CurveArbitrageur
from mayavi.agents.trading.curve_holders import CurveHolders
from mayavi.agents.trading.noise_traders import NoiseTraders
from mayavi.agents.trading.recorded_trades import RecordedTrade, RecordedTradesAgent
from mayavi.agents.trading.selling import SellsAtOnce, SellsOverSteps, SellsShare, Tranche
from mayavi.errors import ActionRefused, BadArgument
from mayavi.markets import PricePaths, Step
from mayavi.markets.distributions import Constant
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.creation import create_pool
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState

POOL = ("WETH", "USDC", 500)


@pytest.fixture
def fork() -> Fork:
    return Fork.replica("ethereum")


def give(fork: Fork):
    def giving(symbol: str, holder: bytes, amount: int) -> None:
        fork.deal(symbol, holder, Erc20(fork, symbol).balance_of(holder) + amount)

    return giving


def test_recorded_trades_are_made_by_their_accounts_in_the_order_of_the_record(fork: Fork) -> None:
    trades = [
        RecordedTrade(0, "buy", "ann", 5_000 * 10**6),
        RecordedTrade(1, "sell", "ann", 10**18),
        RecordedTrade(1, "buy", "bob", 10**6),
        RecordedTrade(2, "sell", "bob", 10**18),
    ]
    agent = RecordedTradesAgent("tape", token="WETH", quote="USDC", fee=500, trades=trades, give=give(fork))
    world = WorldState(fork, [agent], seed=1)
    scheduler = Scheduler(world, [AgentBlock("market", [agent])], ordering="fifo")
    rows = [row for _ in range(4) for row in scheduler.tick()[0]]
    assert [(row.step, row.account, row.kind) for row in rows] == [
        (0, "tape-ann", "buy"),
        (1, "tape-ann", "sell"),
        (1, "tape-bob", "buy"),
        (2, "tape-bob", "sell"),
    ]
    assert all(row.status == "success" for row in rows)
    assert Erc20(fork, "WETH").balance_of(world.address("tape-ann")) < 10**18  # about 1.95 bought, one sold
    assert Erc20(fork, "WETH").balance_of(world.address("tape-bob")) == 0  # wanted to sell more than it had


def test_noise_is_drawn_from_the_agents_own_stream_and_leaves_the_price_about_where_it_is(fork: Fork) -> None:
    before = UniswapV3(fork).pool(*POOL).price("WETH")
    capital = {"WETH": 10**21, "USDC": 10**13}
    agent = NoiseTraders(
        "noise", pool=POOL, trades_a_step=20, size=Constant(1_000), buys="0.5", capital=capital, give=give(fork)
    )
    world = WorldState(fork, [agent], seed=5)
    scheduler = Scheduler(world, [AgentBlock("market", [agent])])
    rows = [row for _ in range(5) for row in scheduler.tick()[0]]
    assert 60 < len(rows) < 140
    assert {row.status for row in rows} == {"success"}
    assert abs(UniswapV3(fork).pool(*POOL).price("WETH") / before - 1) < Decimal("0.01")


def test_noise_traders_without_money_fail_and_say_so(fork: Fork) -> None:
    agent = NoiseTraders("noise", pool=POOL, trades_a_step=9, size=Constant(1), buys=1, capital={}, give=give(fork))
    world = WorldState(fork, [agent], seed=5)
    rows, _ = Scheduler(world, [AgentBlock("market", [agent])]).tick()
    assert rows
    assert all("the traders have no USDC left" in row.reason for row in rows)
    with pytest.raises(BadArgument):
        NoiseTraders("x", pool=POOL, trades_a_step=-1, size=Constant(1), buys=1, capital={}, give=give(fork))


def test_a_share_of_each_tranche_is_for_sale() -> None:
    tranche = Tranche(1_001, since=3)
    assert SellsShare(SellsAtOnce(), "0.6").due(tranche, 3) == 600
    assert SellsShare(SellsAtOnce(), "0.6").least_price is None
    spread = SellsShare(SellsOverSteps(2), "0.5")
    assert spread.due(tranche, 3) == 250
    tranche.sold = 250
    assert spread.due(tranche, 4) == 250


def test_holders_flee_when_the_outside_price_falls_below_their_threshold(fork: Fork) -> None:
    prices = PricePaths.draw({"USDC": Step(at=1, size=-0.05)}, {"USDC": 1.0}, steps=4, step_seconds=3600, seed=1)
    agents = [
        CurveHolders(
            name,
            members=3,
            pool="Curve.3pool",
            coin="USDC",
            wants="DAI",
            amount=Constant(1_000),
            flees_below=Constant(threshold),
        )
        for name, threshold in (("timid", 0.99), ("bold", 0.90))
    ]
    world = WorldState(fork, agents, seed=1, prices=prices)
    scheduler = Scheduler(world, [AgentBlock("market", agents)])
    rows = [row for _ in range(3) for row in scheduler.tick()[0]]
    assert [(row.step, row.agent) for row in rows] == [(1, "timid")] * 3
    assert Erc20(fork, "USDC").balance_of(world.address("timid-0")) == 0
    assert Erc20(fork, "DAI").balance_of(world.address("timid-0")) > 990 * 10**18
    assert Erc20(fork, "USDC").balance_of(world.address("bold-0")) == 1_000 * 10**6


def test_holders_wait_while_the_pool_pays_less_than_the_market_outside(fork: Fork) -> None:
    whale = bytes(19) + b"\x07"
    held = Erc20(fork, "DAI").balance_of(CurveStableSwap(fork, "Curve.3pool").address)
    fork.deal("USDC", whale, held // 10**12 * 5)
    CurveStableSwap(fork, "Curve.3pool").exchange("USDC", "DAI", held // 10**12 * 5, sender=whale)
    prices = PricePaths.draw({"USDC": Step(at=1, size=-0.05)}, {"USDC": 1.0}, steps=4, step_seconds=3600, seed=1)
    agent = CurveHolders(
        "timid",
        members=2,
        pool="Curve.3pool",
        coin="USDC",
        wants="DAI",
        amount=Constant(1_000),
        flees_below=Constant(0.99),
    )
    world = WorldState(fork, [agent], seed=1, prices=prices)
    scheduler = Scheduler(world, [AgentBlock("market", [agent])], record_rests=True)
    rows = [row for _ in range(3) for row in scheduler.tick()[0]]
    assert {row.kind for row in rows} == {"rest"}
    assert "but the pool pays" in rows[-1].details


def test_a_loan_that_opens_on_the_record_is_one_bundle_of_step_zero(fork: Fork) -> None:
    agent = OpeningBorrower(
        "alice", collateral="WETH", collateral_amount=10**18, debt="USDC", debt_amount=10**9, cash_share="0.25"
    )
    world = WorldState(fork, [agent], seed=1)
    scheduler = Scheduler(world, [AgentBlock("market", [agent])])
    rows, _ = scheduler.tick()
    assert [row.kind for row in rows] == ["open"]
    assert Erc20(fork, "USDC").balance_of(world.address("alice")) == 250 * 10**6
    assert agent.opened
    assert scheduler.tick()[0] == []  # its health factor is its target


def test_a_loan_too_large_fails_whole_and_is_tried_again(fork: Fork) -> None:
    agent = OpeningBorrower("alice", collateral="WETH", collateral_amount=10**18, debt="USDC", debt_amount=10**10)
    world = WorldState(fork, [agent], seed=1)
    scheduler = Scheduler(world, [AgentBlock("market", [agent])])
    rows = scheduler.tick()[0] + scheduler.tick()[0]
    assert [(row.kind, row.status) for row in rows] == [("open", "failed")] * 2
    assert not agent.opened
    assert Erc20(fork, "WETH").balance_of(world.address("alice")) == 10**18  # nothing of it stays supplied


def test_a_pool_is_created_at_its_price_and_gets_a_name(fork: Fork) -> None:
    pool = create_pool(fork, "LINK", "USDC", 3000, "14.25")
    assert abs(pool.price("LINK") / Decimal("14.25") - 1) < Decimal("1e-9")
    assert fork.labels["UniswapV3.LINK/USDC.3000"]
    assert pool.liquidity == 0
    backwards = create_pool(fork, "USDC", "LINK", 500, "0.07")
    assert abs(backwards.price("USDC") / Decimal("0.07") - 1) < Decimal("1e-9")
    with pytest.raises(ActionRefused, match="already"):
        create_pool(fork, "LINK", "USDC", 3000, 1)
    for token, other, fee, price in (("LINK", "USDC", 123, 1), ("LINK", "LINK", 500, 1), ("LINK", "DAI", 500, 0)):
        with pytest.raises(BadArgument):
            create_pool(fork, token, other, fee, price)


class Outside:
    """Outside prices with USDC at ninety cents and everything else at a dollar."""

    def usd_e8(self, world: object, token: str) -> int:
        del world
        return 90_000_000 if token == "USDC" else 100_000_000


def test_an_arbitrageur_brings_a_curve_pool_to_the_price_outside(fork: Fork) -> None:
    capital = {"DAI": 10**26, "USDC": 10**15, "USDT": 10**15}
    agent = CurveArbitrageur("arb", pool="Curve.3pool", capital=capital, reference=Outside())
    world = WorldState(fork, [agent], seed=1)
    scheduler = Scheduler(world, [AgentBlock("market", [agent])])
    rows = [row for _ in range(12) for row in scheduler.tick()[0]]
    gains = [int(json.loads(row.details)["profit_e8"]) for row in rows]
    assert gains
    assert min(gains) > 0
    assert gains[0] == max(gains)
    pool = CurveStableSwap(fork, "Curve.3pool")
    for coin, unit in (("DAI", 10**18), ("USDT", 10**6)):
        assert pool.quote("USDC", coin, 10**6) / unit == pytest.approx(0.90, abs=0.005)
    assert scheduler.tick()[0] == []  # near enough: nothing pays any more


def test_an_arbitrageur_makes_no_trade_that_rounding_would_eat(fork: Fork) -> None:
    """At a profit of less than a unit it would trade one coin in every block, for ever, and lose by it."""

    class Nearly:
        def usd_e8(self, world: object, token: str) -> int:
            del world
            return {"USDC": 99_997_427, "DAI": 99_990_004, "USDT": 100_017_686}[token]

    capital = {"DAI": 10**26, "USDC": 10**14, "USDT": 10**14}
    agent = CurveArbitrageur("arb", pool="Curve.3pool", capital=capital, reference=Nearly())
    scheduler = Scheduler(WorldState(fork, [agent], seed=1), [AgentBlock("market", [agent])])
    steps = [scheduler.tick()[0] for _ in range(25)]
    assert min(int(json.loads(row.details)["profit_e8"]) for rows in steps for row in rows) > 0
    assert steps[0]
    assert not steps[-1]


def test_an_arbitrageur_without_the_coin_that_is_dear_does_nothing(fork: Fork) -> None:
    agent = CurveArbitrageur("arb", pool="Curve.3pool", capital={"DAI": 10**26}, reference=Outside())
    world = WorldState(fork, [agent], seed=1)
    assert Scheduler(world, [AgentBlock("market", [agent])]).tick()[0] == []
