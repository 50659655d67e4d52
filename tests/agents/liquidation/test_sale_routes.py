"""Liquidators sell what they seize over Uniswap V4, or out of a Pendle market, with capital or a flash loan."""

from __future__ import annotations

from functools import cache

import pytest

from mayavi import Fork
from mayavi.agents import BorrowerAgent, LiquidatorAgent, Passive
from mayavi.agents.lending.open_market import lending_market
from mayavi.agents.liquidation.sale_routes import PendleRoute, SaleRouteLike, V4Route, open_route
from mayavi.errors import BadArgument, UnknownName
from mayavi.evm.units import RAY
from mayavi.protocols import AaveV2, Erc20, PendleMarket, UniswapV4
from mayavi.worlds.deploy.aave_v2 import ReserveV2, deploy_aave_v2
from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.deploy.pendle import create_pendle_market, deploy_pt_feed
from mayavi.worlds.deploy.uniswap_v4 import deploy_uniswap_v4
from tests.agents.liquidation.places import Place
from tests.agents.stage import WETH, Stage, details, of
from tests.states import state_of

DAY = 86_400
LP = bytes.fromhex("1b00000000000000000000000000000000000001")
PT, MARKET = "PT-wstETH-11JUL2024", "Pendle.wstETH-11JUL2024"
OVER_ETHER = V4Route(("ETH", "USDC", (900, 10)))
OVER_V4 = V4Route(("WETH", "USDC", (700, 10)))
THEN_V3 = ("wstETH", 100, "WETH", 500, "USDC")
THEN_V4 = V4Route(("wstETH", (300, 5), "WETH", (700, 10), "USDC"))


