"""The market in figures: what the adapters say, exactly, after every step."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi import Fork, ether
from mayavi.agents.base import StepResult, World
from mayavi.errors import UsageError
from mayavi.evm.abi.interface import Interface
from mayavi.protocols import AaveV3, CompoundV3, CurveStableSwap, PriceFeed, SparkLend, UniswapV3
from mayavi.protocols.aave_v2.market import AaveV2
from mayavi.protocols.tokens import Erc20
from mayavi.sim.figure_table import Figure, number
from mayavi.sim.market_figures import (
    AaveFigures,
    CompoundFigures,
    CurveFigures,
    FeedFigures,
    OutsidePrices,
    UniswapFigures,
)
from mayavi.sim.market_snapshot import MarketSnapshotHook
from mayavi.sim.population_figures import PopulationFigures, _summary, _summary_of_few
from mayavi.sim.world_state import WorldState
from tests.sim.small_world import Scripted, scheduled, wish


def figures(fork: Fork, *readers: object) -> dict[tuple[str, str], Figure]:
    hook = MarketSnapshotHook(readers)  # type: ignore[arg-type]
    list(hook.after_step(WorldState(fork, [], seed=1), []))
    return hook.latest


@pytest.mark.parametrize("market", [AaveV3, SparkLend])
def test_a_reserve_is_what_the_adapter_says(fork: Fork, market: type[AaveV3]) -> None:
    fork.mine(1_000)
    aave = market(fork)
    read = figures(fork, AaveFigures(aave))
    for reserve in aave.reserves():
        subject = f"{aave.prefix}.{reserve.symbol}"
        expected = {
            "supplied": reserve.supplied,
            "borrowed": reserve.borrowed,
            "available": reserve.available,
            "utilisation": reserve.utilisation_ray,
            "supply_rate": reserve.supply_rate_ray,
            "borrow_rate": reserve.variable_borrow_rate_ray,
            "price": reserve.price_usd_e8,
        }
        assert {metric: read[subject, metric].value for metric in expected} == expected
    held = sum(each.available * each.price_usd_e8 // 10**each.decimals for each in aave.reserves())
    assert read[aave.prefix, "tvl"] == Figure(aave.prefix, "tvl", held, "usd_e8")


@pytest.mark.parametrize(("market", "fields"), [(AaveV3, 15), (SparkLend, 15), (AaveV2, 12)])
def test_rates_are_where_the_pool_puts_them(market: type[AaveV3], fields: int) -> None:
    words = b"".join(number.to_bytes(32) for number in range(1, fields + 1))
    data = Interface.of(market.pool_abi).function("getReserveData").decode(words)
    assert (data.liquidityRate - 1, data.variableBorrowRate - 1) == market.rate_words


def test_readers_of_the_same_world_share_what_does_not_change(fork: Fork) -> None:
    first = AaveFigures(AaveV3(fork), ["WETH", "USDC"])
    copy = fork.copy(share_reads=True)
    second = AaveFigures(AaveV3(copy), ["WETH", "USDC"])
    assert second._reserves is first._reserves
    copy.deal("WETH", bytes(19) + b"\x11", 5)
    third = AaveFigures(AaveV3(copy), ["WETH", "USDC"])
    assert third._reserves is not first._reserves
    assert third._reserves == first._reserves


def test_a_compound_market_is_what_the_adapter_says(fork: Fork) -> None:
    fork.mine(1_000)
    comet = CompoundV3(fork)
    read = figures(fork, CompoundFigures(comet, ["WETH"]))
    rates, totals, name = comet.rates(), comet.totals(), "CompoundV3.cUSDCv3"
    assert read[name, "supplied"].value == totals.supplied
    assert read[name, "borrowed"].value == totals.borrowed
    assert read[name, "utilisation"].value == rates.utilisation_wad
    assert number(*read[name, "borrow_rate"][2:]) == pytest.approx(float(rates.borrow_rate))
    assert read[name, "reserves"].value == comet.reserves
    assert read[f"{name}.WETH", "supplied"].value == comet.asset("WETH").supplied
    assert read[f"{name}.WETH", "price"] == Figure(f"{name}.WETH", "price", comet.price_e8("WETH"), "usd_e8")
    assert not any("WBTC" in subject for subject, _ in read)
    both = figures(fork, CompoundFigures(comet, ["WETH", "WBTC"]))
    held = Erc20(fork, "USDC").balance_of(comet.address) * comet.price_e8() // 10**6
    for symbol, unit in (("WETH", 10**18), ("WBTC", 10**8)):
        amount = Erc20(fork, symbol).balance_of(comet.address)
        assert amount > 0
        held += amount * comet.price_e8(symbol) // unit
    assert both[name, "tvl"] == Figure(name, "tvl", held, "usd_e8")


def test_a_pool_has_a_price_in_the_order_of_its_name_and_is_worth_what_it_holds(fork: Fork) -> None:
    uniswap, aave = UniswapV3(fork), AaveV3(fork)
    pool = uniswap.pool("WETH", "USDC", 500)
    read = figures(fork, AaveFigures(aave, ["WETH"]), UniswapFigures(pool))
    name = "UniswapV3.WETH/USDC.500"
    assert read[name, "price"].value == int(pool.price("WETH") * 10**18)
    assert read[name, "liquidity"].value == pool.liquidity
    assert (read[name, "sqrt_price"].value, read[name, "tick"].value) == (pool.sqrt_price_x96, pool.tick)
    weth, usdc = (Erc20(fork, token).balance_of(pool.address) for token in ("WETH", "USDC"))
    assert read[name, "balance_WETH"] == Figure(name, "balance_WETH", weth, "e18")
    assert read[name, "balance_USDC"] == Figure(name, "balance_USDC", usdc, "e6")
    worth = weth * aave.price_usd_e8("WETH") // 10**18 + usdc * aave.price_usd_e8("USDC") // 10**6
    assert read[name, "tvl"].value == worth
    inverse = figures(fork, UniswapFigures(pool, base="USDC"))
    assert inverse[name, "price"].value == int(pool.price("USDC") * 10**18)
    assert (name, "tvl") not in inverse  # nobody there knows prices


def test_a_curve_pool_in_figures(fork: Fork) -> None:
    pool = CurveStableSwap(fork)
    read = figures(fork, CurveFigures(pool))
    assert read["Curve.3pool", "virtual_price"].value == pool.virtual_price_wad
    assert read["Curve.3pool", "amplification"].value == pool.a
    assert read["Curve.3pool", "price_USDC"].value == pool.quote("USDC", "DAI", 10**6)
    held = tuple(read["Curve.3pool", f"balance_{symbol}"].value for symbol in ("DAI", "USDC", "USDT"))
    assert held == tuple(map(sum, zip(pool.balances, pool.admin_balances, strict=True)))


def test_feeds_and_outside_prices_are_told_apart(fork: Fork) -> None:
    class Flat:
        def usd(self, symbol: str, step: int) -> float:
            return 100.0

        def usd_e8(self, symbol: str, step: int) -> int:
            return 100 * 10**8

    feed = PriceFeed(fork, "Chainlink.ETH/USD")
    hook = MarketSnapshotHook([FeedFigures(feed), OutsidePrices(["WETH"])])
    list(hook.after_step(WorldState(fork, [], seed=1, prices=Flat()), []))
    assert hook.latest == {
        ("Chainlink.ETH/USD", "price"): Figure("Chainlink.ETH/USD", "price", feed.answer, "usd_e8"),
        ("WETH", "market_price"): Figure("WETH", "market_price", 100 * 10**8, "usd_e8"),
    }


def test_a_population_is_counted_by_health_and_its_bad_debt_is_what_collateral_does_not_cover(fork: Fork) -> None:
    market = AaveV3(fork)
    world = WorldState(fork, [], seed=1)
    names = ["safe", "tight", "empty", "rich"]
    for name, share in (("safe", 3), ("tight", 1)):
        account = market.account(world.address(name))
        fork.deal("WETH", account.address, ether(10))
        account.supply("WETH", ether(10))
        account.borrow("USDC", account.data().available_usd_e8 // 100 // share)
    account = market.account(world.address("rich"))
    fork.deal("WETH", account.address, ether(1))
    account.supply("WETH", ether(1))

    def read() -> dict[str, int]:
        hook = MarketSnapshotHook([PopulationFigures("all", market, names, traced=["tight", "empty"])])
        list(hook.after_step(world, []))
        return {f"{subject} {metric}": figure.value for (subject, metric), figure in hook.latest.items()}

    before = read()
    data = {name: market.account(world.address(name)).data() for name in names}
    assert before["all accounts"] == 4
    assert before["all accounts_with_debt"] == 2
    assert before["all collateral"] == sum(each.collateral_usd_e8 for each in data.values())
    assert before["all debt"] == sum(each.debt_usd_e8 for each in data.values())
    assert before["all bad_debt"] == before["all accounts_with_bad_debt"] == 0
    assert before["all health_factor_below_1"] == 0
    assert before["all health_factor_below_1_10"] == 1
    assert before["all health_factor_below_3"] == 1
    assert before["all health_factor_lowest"] == before["tight health_factor"] == data["tight"].health_factor_wad
    assert "empty health_factor" not in before
    # Before the first step every account has its own figures, after it those that are traced.
    assert before["safe health_factor"] == data["safe"].health_factor_wad
    assert before["rich collateral"] == data["rich"].collateral_usd_e8

    world.step = 0
    PriceFeed(fork, "Chainlink.ETH/USD").move_by(-0.5)
    after, data = read(), {name: market.account(world.address(name)).data() for name in names}
    assert after["all health_factor_below_1"] == 1
    assert "safe health_factor" not in after
    assert after["tight health_factor"] == data["tight"].health_factor_wad
    short = data["tight"].debt_usd_e8 - data["tight"].collateral_usd_e8
    assert short > 0
    assert (after["all bad_debt"], after["all accounts_with_bad_debt"]) == (short, 1)


def test_a_health_factor_of_exactly_one_is_not_below_it(fork: Fork) -> None:
    market, world = AaveV3(fork), WorldState(fork, [], seed=1)
    PriceFeed(fork, market.oracle.getSourceOfAsset(market.address_of("USDC"))).move(10**8)
    account = market.account(world.address("edge"))
    fork.deal("WETH", account.address, ether(10))
    account.supply("WETH", ether(10))
    account.borrow("USDC", 8_300 * 10**6)
    while account.debt("USDC") % 83:
        account.borrow("USDC", 1)
    one = account.debt("USDC") * 1_000 // 83  # ten WETH at a threshold of 83 % are worth the debt
    for price, below in ((one + 1, 0), (one, 0), (one - 1, 1)):
        PriceFeed(fork, "Chainlink.ETH/USD").move(price)
        assert (account.data().health_factor_wad == 10**18) == (price == one)
        read = figures(fork, PopulationFigures("all", market, ["edge"]))
        assert read["all", "health_factor_below_1"].value == read["all", "liquidatable"].value == below


def test_an_account_without_collateral_cannot_be_liquidated_however_much_it_owes(fork: Fork) -> None:
    market, world = AaveV3(fork), WorldState(fork, [], seed=1)
    account, keeper = (market.account(world.address(name)) for name in ("poor", "keeper"))
    fork.deal("WETH", account.address, ether(10))
    account.supply("WETH", ether(10))
    account.borrow("USDC", account.data().available_usd_e8 // 100)
    PriceFeed(fork, "Chainlink.ETH/USD").move_by(-0.6)
    before = figures(fork, PopulationFigures("all", market, ["poor"]))
    assert before["all", "health_factor_below_1"].value == before["all", "liquidatable"].value == 1
    fork.deal("USDC", keeper.address, 10**12)
    keeper.liquidate(account.address, "WETH", "USDC", account.debt("USDC"))
    after = figures(fork, PopulationFigures("all", market, ["poor"]))
    assert after["all", "collateral"].value == 0 < after["all", "debt"].value
    assert (after["all", "health_factor_below_1"].value, after["all", "liquidatable"].value) == (1, 0)


def test_a_population_on_compound_is_read_the_same_way(fork: Fork) -> None:
    comet, world = CompoundV3(fork), WorldState(fork, [], seed=1)
    # Who owes nothing has no health factor there: it is counted among none of the sick.
    bob = comet.account(world.address("bob"))
    fork.deal("WETH", bob.address, ether(10))
    bob.supply("WETH", ether(10))
    bob.borrow(15_000 * 10**6)
    hook = MarketSnapshotHook([PopulationFigures("all", comet, ["bob", "nobody"], traced=["bob"])])
    list(hook.after_step(world, []))
    data = bob.data()
    assert hook.latest["all", "debt"].value == data.debt_value_e8
    assert hook.latest["bob", "health_factor"].value == data.liquidation_limit_e8 * 10**18 // data.debt_value_e8
    assert hook.latest["all", "accounts_with_debt"].value == 1
    assert hook.latest["all", "health_factor_below_3"].value == 1
    assert hook.latest["all", "health_factor_below_1"].value == 0
    assert hook.latest["all", "liquidatable"].value == 0


def test_rows_are_read_before_the_first_step_and_after_every_one(fork: Fork) -> None:
    def script(world: World, step_idx: int) -> StepResult:
        return wish("move", lambda: PriceFeed(world.fork, "Chainlink.ETH/USD").move_by(-0.1) and None)

    def rows(every: int) -> list[tuple[int, int, float]]:
        twin = fork.copy()
        feed = PriceFeed(twin, "Chainlink.ETH/USD")
        hook = MarketSnapshotHook([FeedFigures(feed)], every=every)
        scheduler = scheduled(twin, [Scripted("shock", script)], hooks=[hook])
        found = [row for _ in range(4) for row in scheduler.tick()[1]]
        assert hook.first["Chainlink.ETH/USD", "price"].value == int(found[0].value)
        return [(row.step, row.block_number - fork.block_number, row.number) for row in found]

    every = rows(1)
    assert [(step, block) for step, block, _ in every] == [(-1, 0), (0, 0), (1, 1), (2, 2), (3, 3)]
    prices = [price for _, _, price in every]
    assert prices == pytest.approx([prices[0] * float(Decimal("0.9") ** step) for step in range(5)])
    assert [step for step, _, _ in rows(2)] == [-1, 1, 3]


def test_a_snapshot_every_zero_steps_is_refused() -> None:
    with pytest.raises(UsageError, match="every 0 steps"):
        MarketSnapshotHook([], every=0)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (10**27, "ray", 1.0),
        (25, "e2", 0.25),
        (7, "count", 7.0),
        (5, "x96", 5.0),
        (123, "usd_e8", 1.23e-6),
        (3, "eggs", 3),
    ],
)
def test_a_unit_says_how_a_figure_is_read(value: int, unit: str, expected: float) -> None:
    assert number(value, unit) == expected


_VALUES = st.one_of(st.sampled_from([0, 1, 10**18 - 1, 10**18, 105 * 10**16, 2**64 - 1]), st.integers(0, 2**64 - 1))


@given(st.lists(st.tuples(_VALUES, _VALUES, _VALUES), max_size=12))
def test_few_accounts_are_summed_as_many_are(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array([row[at] for row in rows], dtype=np.uint64) for at in range(3)]
    assert _summary_of_few(*(column.tolist() for column in columns)) == _summary(*columns)
    collateral, debt = (sum(row[at] for row in rows) for at in (0, 1))
    assert _summary(*columns)[0][1:3] == [collateral, debt]


def test_the_latest_figures_are_those_of_the_last_read(fork: Fork) -> None:
    hook = MarketSnapshotHook([FeedFigures(PriceFeed(fork, "Chainlink.ETH/USD"))])
    world, key = WorldState(fork, [], seed=1), ("Chainlink.ETH/USD", "price")
    answers = []
    for change in (0, -0.1, -0.2):
        if change:
            PriceFeed(fork, "Chainlink.ETH/USD").move_by(change)
        (row,) = hook.after_step(world, [])
        answers.append(PriceFeed(fork, "Chainlink.ETH/USD").answer)
        assert (row.value, row.number) == (str(answers[-1]), answers[-1] / 10**8)
        assert hook.latest[key].value == answers[-1]
    assert hook.first[key].value == answers[0] != answers[-1]
