"""SY, PT and YT, liquidity, price feeds, refusals in words, and deployment of Pendle."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi import Fork
from mayavi.errors import ActionRefused, BadArgument, CallReverted, InsufficientBalance, UsageError
from mayavi.protocols import PendleMarket, PriceFeed
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.pendle import ADDRESSES, TREASURY, create_pendle_market, deploy_pendle, deploy_pt_feed
from tests.protocols.pendle.worlds import ALICE, DAY, MARKETS, open_market
from tests.states import state_of

ONE = 10**18
BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")
SDAI = MARKETS[0]


@pytest.fixture
def market() -> PendleMarket:
    return open_market(SDAI)


def test_a_market_knows_its_tokens_and_state(market: PendleMarket) -> None:
    names = [each.symbol for each in (market.sy, market.pt, market.yt, market.yield_token)]
    assert names == ["SY-sDAI", "PT-sDAI-11JUL2024", "YT-sDAI-11JUL2024", "sDAI"]
    state = market.state
    assert (state.total_sy, state.scalar_root, state.treasury) == (10**24, 75 * ONE, TREASURY)
    assert market.index_e18 == 1_050_000_000_000_000_000
    assert abs(market.implied_rate - Decimal("0.05")) < Decimal("1e-15")
    assert PendleMarket(market.fork, "sDAI-11JUL2024").address == market.address
    assert repr(market) == "<Pendle market Pendle.sDAI-11JUL2024>"
    with pytest.raises(UsageError, match="not a market of Pendle"):
        PendleMarket(market.fork, "WETH")


def test_sy_splits_into_pt_and_yt_and_back(market: PendleMarket) -> None:
    fork = market.fork
    fork.deal("sDAI", BOB, 1_000 * ONE)
    assert market.wrap(1_000 * ONE, sender=BOB) == 1_000 * ONE
    assert market.mint_py(1_000 * ONE, sender=BOB) == 1_050 * ONE
    assert market.redeem_py(525 * ONE, sender=BOB) == 500 * ONE
    assert market.unwrap(500 * ONE, sender=BOB) == 500 * ONE
    assert market.yield_token.balance_of(BOB) == 500 * ONE
    assert market.pt.balance_of(BOB) == market.yt.balance_of(BOB) == 525 * ONE


def test_yt_earns_what_the_sy_earns_less_pendles_fee(market: PendleMarket) -> None:
    fork = market.fork
    fork.deal("sDAI", BOB, 1_000 * ONE)
    market.wrap(1_000 * ONE, sender=BOB)
    held = market.mint_py(1_000 * ONE, sender=BOB)
    before = market.index_e18
    fork.mine(1, 30 * DAY)
    after = market.index_e18
    earned = held * ONE // before - held * ONE // after
    assert abs(market.redeem_interest(sender=BOB) - earned * 97 // 100) <= 2


def test_after_expiry_a_pt_alone_redeems_and_the_index_never_falls(market: PendleMarket) -> None:
    fork = market.fork
    fork.set_block(number=fork.block_number + 1, timestamp=market.expiry)
    index = market.index_e18
    assert market.sell_pt(ONE, sender=ALICE).amount_sy == ONE * ONE // index
    sy = fork.contract(market.sy.address, ["set_rate(uint256 rate, uint256 growth)", "owner() view returns (address)"])
    sy.set_rate(ONE, 0, sender=sy.owner())  # a loss of the yield token
    fork.mine()
    assert market.index_e18 == index
    assert market.quote_sell_pt(ONE).amount_sy == ONE * ONE // index
    assert market.pt_price_e18() == ONE * ONE // index  # the oracle counts the loss
    with pytest.raises(ActionRefused, match="has expired"):
        market.quote_buy_pt(ONE)


def test_the_sy_remembers_its_rate_and_refuses_one_that_does_not_fit(market: PendleMarket) -> None:
    sy = market.fork.contract(market.sy.address, ArtifactStore().get("StandardizedYield").abi)
    assert (sy.rate(), sy.growth_per_year()) == (105 * ONE // 100, 5 * ONE // 100)
    assert market.index_e18 >= sy.rate()
    market.fork.mine(1, DAY)
    sy.set_rate(2 * ONE, ONE, sender=sy.owner())
    assert (sy.rate(), sy.growth_per_year(), sy.rate_since()) == (2 * ONE, ONE, market.fork.timestamp)
    market.fork.mine(1, 73 * DAY)
    assert sy.exchangeRate() == 24 * ONE // 10
    for rate, growth, why in ((0, 0, "above zero"), (2**128, 0, "below 2"), (ONE, 2**64, "below 1844 % a year")):
        with pytest.raises(CallReverted, match=why):
            sy.set_rate(rate, growth, sender=sy.owner())


def test_refusals_change_nothing_and_say_why(market: PendleMarket) -> None:
    before = state_of(market.fork)
    with pytest.raises(InsufficientBalance):
        market.sell_pt(ONE, sender=BOB)
    with pytest.raises(ActionRefused, match="beyond the bound"):
        market.sell_pt(ONE, sender=ALICE, min_sy_out=2 * ONE)
    with pytest.raises(ActionRefused, match="beyond the bound"):
        market.exit_pt(ONE, sender=ALICE, min_amount_out=2 * ONE)
    with pytest.raises(ActionRefused, match="beyond the bound"):
        market.buy_pt(ONE, sender=ALICE, max_sy_in=1)
    with pytest.raises(CallReverted, match=r"MarketProportionTooHigh.*more than 96 % of the market would be PT"):
        market.sell_pt(2 * 10**7 * 10**18, sender=ALICE)
    with pytest.raises(CallReverted, match="MarketProportionTooHigh"):
        market.quote_sell_pt(10**26)
    with pytest.raises(CallReverted, match="MarketInsufficientPtForTrade"):
        market.quote_buy_pt(10**26)
    with pytest.raises(CallReverted, match="MarketZeroNetLPFee"):
        market.sell_pt(1, sender=ALICE)
    with pytest.raises(ActionRefused, match="of 0 does nothing"):
        market.sell_pt(0, sender=ALICE)
    assert state_of(market.fork) == before


def test_a_pt_has_a_price_feed_of_the_markets_average(market: PendleMarket) -> None:
    fork = market.fork
    with pytest.raises(ActionRefused, match="remembers less than 900 seconds"):
        deploy_pt_feed(fork, market.address, "Chainlink.DAI/USD")
    fork.mine(10, 2_000)
    label = deploy_pt_feed(fork, market.address, "Chainlink.DAI/USD")
    assert label == "Pendle.PT-sDAI-11JUL2024/USD"
    feed, dai = PriceFeed(fork, label), PriceFeed(fork, "Chainlink.DAI/USD")
    assert feed.decimals == dai.decimals
    assert feed.answer == dai.answer * market.pt_price_e18(900) // ONE
    market.sell_pt(10**23, sender=ALICE)
    fork.mine(1, 450)
    assert market.pt_price_e18() < market.pt_price_e18(900)  # the sale is half in the average
    assert feed.answer == dai.answer * market.pt_price_e18(900) // ONE
    assert feed.latest_round.answer == feed.answer


def test_a_pt_has_a_price_feed_of_a_linear_discount(market: PendleMarket) -> None:
    fork = market.fork
    feed = PriceFeed(fork, deploy_pt_feed(fork, market.address, "Chainlink.DAI/USD", discount="0.08"))
    dai = PriceFeed(fork, "Chainlink.DAI/USD").answer
    discount = (market.expiry - fork.timestamp) * 8 * 10**16 // (365 * DAY)
    assert feed.answer == dai * (ONE - discount) // ONE
    fork.set_block(timestamp=market.expiry + 1)
    assert feed.answer == dai


def test_it_needs_the_rules_of_cancun_and_whole_days() -> None:
    with pytest.raises(ActionRefused, match="rules of Cancun"):
        deploy_pendle(Fork.replica("ethereum"))
    fork = Fork.replica("ethereum", hardfork="cancun")
    labels = deploy_pendle(fork)
    assert ADDRESSES[1]["Pendle.Oracle"] == labels["Pendle.Oracle"]
    digest = fork.digest()
    assert deploy_pendle(fork).items() <= labels.items()
    assert fork.digest() == digest
    for expiry, why in ((fork.timestamp + 12, "not the end of a day"), (fork.timestamp // DAY * DAY, "is not after")):
        with pytest.raises(BadArgument, match=why):
            create_pendle_market(fork, "sDAI", expiry=expiry, implied_rate="0.05")


def test_it_runs_on_another_chain() -> None:
    fork = Fork.replica("arbitrum", hardfork="cancun")
    expiry = (fork.timestamp // DAY + 90) * DAY
    contracts = create_pendle_market(fork, "wstETH", expiry=expiry, implied_rate="0.03", rate="1.15", asset="WETH")
    market = PendleMarket(fork, contracts.market)
    fork.deal("wstETH", ALICE, 1_000 * ONE)
    market.wrap(1_000 * ONE, sender=ALICE)
    market.mint_py(500 * ONE, sender=ALICE)
    market.add_liquidity(400 * ONE, 400 * ONE, sender=ALICE)
    assert market.exit_pt(ONE, sender=ALICE) == pytest.approx(0.863 * ONE, rel=0.01)