@cache
def _world() -> Fork:
    """Ethereum with two pools of Uniswap V4, a Pendle market of wstETH, and an Aave V2 that takes its PT."""
    fork = Fork.replica("ethereum", hardfork="cancun")
    deploy_uniswap_v4(fork)
    uniswap = UniswapV4(fork)
    for symbol, amount in (("WETH", 10**23), ("wstETH", 10**23), ("USDC", 10**14)):
        fork.deal(symbol, LP, amount)
    fork.set_balance(LP, 10**23)
    for pair, fee, price in (
        (("ETH", "USDC"), (900, 10), 2_562),
        (("WETH", "USDC"), (700, 10), 2_562),
        (("wstETH", "WETH"), (300, 5), "1.1547"),
    ):
        pool = uniswap.create_pool(*pair, fee, price)
        amounts = [min(10**22, pool.currency0.balance_of(LP)), min(10**22, pool.currency1.balance_of(LP))]
        uniswap.mint(pool, *pool.full_range, (amounts[0], amounts[1]), sender=LP)
    expiry = (fork.timestamp // DAY + 180) * DAY
    create_pendle_market(fork, "wstETH", expiry=expiry, implied_rate="0.03", rate="1.1547", growth="0.03", asset="WETH")
    market = PendleMarket(fork, MARKET)
    market.wrap(5 * 10**22, sender=LP)
    market.mint_py(2 * 10**22, sender=LP)
    market.add_liquidity(10**22, 2 * 10**22, sender=LP)
    feed = deploy_pt_feed(fork, MARKET, "Chainlink.ETH/USD", discount="0.05")
    _aave_v2(fork, feed)
    return fork.frozen()


def _aave_v2(fork: Fork, feed: str) -> None:
    rates = (8 * RAY // 10, 0, 4 * RAY // 100, 75 * RAY // 100)
    terms = {PT: (7_500, 8_000, 10_800, 18, feed), "USDC": (8_000, 8_500, 10_500, 6, "Chainlink.USDC/USD")}
    reserves = {
        symbol: ReserveV2(fork.address_of(symbol), decimals, fork.address_of(source), ltv, threshold, bonus, 0, *rates)
        for symbol, (ltv, threshold, bonus, decimals, source) in terms.items()
    }
    deployment = Deployment(fork, deployer=LP)
    deploy_aave_v2(deployment, reserves, admin=LP, treasury=LP)
    fork.labels.update(deployment.checksummed_labels())
    AaveV2(fork).account(LP).supply("USDC", 10**12)


@pytest.mark.parametrize("flash_loan", [False, True])
@pytest.mark.parametrize("route", [OVER_V4, OVER_ETHER])
def test_a_liquidator_sells_over_uniswap_v4(flash_loan: bool, route: V4Route) -> None:
    place = Place(route=route)  # type: ignore[arg-type]
    alice, bot = place.borrower(), place.liquidator(flash_loan=flash_loan, **({"capital": {}} if flash_loan else {}))
    stage = Stage(_world().copy(), [alice, bot])
    sold, debt, fee = route.route
    pool = UniswapV4(stage.fork).pool(sold, debt, fee)
    before, price = Erc20(stage.fork, "USDC").balance_of(bot.address), pool.price(sold)
    row = of(stage.after("-0.2"), "bot")
    facts = details(row)
    assert (row.kind, row.status) == ("liquidate", "success"), row.reason
    assert Erc20(stage.fork, "USDC").balance_of(bot.address) - before == facts["profit"] > 0
    assert facts["expected_profit_e8"] == pytest.approx(facts["profit_e8"], abs=3)
    assert Erc20(stage.fork, "WETH").balance_of(bot.address) == 0
    assert stage.fork.balance(bot.address) == 0
    assert pool.price(sold) < price  # that is where it sold
    assert not lending_market(stage.fork, "AaveV3").account(alice.address).health().liquidatable


@pytest.mark.parametrize("then", [THEN_V3, THEN_V4])
def test_a_liquidator_exits_a_pt_through_its_pendle_market(then: SaleRouteLike) -> None:
    alice = BorrowerAgent(
        "alice",
        collateral=PT,
        collateral_amount=100 * WETH,
        debt="USDC",
        target="1.1",
        market="AaveV2",
        behaviour=Passive(),
    )
    bot = LiquidatorAgent(
        "bot",
        watch=["alice"],
        collaterals=[PT],
        debts=["USDC"],
        routes={PT: PendleRoute(MARKET, then=then)},  # type: ignore[arg-type]
        capital={"USDC": 10**12},
        market="AaveV2",
    )
    stage = Stage(_world().copy(), [alice, bot])
    market = PendleMarket(stage.fork, MARKET)
    rate, pt_before = market.implied_rate, market.state.total_pt
    row = of(stage.after("-0.2"), "bot")
    facts = details(row)
    assert (row.kind, row.status) == ("liquidate", "success"), row.reason
    assert facts["collateral"] == PT
    assert Erc20(stage.fork, "USDC").balance_of(bot.address) == 10**12 + facts["profit"]
    assert facts["expected_profit_e8"] == pytest.approx(facts["profit_e8"], abs=3)
    assert facts["profit"] > 0
    assert market.state.total_pt == pt_before + facts["seized"]
    assert market.implied_rate > rate
    for token in (PT, "SY-wstETH", "wstETH", "WETH"):
        assert Erc20(stage.fork, token).balance_of(bot.address) == 0


@pytest.mark.parametrize(
    "route",
    [
        OVER_V4,
        OVER_ETHER,
        ("WETH", "USDC", 500),
        PendleRoute(MARKET),
        PendleRoute(MARKET, THEN_V3),
        PendleRoute(MARKET, THEN_V4),
    ],
    ids=["v4", "v4 of ether", "v3", "pendle", "pendle then v3", "pendle then v4"],
)
def test_a_route_quotes_what_its_sale_and_its_calls_bring(route: SaleRouteLike) -> None:
    fork = _world().copy()
    opened = open_route(fork, route)
    fork.deal(opened.token_in, LP, 10**20)
    before, bought = fork.snapshot(), Erc20(fork, opened.token_out)
    quotes = opened.quotes([10**18, 10**20, 10**19])
    assert quotes[0] < quotes[2] < quotes[1]
    held = bought.balance_of(LP)
    assert opened.sell(10**20, quotes[1], LP) == quotes[1] == bought.balance_of(LP) - held
    before.revert()
    for target, data in opened.calls(10**20, quotes[1], LP):
        fork.send(target, data, sender=LP)
    assert bought.balance_of(LP) - held == quotes[1]


def test_a_route_that_ends_with_ether_gives_the_wrapped_coin() -> None:
    fork = _world().copy()
    opened = open_route(fork, V4Route(("USDC", "ETH", (900, 10))))
    assert (opened.token_in, opened.token_out) == (fork.address_of("USDC"), fork.address_of("WETH"))
    fork.deal("USDC", LP, 10**10)
    (quote,) = opened.quotes([10**10])
    moment, held, ether = fork.snapshot(), Erc20(fork, "WETH").balance_of(LP), fork.balance(LP)
    assert opened.sell(10**10, quote, LP) == quote == Erc20(fork, "WETH").balance_of(LP) - held
    moment.revert()
    for target, data in opened.calls(10**10, quote, LP):
        fork.send(target, data, sender=LP)
    assert Erc20(fork, "WETH").balance_of(LP) - held == quote
    assert fork.balance(LP) == ether


def test_after_expiry_a_pt_is_redeemed_on_the_same_route() -> None:
    fork = _world().copy()
    fork.set_block(number=fork.block_number + 1, timestamp=PendleMarket(fork, MARKET).expiry + 1)
    opened = open_route(fork, PendleRoute(MARKET))
    fork.deal(PT, LP, 10**20)
    (quote,) = opened.quotes([10**20])
    moment, held = fork.snapshot(), Erc20(fork, "wstETH").balance_of(LP)
    assert opened.sell(10**20, quote, LP) == quote
    moment.revert()
    for target, data in opened.calls(10**20, quote, LP):
        fork.send(target, data, sender=LP)
    assert Erc20(fork, "wstETH").balance_of(LP) - held == quote


def test_more_than_a_route_can_take_brings_nothing() -> None:
    fork = _world().copy()
    before = state_of(fork)
    assert open_route(fork, PendleRoute(MARKET)).quotes([10**18, 10**24])[1] == 0
    quotes = open_route(fork, PendleRoute(MARKET, THEN_V4)).quotes([10**24, 10**18])
    assert quotes[0] == 0 < quotes[1]
    assert state_of(fork) == before


def test_routes_that_lead_nowhere_are_refused() -> None:
    fork = _world().copy()
    with pytest.raises(UnknownName, match="there is no pool UniswapV4"):
        open_route(fork, V4Route(("WETH", "USDC", 500)))
    with pytest.raises(BadArgument, match="pays wstETH, and the route goes on from WETH"):
        open_route(fork, PendleRoute(MARKET, ("WETH", "USDC", 500)))
    with pytest.raises(UnknownName):
        open_route(fork, PendleRoute("Pendle.sUSDe-11JUL2024"))
    with pytest.raises(UnknownName, match="no Uniswap V4"):
        open_route(Fork.replica("base"), OVER_V4)
