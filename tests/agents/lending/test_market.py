"""Aave, Spark and Compound through the common interface, each with its own arithmetic."""

from __future__ import annotations

import pytest

from mayavi.agents.lending.market import LendingMarket, addresses_of, read_liquidatable, read_seizable
from mayavi.agents.lending.open_market import lending_market
from mayavi.errors import BadArgument, CallReverted, UnknownName
from mayavi.evm.units import WAD
from mayavi.protocols import Erc20, PriceFeed
from mayavi.protocols.health import NO_DEBT
from mayavi.sim.world_state import WorldState
from tests.agents.stage import ETH_FEED, MARKETS, WETH, replica

ALICE, BOB, CAROL, KEEPER = (bytes([number]) * 20 for number in (0xA1, 0xB2, 0xC3, 0xD4))


def opened(market: LendingMarket, debt: str, factors: dict[bytes, int]) -> None:
    """Open positions of ten WETH each, at health factors in thousandths."""
    fork = market.fork
    for holder, factor in factors.items():
        fork.deal("WETH", holder, 10 * WETH)
        account = market.account(holder)
        account.supply("WETH", 10 * WETH)
        account.borrow(debt, market.loan_of(debt, account.health().debt_value_at(factor * WAD // 1_000)))


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
def test_many_accounts_read_at_once_are_what_each_says_alone(chain: str, market: str, debt: str, route: object) -> None:
    del route
    lending = lending_market(replica(chain), market)
    opened(lending, debt, {ALICE: 1_200, BOB: 1_700})
    lending.fork.mine(1_000)
    holders = [ALICE, BOB, CAROL]
    read = lending.healths(holders)
    assert [read[row] for row in range(3)] == [lending.account(holder).health() for holder in holders]
    assert read[2].health_factor_wad == NO_DEBT
    assert read.factors.tolist() == [*(read[row].health_factor_wad for row in range(2)), 2**64 - 1]
    assert not read.liquidatable.any()


def test_who_can_be_liquidated_is_found_once_for_all_that_observe() -> None:
    fork = replica("ethereum")
    lending = lending_market(fork, "AaveV3")
    opened(lending, "USDC", {ALICE: 1_050, BOB: 3_000})
    PriceFeed(fork, ETH_FEED).move_by("-0.2")
    world = WorldState(fork, [], seed=1)
    with world.observing():
        found = read_liquidatable(world, lending, (CAROL, ALICE, BOB))
        assert found == {ALICE: lending.account(ALICE).health().health_factor_wad}
        assert read_liquidatable(world, lending, (CAROL, ALICE, BOB)) is found


def test_who_has_nothing_left_to_seize_is_liquidatable_and_not_seizable() -> None:
    fork = replica("ethereum")
    lending = lending_market(fork, "AaveV3")
    opened(lending, "USDC", {ALICE: 1_050, BOB: 1_050})
    PriceFeed(fork, ETH_FEED).move_by("-0.5")
    fork.deal("USDC", KEEPER, 10**12)
    factor = lending.account(BOB).health().health_factor_wad
    (quote,) = lending.quote_liquidations([BOB], [factor], ["WETH"], ["USDC"])
    lending.liquidate(KEEPER, quote)
    world = WorldState(fork, [], seed=1)
    with world.observing():
        assert [*read_liquidatable(world, lending, (ALICE, BOB))] == [ALICE, BOB]
        assert read_seizable(world, lending, (ALICE, BOB)) == {ALICE: factor}


def test_equal_lists_of_accounts_give_the_same_addresses() -> None:
    worlds = [WorldState(replica(), [], seed=seed) for seed in (1, 2)]
    first, second = (addresses_of(world, ["a-0", "a-1"]) for world in worlds)
    assert first is second
    assert first == (worlds[0].address("a-0"), worlds[0].address("a-1"))


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
@pytest.mark.parametrize("factor", [1_150, 1_500, 3_333])
def test_a_loan_is_the_largest_that_leaves_the_health_factor(
    chain: str, market: str, debt: str, route: object, factor: int
) -> None:
    del route
    fork = replica(chain)
    fork.mine(777)  # interest has run, so shares and amounts differ
    lending = lending_market(fork, market)
    target = factor * WAD // 1_000
    opened(lending, debt, {ALICE: factor})
    account = lending.account(ALICE)
    assert account.health().health_factor_wad >= target
    # On Aave a value has eight decimals: the smallest unit of a token with more does not show there.
    visible = max(1, 10 ** (lending.decimals(debt) - 8) * 2)
    account.borrow(debt, visible)
    assert account.health().health_factor_wad < target


@pytest.mark.parametrize(("market", "debt"), [("AaveV3", "DAI"), ("AaveV3", "USDC"), ("Spark", "DAI")])
@pytest.mark.parametrize("value_e8", [10**8, 123_456_789_012, 1_700 * 10**8 + 99])
def test_no_larger_loan_is_worth_as_little(market: str, debt: str, value_e8: int) -> None:
    """Up to three units: the pool rounds the debt when it is made and when it is read."""
    fork = replica()
    fork.mine(777)
    lending = lending_market(fork, market)
    loan, price, unit = lending.loan_of(debt, value_e8), lending.price_e8(debt), 10 ** lending.decimals(debt)
    assert loan * price // unit <= value_e8 < (loan + 3) * price // unit


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
@pytest.mark.parametrize("fall", ["-0.17", "-0.25", "-0.45"])
def test_a_prize_is_what_the_liquidation_then_does_to_the_unit(
    chain: str, market: str, debt: str, route: object, fall: str
) -> None:
    del route
    fork = replica(chain)
    lending = lending_market(fork, market)
    opened(lending, debt, {ALICE: 1_180})
    PriceFeed(fork, ETH_FEED).move_by(fall)
    fork.deal(debt, KEEPER, 10**30)
    factor = lending.account(ALICE).health().health_factor_wad
    (quote,) = lending.quote_liquidations([ALICE], [factor], ["WETH"], [debt])
    owed = lending.account(ALICE).debt(debt)
    paid_before = Erc20(fork, debt).balance_of(KEEPER)
    taken = lending.liquidate(KEEPER, quote)
    assert (taken.covered, taken.paid, taken.seized) == (quote.cover, quote.pays, quote.seized)
    assert Erc20(fork, "WETH").balance_of(KEEPER) == quote.seized
    assert paid_before - Erc20(fork, debt).balance_of(KEEPER) == quote.pays
    if not market.startswith("c"):
        assert lending.account(ALICE).debt(debt) in (owed - quote.cover, owed - quote.cover + 1)


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
def test_a_prize_is_no_more_than_the_money_there_is(chain: str, market: str, debt: str, route: object) -> None:
    del route
    fork = replica(chain)
    lending = lending_market(fork, market)
    opened(lending, debt, {ALICE: 1_180})
    PriceFeed(fork, ETH_FEED).move_by("-0.2")
    funds = 500 * 10 ** lending.decimals(debt)
    fork.deal(debt, KEEPER, funds)
    factor = lending.account(ALICE).health().health_factor_wad
    (quote,) = lending.quote_liquidations([ALICE], [factor], ["WETH"], [debt], {debt: funds})
    assert quote.pays == funds
    taken = lending.liquidate(KEEPER, quote)
    assert (taken.paid, taken.seized) == (quote.pays, quote.seized)
    assert Erc20(fork, debt).balance_of(KEEPER) == 0


def test_half_of_a_debt_may_be_covered_and_all_of_it_far_below() -> None:
    fork = replica()
    lending = lending_market(fork, "aave")
    opened(lending, "USDC", {ALICE: 1_180})
    owed = lending.account(ALICE).debt("USDC")
    for at_least, share in (("-0.16", 2), ("-0.2", 1)):
        with fork.snapshot():
            PriceFeed(fork, ETH_FEED).move_by(at_least)
            factor = lending.account(ALICE).health().health_factor_wad
            (quote,) = lending.quote_liquidations([ALICE], [factor], ["WETH"], ["USDC"])
            assert quote.cover == (owed + share - 1) // share


@pytest.mark.parametrize(("above_e8", "share"), [(1, 2), (0, 1), (-1, 1)])
def test_at_a_health_factor_of_exactly_095_the_pool_lets_all_be_covered(above_e8: int, share: int) -> None:
    """The price is chosen so that the pool itself says 0.95 to the last digit, or just above or below it."""
    fork = replica()
    lending = lending_market(fork, "aave")
    pool = lending.market  # type: ignore[attr-defined]
    PriceFeed(fork, pool.oracle.getSourceOfAsset(pool.address_of("USDC"))).move(10**8)
    fork.deal("WETH", ALICE, 10 * WETH)
    account, amount = lending.account(ALICE), 8_300 * 10**6
    account.supply("WETH", 10 * WETH)
    account.borrow("USDC", amount)
    while (owed := account.debt("USDC")) % 83:  # the pool rounds debts, and the price has to come out even
        account.borrow("USDC", 1)
    assert pool.reserve("WETH").configuration.liquidation_threshold_bps == 8_300
    PriceFeed(fork, ETH_FEED).move(owed * 950 // 83 + above_e8)  # 10 · price · 83 % = 95 % of the debt
    factor = account.health().health_factor_wad
    assert (factor > 95 * WAD // 100, factor == 95 * WAD // 100) == (above_e8 > 0, above_e8 == 0)
    (quote,) = lending.quote_liquidations([ALICE], [factor], ["WETH"], ["USDC"])
    fork.deal("USDC", KEEPER, 10**12)
    done = pool.account(KEEPER).liquidate(ALICE, "WETH", "USDC", owed)  # the pool takes as much as it allows
    assert quote.cover == done.covered == (owed + share - 1) // share
    assert quote.seized == done.seized


def test_an_account_in_an_efficiency_mode_is_liquidated_at_that_modes_bonus() -> None:
    fork = replica()
    lending = lending_market(fork, "AaveV3")
    fork.deal("wstETH", ALICE, 10 * WETH)
    account = lending.market.account(ALICE)  # type: ignore[attr-defined]
    account.set_emode(1)
    account.supply("wstETH", 10 * WETH)
    health = lending.account(ALICE).health()
    lending.account(ALICE).borrow("WETH", lending.loan_of("WETH", health.debt_value_at(105 * WAD // 100)))
    PriceFeed(fork, "Aave.wstETH/USD").move_by("-0.06")
    factor = lending.account(ALICE).health().health_factor_wad
    assert factor < WAD
    fork.deal("WETH", KEEPER, 100 * WETH)
    (quote,) = lending.quote_liquidations([ALICE], [factor], ["wstETH"], ["WETH"])
    taken = lending.liquidate(KEEPER, quote)
    assert (taken.covered, taken.seized) == (quote.cover, quote.seized)


def test_collateral_that_is_not_used_as_such_is_no_prize() -> None:
    fork = replica()
    lending = lending_market(fork, "AaveV3")
    opened(lending, "USDC", {ALICE: 1_180})
    fork.deal("WBTC", ALICE, 10**6)
    account = lending.market.account(ALICE)  # type: ignore[attr-defined]
    account.supply("WBTC", 10**6)
    account.set_collateral("WBTC", False)
    PriceFeed(fork, ETH_FEED).move_by("-0.2")
    factor = lending.account(ALICE).health().health_factor_wad
    assert [
        quote.collateral for quote in lending.quote_liquidations([ALICE], [factor], ["WETH", "WBTC"], ["USDC"])
    ] == ["WETH"]


def test_who_has_no_collateral_changes_no_quote_of_the_others() -> None:
    fork = replica()
    lending = lending_market(fork, "AaveV3")
    opened(lending, "USDC", {ALICE: 1_180})
    PriceFeed(fork, ETH_FEED).move_by("-0.2")
    factor = lending.account(ALICE).health().health_factor_wad
    alone = lending.quote_liquidations([ALICE], [factor], ["WETH"], ["USDC"])
    assert [quote.borrower for quote in alone] == [ALICE]
    others = [bytes([number]) * 20 for number in range(1, 9)]
    mixed = [*others[:3], ALICE, *others[3:]]
    factors = [factor if each == ALICE else 0 for each in mixed]
    assert lending.quote_liquidations(mixed, factors, ["WETH"], ["USDC"]) == alone
    assert lending.quote_liquidations(others, [0] * 8, ["WETH"], ["USDC"]) == []


def test_while_compound_has_its_reserves_it_absorbs_and_sells_nothing() -> None:
    fork = replica()
    lending = lending_market(fork, "compound")
    opened(lending, "USDC", {ALICE: 1_180})
    market = lending.market  # type: ignore[attr-defined]
    fork.deal("USDC", market.address, Erc20(fork, "USDC").balance_of(market.address) + market.target_reserves)
    PriceFeed(fork, ETH_FEED).move_by("-0.2")
    (quote,) = lending.quote_liquidations([ALICE], [0], ["WETH"], ["USDC"])
    assert (quote.pays, quote.seized) == (0, 0)
    taken = lending.liquidate(KEEPER, quote)
    assert taken.covered == quote.cover > 0
    assert lending.account(ALICE).debt("USDC") == 0


@pytest.mark.parametrize(("percent", "sells"), [(-50, True), (0, True), (50, True), (150, False)])
def test_compound_sells_if_the_absorbed_debt_brings_its_reserves_below_the_target(percent: int, sells: bool) -> None:
    """Reserves start above their target by a share of the debt; the market itself decides."""
    fork = replica()
    lending = lending_market(fork, "compound")
    opened(lending, "USDC", {ALICE: 1_180})
    market = lending.market  # type: ignore[attr-defined]
    fork.deal("USDC", KEEPER, 10**12)
    PriceFeed(fork, ETH_FEED).move_by("-0.2")
    cash = Erc20(fork, "USDC").balance_of(market.address)
    above = lending.account(ALICE).debt("USDC") * percent // 100
    fork.deal("USDC", market.address, cash + market.target_reserves - market.reserves + above)
    (quote,) = lending.quote_liquidations([ALICE], [0], ["WETH"], ["USDC"])
    assert bool(quote.pays) is sells
    with fork.snapshot():
        taken = lending.liquidate(KEEPER, quote)
        assert (taken.paid, taken.seized) == (quote.pays, quote.seized)
    market.absorb(ALICE, sender=KEEPER)
    if sells:
        assert market.buy_collateral("WETH", quote.pays, sender=KEEPER).amount == quote.seized
    else:
        with pytest.raises(CallReverted, match="NotForSale"):
            market.buy_collateral("WETH", 10**6, sender=KEEPER)


def test_who_is_healthy_is_not_liquidated() -> None:
    for market in ("AaveV3", "Spark", "cUSDCv3"):
        lending = lending_market(replica(), market)
        debt = "DAI" if market == "Spark" else "USDC"
        opened(lending, debt, {ALICE: 1_180})
        lending.fork.deal(debt, KEEPER, 10**30)
        (quote,) = lending.quote_liquidations([ALICE], [WAD - 1], ["WETH"], [debt])
        with pytest.raises(CallReverted, match=r"HEALTH_FACTOR_NOT_BELOW_THRESHOLD|NotLiquidatable"):
            lending.liquidate(KEEPER, quote)
        assert lending.account(ALICE).debt(debt) > 0


def test_compound_lends_its_base_token_alone() -> None:
    lending = lending_market(replica(), "cUSDCv3")
    with pytest.raises(BadArgument, match="lends USDC alone, not WETH"):
        lending.account(ALICE).borrow("WETH", 1)
    assert lending.account(ALICE).debt("WETH") == 0


def test_compounds_loan_is_the_largest_to_the_unit_while_interest_runs() -> None:
    """Nobody touches the market for years, so its stored index is old, and debts round up more often."""
    fork = replica()
    lending = lending_market(fork, "cUSDCv3")
    fork.deal("WETH", ALICE, 10 * WETH)
    account = lending.account(ALICE)
    account.supply("WETH", 10 * WETH)
    fork.mine(10_000_000)
    price = lending.price_e8("USDC")
    for value_e8 in range(5_000 * 10**8, 5_000 * 10**8 + 4_000, 101):
        loan = lending.loan_of("USDC", value_e8)
        for amount, fits in ((loan, True), (loan + 1, False)):
            with fork.snapshot():
                account.borrow("USDC", amount)
                assert (account.debt("USDC") * price // 10**6 <= value_e8) is fits


def test_a_loan_below_compounds_minimum_is_none() -> None:
    lending = lending_market(replica(), "cUSDCv3")
    assert lending.loan_of("USDC", 99 * 10**8) == 0
    assert lending.loan_of("USDC", 101 * 10**8) > 100 * 10**6


def test_an_unknown_market_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown lending market 'Sprk'") as error:
        lending_market(replica(), "Sprk")
    assert "'Spark'" in str(error.value.hint)
    assert "CompoundV3.cUSDCv3" in str(error.value.hint)
    with pytest.raises(UnknownName, match="no SparkLend market is known on chain 8453"):
        lending_market(replica("base"), "Spark")
