"""Liquidators take what pays: exactly what the pool allows, after sale and gas; the slower one fails."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from mayavi.agents import BorrowerAgent, BorrowerPopulation, FrictionlessLiquidator, LiquidatorAgent, Passive
from mayavi.agents.base import Agent
from mayavi.agents.lending.open_market import lending_market
from mayavi.errors import BadArgument
from mayavi.evm.fork import Fork
from mayavi.evm.units import WAD, gwei
from mayavi.markets.distributions import Uniform
from mayavi.protocols import AaveV3, CompoundV3, Erc20, PriceFeed, UniswapV3
from mayavi.protocols.uniswap.route import RouteLike
from mayavi.sim.rows import ActionRow
from tests.agents.stage import DIRECT, ETH_FEED, MARKETS, OVER_USDC, WETH, Stage, details, of, replica


@dataclass
class Place:
    """Market to liquidate on."""

    chain: str = "ethereum"
    market: str = "AaveV3"
    debt: str = "USDC"
    route: RouteLike = DIRECT

    def borrower(self, name: str = "alice", target: str = "1.2", amount: int = 10 * WETH) -> BorrowerAgent:
        return BorrowerAgent(
            name,
            collateral="WETH",
            collateral_amount=amount,
            debt=self.debt,
            target=target,
            market=self.market,
            behaviour=Passive(),
        )

    def liquidator(self, name: str = "bot", watch: tuple[str, ...] = ("alice",), **options: object) -> LiquidatorAgent:
        given: dict[str, object] = {"routes": {"WETH": self.route}, "capital": {self.debt: 10**12 * 10**12}}
        if self.debt == "USDC":
            given["capital"] = {"USDC": 10**12}
        return LiquidatorAgent(
            name,
            watch=watch,
            collaterals=["WETH"],
            debts=[self.debt],
            market=self.market,
            **{**given, **options},  # type: ignore[arg-type]
        )


PLACES = [pytest.param(Place(*parameter.values), id=parameter.id) for parameter in MARKETS]  # type: ignore[arg-type]


def lowered(fork: Fork, route: RouteLike = DIRECT) -> None:
    """Sell ether until the pool pays about a fifth less."""
    seller = bytes([0x5E]) * 20
    uniswap = UniswapV3(fork)
    pool = uniswap.pool("WETH", "USDC", 500)
    root = pool.sqrt_price_x96
    limit = root * 112 // 100 if pool.token1.symbol == "WETH" else root * 89 // 100
    fork.deal("WETH", seller, 10**24)
    uniswap.swap_exact_input(DIRECT, 10**24, sender=seller, sqrt_price_limit_x96=limit)


@pytest.mark.parametrize("place", PLACES)
def test_it_liquidates_the_most_sells_it_all_and_knows_what_it_earned(place: Place) -> None:
    alice, bot = place.borrower(), place.liquidator()
    stage = Stage(replica(place.chain), [alice, bot])
    fork = stage.fork
    assert of(stage.step(), "bot").kind == "rest"
    lowered(fork)
    token = Erc20(fork, place.debt)
    before = token.balance_of(bot.address)
    row = of(stage.after("-0.2"), "bot")
    facts = details(row)
    assert (row.kind, row.status) == ("liquidate", "success"), row.reason
    assert facts["borrower"] == "alice"
    assert (facts["collateral"], facts["debt"]) == ("WETH", place.debt)
    assert token.balance_of(bot.address) - before == facts["profit"] == facts["received"] - facts["paid"] > 0
    assert Erc20(fork, "WETH").balance_of(bot.address) == 0
    assert facts["expected_profit_e8"] == pytest.approx(facts["profit_e8"], abs=2)
    assert facts["borrower_health_factor_wad"] < WAD
    assert facts["borrower_health_factor_after_wad"] > facts["borrower_health_factor_wad"]
    assert not lending_market(fork, place.market).account(alice.address).health().liquidatable


@pytest.mark.parametrize("place", PLACES)
def test_of_two_that_race_the_slower_is_refused_and_stays_in_the_record(place: Place) -> None:
    agents: list[Agent] = [
        place.borrower(),
        place.liquidator("fast", priority_fee_wei=gwei(2)),
        place.liquidator("slow", priority_fee_wei=gwei(1)),
    ]
    stage = Stage(replica(place.chain), agents, ordering="priority_fee", base_fee_wei=gwei(1))
    lowered(stage.fork)
    rows = [row for row in stage.after("-0.25") if row.kind == "liquidate"]
    assert [(row.agent, row.status) for row in rows] == [("fast", "success"), ("slow", "failed")]
    assert "HEALTH_FACTOR_NOT_BELOW_THRESHOLD" in rows[1].reason or "NotLiquidatable" in rows[1].reason
    assert details(rows[1])["borrower"] == "alice"
    assert int(rows[0].fee_wei) > 0


def test_the_race_is_drawn_by_lot_where_nobody_pays_for_a_place() -> None:
    winners = set()
    for seed in range(8):
        agents: list[Agent] = [Place().borrower(), Place().liquidator("one"), Place().liquidator("two")]
        stage = Stage(replica(), agents, seed=seed)
        rows = [row for row in stage.after("-0.25") if row.kind == "liquidate"]
        assert sorted(row.status for row in rows) == ["failed", "success"]
        winners.add(rows[0].agent)
    assert winners == {"one", "two"}


def test_half_at_a_time_near_the_threshold_and_more_than_one_step() -> None:
    alice, bot = Place().borrower(target="1.1"), Place().liquidator()
    stage = Stage(replica(), [alice, bot])
    owed = AaveV3(stage.fork).account(alice.address).debt("USDC")
    facts = details(of(stage.after("-0.1"), "bot"))
    assert facts["covered"] == pytest.approx(owed / 2, rel=1e-6)
    assert 95 * WAD // 100 < facts["borrower_health_factor_wad"] < WAD


def test_it_covers_what_its_money_pays_for() -> None:
    alice, bot = Place().borrower(), Place().liquidator(capital={"USDC": 1_000 * 10**6})
    stage = Stage(replica(), [alice, bot])
    facts = details(of(stage.after("-0.2"), "bot"))
    assert facts["covered"] == facts["paid"] == 1_000 * 10**6
    # It sold what it seized, so the same money serves again, with what it earned.
    again = details(of(stage.step(), "bot"))
    assert again["covered"] == 1_000 * 10**6 + facts["profit"]


@pytest.mark.parametrize("place", [Place(), Place("base"), Place(market="Spark", debt="DAI", route=OVER_USDC)])
def test_a_flash_loan_takes_the_place_of_capital(place: Place) -> None:
    alice, bot = place.borrower(), place.liquidator(capital={}, flash_loan=True)
    stage = Stage(replica(place.chain), [alice, bot])
    row = of(stage.after("-0.2"), "bot")
    facts = details(row)
    assert (row.status, row.transactions) == ("success", 1), row.reason
    premium = (facts["paid"] * bot._premium_bps + 5_000) // 10_000
    assert facts["profit"] == facts["received"] - facts["paid"] - premium
    assert Erc20(stage.fork, place.debt).balance_of(bot.address) == facts["profit"] > 0
    assert facts["expected_profit_e8"] == pytest.approx(facts["profit_e8"], abs=3)


def test_flash_loans_come_from_aave_alone() -> None:
    place = Place(market="cUSDCv3")
    with pytest.raises(BadArgument, match=r"a flash loan is taken from Aave, and CompoundV3\.cUSDCv3 is none"):
        Stage(replica(), [place.borrower(), place.liquidator(flash_loan=True)])


def test_what_gas_would_eat_is_left_alone() -> None:
    def acted(base_fee: int) -> str:
        place = Place()
        agents: list[Agent] = [place.borrower(amount=WETH // 100), place.liquidator()]
        stage = Stage(replica(), agents, base_fee_wei=base_fee)
        return of(stage.after("-0.2"), "bot").kind

    assert acted(1) == "liquidate"
    assert acted(gwei(20)) == "rest"


def test_what_the_pool_would_pay_too_little_for_is_left_alone() -> None:
    alice, bot = Place().borrower(), Place().liquidator()
    stage = Stage(replica(), [alice, bot])
    lowered(stage.fork)
    lowered(stage.fork)  # the pool pays a third less, the oracle a fifth
    row = of(stage.after("-0.2"), "bot")
    assert row.kind == "rest"
    assert details(row)["note"] == "1 of 1 can be liquidated, 0 pay"


def test_a_sale_that_brings_too_little_undoes_the_liquidation() -> None:
    """Two liquidate two accounts; the pool absorbs one lot at a profit, and the second sale fails as a whole."""
    alice, bob = Place().borrower("alice", amount=6_500 * WETH), Place().borrower("bob", amount=6_500 * WETH)
    first = Place().liquidator("first", watch=("alice",), capital={"USDC": 10**14}, priority_fee_wei=2)
    second = Place().liquidator("second", watch=("bob",), capital={"USDC": 10**14}, priority_fee_wei=1)
    stage = Stage(replica(), [alice, bob, first, second], ordering="priority_fee")
    lowered(stage.fork)
    rows = {row.agent: row for row in stage.after("-0.2") if row.agent in ("first", "second")}
    assert (rows["first"].kind, rows["first"].status) == ("liquidate", "success")
    assert rows["second"].status == "failed"
    assert "Too little received" in rows["second"].reason
    assert Erc20(stage.fork, "WETH").balance_of(second.address) == 0
    assert Erc20(stage.fork, "USDC").balance_of(second.address) == 10**14


def crowd(members: int = 12) -> BorrowerPopulation:
    return BorrowerPopulation(
        "crowd", members=members, collateral="WETH", collateral_amount=Uniform(1, 9), debt="USDC", target=1.2
    )


def test_no_more_than_it_sends_in_a_block_and_the_rest_in_the_next_blocks() -> None:
    people = crowd()
    bot = Place().liquidator(watch=people.accounts, most_a_block=5)
    stage = Stage(replica(), [people, bot], step_blocks=300)
    rows = [row for row in stage.after("-0.2") if row.agent == "bot"]
    per_block = Counter(row.block_number for row in rows)
    first = min(per_block)
    assert per_block == {first: 5, first + 1: 5, first + 2: 2}
    assert {details(row)["borrower"] for row in rows} == set(people.accounts)
    assert not people.loan.lending.healths(people.addresses).liquidatable.any()
    # Each was quoted after the sales before it, so every expectation is what came out.
    for row in rows:
        facts = details(row)
        assert facts["expected_profit_e8"] == pytest.approx(facts["profit_e8"], abs=200)  # two units of USDC


def test_a_step_of_one_block_leaves_the_rest_to_the_next_step() -> None:
    people = crowd()
    bot = Place().liquidator(watch=people.accounts, most_a_block=5)
    stage = Stage(replica(), [people, bot])
    counts = [len(liquidated(stage.after("-0.2"))), len(liquidated(stage.step())), len(liquidated(stage.step()))]
    assert counts == [5, 5, 2]
    assert len(bot.limited["most_a_block"]) == 7


def test_the_richer_an_account_the_earlier_it_tends_to_come() -> None:
    ranks = []
    for seed in range(12):
        people = crowd()
        bot = Place().liquidator(watch=people.accounts, most_a_block=12)
        stage = Stage(replica(), [people, bot], seed=seed)
        order = [int(details(row)["borrower"].partition("-")[2]) for row in liquidated(stage.after("-0.2"))]
        richest = max(range(12), key=lambda member: people.amounts[member])
        ranks.append(order.index(richest))
    assert len(set(ranks)) > 1
    assert sum(ranks) / len(ranks) < 4.5  # a shuffle without weights gives 5.5


def test_competitors_go_for_different_accounts_and_collisions_fail() -> None:
    people = crowd()
    bots = [Place().liquidator(f"bot-{at}", watch=people.accounts, most_a_block=3) for at in range(3)]
    stage = Stage(replica(), [people, *bots])
    rows = liquidated(stage.after("-0.2"))
    assert len(rows) == 9
    done = [details(row)["borrower"] for row in rows if row.status == "success"]
    failed = [row for row in rows if row.status == "failed"]
    assert len(set(done)) == len(done) >= 5
    assert {details(row)["borrower"] for row in failed} <= set(done)
    assert all("HEALTH_FACTOR_NOT_BELOW_THRESHOLD" in row.reason for row in failed)


def test_a_slow_one_waits_its_blocks_even_if_nobody_else_acts() -> None:
    alice, bot = Place().borrower(), Place().liquidator(latency_blocks=7)
    stage = Stage(replica(), [alice, bot], step_blocks=300)
    stage.step()
    seen = stage.fork.block_number
    (row,) = liquidated(stage.after("-0.2"))
    assert row.status == "success"
    assert row.block_number == seen + 7


def test_of_a_fast_and_a_slow_one_the_fast_one_gets_the_account() -> None:
    agents = [Place().borrower(), Place().liquidator("fast"), Place().liquidator("slow", latency_blocks=1)]
    stage = Stage(replica(), agents, step_blocks=300)
    assert [(row.agent, row.status) for row in liquidated(stage.after("-0.2"))] == [("fast", "success")]


def test_what_is_too_large_for_the_pool_is_taken_in_parts() -> None:
    alice, bot = Place().borrower(amount=60_000 * WETH), Place().liquidator(capital={"USDC": 10**15})
    stage = Stage(replica(), [alice, bot])
    lowered(stage.fork)
    owed = AaveV3(stage.fork).account(alice.address).debt("USDC")
    row = of(stage.after("-0.2"), "bot")
    facts = details(row)
    assert (row.kind, row.status) == ("liquidate", "success"), row.reason
    assert 0 < facts["covered"] < owed // 3
    assert facts["profit"] > 0
    assert bot.limited["depth"] == {alice.address}


def test_a_block_holds_only_so_much_gas() -> None:
    people = crowd()
    bot = Place().liquidator(watch=people.accounts, most_a_block=12)
    stage = Stage(replica(), [people, bot], step_blocks=300)
    stage.fork.set_block(gas_limit=3_000_000)
    rows = liquidated(stage.after("-0.2"))
    used: Counter[int] = Counter()
    for row in rows:
        used[row.block_number] += row.gas_used
    assert len(rows) == 12
    assert len(used) > 2
    assert max(used.values()) <= 3_000_000


def test_it_says_why_an_account_is_left() -> None:
    def reason(pool_falls: int = 0, amount: int = 10 * WETH, base_fee: int | None = None, **options: object) -> str:
        alice, bot = Place().borrower(amount=amount), Place().liquidator(**options)
        stage = Stage(replica(), [alice, bot], base_fee_wei=base_fee)
        for _ in range(pool_falls):
            lowered(stage.fork)
        PriceFeed(stage.fork, ETH_FEED).move_by("-0.2")
        return bot.why_left(stage.world, ["alice", "somebody else"])["alice"]

    assert reason() == "too late"
    assert reason(capital={"USDC": 0}) == "no capital"
    assert reason(amount=WETH // 100, base_fee=gwei(20)) == "unprofitable: gas"
    assert reason(least_profit=10**9) == "unprofitable: gas"
    assert reason(pool_falls=2) == "unprofitable: depth"  # the pool pays a third less, the oracle a fifth


def liquidated(rows: list[ActionRow]) -> list[ActionRow]:
    return [row for row in rows if row.kind == "liquidate"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fall", ["-0.18", "-0.3", "-0.6"])
def test_without_friction_nobody_stays_liquidatable_who_has_collateral(place: Place, fall: str) -> None:
    people = BorrowerPopulation(
        "crowd",
        members=15,
        collateral="WETH",
        collateral_amount=Uniform(1, 9),
        debt=place.debt,
        target=Uniform(1.1, 1.6),
        market=place.market,
    )
    bot = FrictionlessLiquidator(
        "bot", watch=people.accounts, collaterals=["WETH"], debts=[place.debt], market=place.market
    )
    stage = Stage(replica(place.chain), [people, bot])
    rows = liquidated(stage.after(fall))
    assert rows
    assert all(row.status == "success" for row in rows)
    healths = people.loan.lending.healths(people.addresses)
    for member in range(15):
        assert healths[member].collateral_value_e8 < 100 or not healths.liquidatable[member]
    assert Erc20(stage.fork, "WETH").balance_of(bot.address) == sum(details(row)["seized"] for row in rows)


def test_bad_debt_begins_where_the_collateral_does_not_pay_debt_and_bonus() -> None:
    """s > 1 − LT·(1 + bonus)/HF, with the whole bonus: the treasury's share of it is the borrower's loss too."""
    target, threshold, bonus = 1.5, 0.83, 0.05
    edge = 1 - threshold * (1 + bonus) / target

    def left(fall: float) -> int:
        alice = Place().borrower(target=str(target))
        bot = FrictionlessLiquidator("bot", watch=("alice",), collaterals=["WETH"], debts=["USDC"])
        stage = Stage(replica(), [alice, bot])
        stage.after(f"-{fall:.6f}")
        health = lending_market(stage.fork, "AaveV3").account(alice.address).health()
        return health.debt_value_e8 if health.collateral_value_e8 == 0 else 0

    assert left(edge - 0.001) == 0
    assert left(edge + 0.001) > 0
    assert left(edge + 0.1) > left(edge + 0.001)


def test_compound_absorbs_what_the_liquidator_cannot_pay_for() -> None:
    place = Place(market="cUSDCv3")
    alice, bot = place.borrower(), place.liquidator(capital={"USDC": 1_000 * 10**6})
    stage = Stage(replica(), [alice, bot])
    facts = details(of(stage.after("-0.2"), "bot"))
    market = CompoundV3(stage.fork, "cUSDCv3")
    assert facts["paid"] == 1_000 * 10**6
    assert facts["covered"] > 15_000 * 10**6
    assert market.account(alice.address).debt == 0
    assert market.collateral_reserves("WETH") == 10 * WETH - facts["seized"]


def test_routes_may_differ_by_debt_and_none_is_needed_for_the_same_asset() -> None:
    bot = LiquidatorAgent(
        "bot",
        watch=(),
        collaterals=["WETH", "USDC"],
        debts=["USDC", "DAI"],
        routes={"WETH": DIRECT, ("WETH", "DAI"): OVER_USDC, "USDC": ("USDC", "DAI", 100)},
    )
    assert bot._route("WETH", "USDC") == DIRECT
    assert bot._route("WETH", "DAI") == OVER_USDC
    assert bot._route("USDC", "USDC") is None
    stage = Stage(replica(), [bot])
    assert details(of(stage.step(), "bot"))["note"] == "nobody to watch"


def test_a_route_that_does_not_end_in_the_debt_is_refused_before_it_is_counted_as_one() -> None:
    bot = Place().liquidator(routes={"WETH": OVER_USDC})  # ends in DAI, whose units are not those of USDC
    with pytest.raises(BadArgument, match="sells WETH for USDC by a route from WETH to DAI"):
        Stage(replica(), [bot])


def test_only_pairs_that_are_named_need_a_route() -> None:
    shared = {"watch": (), "collaterals": ["WETH", "WBTC"], "debts": ["USDC", "DAI"], "routes": {"WETH": DIRECT}}
    with pytest.raises(BadArgument, match="no route to sell WBTC for DAI"):
        LiquidatorAgent("bot", **shared)  # type: ignore[arg-type]
    bot = LiquidatorAgent("bot", pairs=[("WETH", "USDC")], **shared)  # type: ignore[arg-type]
    Stage(replica(), [bot])


def test_a_liquidator_that_cannot_sell_or_act_is_refused() -> None:
    with pytest.raises(BadArgument, match="no route to sell WETH for USDC"):
        Place().liquidator(routes={})
    with pytest.raises(BadArgument, match="sends 0 a block"):
        Place().liquidator(most_a_block=0)
    with pytest.raises(BadArgument, match="waits -1 blocks"):
        Place().liquidator(latency_blocks=-1)
    with pytest.raises(BadArgument, match="least profit of -1"):
        Place().liquidator(least_profit=-1)
    with pytest.raises(BadArgument, match="with a chance of 0"):
        Place().liquidator(notices=0)


def test_an_account_is_noticed_by_chance_and_liquidated_in_that_block() -> None:
    waits = []
    for seed in range(40):
        bot = Place().liquidator(notices=0.5)
        stage = Stage(replica(), [Place().borrower(), bot], seed=seed, step_blocks=300)
        start = stage.fork.block_number
        (row,) = liquidated(stage.after("-0.2"))
        waits.append(row.block_number - start)
    assert set(waits) > {0, 1, 2}
    assert 0.4 < sum(waits) / len(waits) < 1.8  # a geometric number of blocks: one on average
