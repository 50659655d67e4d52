"""A liquidator takes what pays: exactly what the market allows, after sale and gas."""

from __future__ import annotations

import pytest

from mayavi.agents import LiquidatorAgent
from mayavi.agents.base import Agent
from mayavi.agents.lending.open_market import lending_market
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD, gwei
from mayavi.protocols import AaveV3, CompoundV3, Erc20, PriceFeed
from tests.agents.liquidation.places import PLACES, Place, lowered
from tests.agents.stage import DIRECT, ETH_FEED, OVER_USDC, WETH, Stage, details, of, replica


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
    premium = (facts["paid"] * bot._lender.premium_bps + 5_000) // 10_000
    assert facts["profit"] == facts["received"] - facts["paid"] - premium
    assert Erc20(stage.fork, place.debt).balance_of(bot.address) == facts["profit"] > 0
    assert facts["expected_profit_e8"] == pytest.approx(facts["profit_e8"], abs=3)


def test_flash_loans_come_from_aave_or_morpho() -> None:
    place = Place(market="cUSDCv3")
    with pytest.raises(BadArgument, match=r"flash loans come from Aave or Morpho, not from CompoundV3\.cUSDCv3"):
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
