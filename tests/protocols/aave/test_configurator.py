"""Parameters of Aave and Spark markets are changed through their own PoolConfigurator, which refuses as on chain."""

from __future__ import annotations

import pytest

from mayavi.errors import BadArgument, CallReverted, UnknownName
from mayavi.protocols import AaveConfigurator, AaveV3, PriceFeed, SparkLend
from tests.agents.stage import replica

MARKETS = [("ethereum", AaveV3), ("ethereum", SparkLend), ("polygon", AaveV3), ("base", AaveV3)]


@pytest.mark.parametrize(("chain", "kind"), MARKETS)
def test_every_parameter_of_a_reserve_is_what_was_set_and_the_others_stay(chain: str, kind: type[AaveV3]) -> None:
    fork = replica(chain)
    market = kind(fork)
    configurator = AaveConfigurator(market)
    before = configurator.reserve_values("WETH")
    values = {
        "ltv_bps": 7_000,
        "liquidation_threshold_bps": 7_777,
        "liquidation_bonus_bps": 10_650,
        "liquidation_protocol_fee_bps": 1_234,
        "reserve_factor_bps": 2_345,
        "supply_cap": 9_000_000,
        "borrow_cap": 8_000_000,
        "borrowing": 0,
        "frozen": 1,
        "paused": 1,
    }
    for name, value in values.items():
        assert before[name] != value
        configurator.set_reserve("WETH", {name: value})
        before = {**before, name: value}
        assert configurator.reserve_values("WETH") == before
    own = market.reserve("WETH").configuration
    assert (own.liquidation_threshold_bps, own.liquidation_bonus_bps) == (7_777, 10_650)
    assert (own.supply_cap, own.frozen, own.paused) == (9_000_000 * 10**18, True, True)


def test_the_change_is_a_transaction_of_the_markets_administrator() -> None:
    fork = replica()
    sent = []
    stop = fork.watch(sent.append)
    AaveConfigurator(AaveV3(fork)).set_reserve("WETH", {"supply_cap": 5})
    stop()
    (transaction,) = sent
    assert transaction.sender == fork.address_of("AaveV3.Admin")
    assert transaction.to == fork.address_of("AaveV3.PoolConfigurator")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"liquidation_threshold_bps": 7_000}, "threshold of 70 % is below the loan to value of 80.5 %"),
        ({"liquidation_threshold_bps": 9_800}, "98 % with a bonus of 5 % would seize more than there is"),
        ({"liquidation_bonus_bps": 10_000}, "needs a liquidation bonus above zero"),
        ({"reserve_factor_bps": 10_001}, "INVALID_RESERVE_FACTOR"),
    ],
)
def test_a_refused_value_gives_the_reason_and_changes_nothing(values: dict[str, int], reason: str) -> None:
    fork = replica()
    configurator = AaveConfigurator(AaveV3(fork))
    before = fork.digest()
    with pytest.raises(CallReverted, match=reason):
        configurator.set_reserve("WETH", {"supply_cap": 5, **values})
    assert fork.digest() == before


def test_unknown_parameters_and_modes_are_named() -> None:
    configurator = AaveConfigurator(AaveV3(replica()))
    with pytest.raises(BadArgument, match="'threshold' is not a parameter"):
        configurator.set_reserve("WETH", {"threshold": 1})
    with pytest.raises(UnknownName, match="unknown eMode category 7"):
        configurator.set_emode(7, {"ltv_bps": 1})


@pytest.mark.parametrize(("chain", "kind"), MARKETS)
def test_an_efficiency_mode_takes_new_values_and_keeps_its_label(chain: str, kind: type[AaveV3]) -> None:
    market = kind(replica(chain))
    (first, *_) = market.emodes()
    configurator = AaveConfigurator(market)
    configurator.set_emode(first.id, {"liquidation_threshold_bps": first.liquidation_threshold_bps + 50})
    now = market.emode(first.id)
    assert now.liquidation_threshold_bps == first.liquidation_threshold_bps + 50
    assert (now.label, now.ltv_bps, now.assets) == (first.label, first.ltv_bps, first.assets)
    with pytest.raises(CallReverted, match="loan to value of 10 % is not above"):
        configurator.set_emode(first.id, {"ltv_bps": 1_000, "liquidation_threshold_bps": 9_800})


def test_prices_near_zero_end_with_the_context_and_no_feed_moves() -> None:
    fork = replica()
    market = AaveV3(fork)
    before = {asset: market.price_usd_e8(asset) for asset in ("USDC", "WETH", "wstETH")}
    feed = PriceFeed(fork, "Chainlink.ETH/USD").latest_round
    with AaveConfigurator(market).priced_near_zero(["USDC", "wstETH"]):
        assert [market.price_usd_e8(asset) for asset in before] == [1, before["WETH"], 1]
    assert {asset: market.price_usd_e8(asset) for asset in before} == before
    assert PriceFeed(fork, "Chainlink.ETH/USD").latest_round == feed
    with pytest.raises(RuntimeError), AaveConfigurator(market).priced_near_zero(["USDC"]):
        raise RuntimeError
    assert market.price_usd_e8("USDC") == before["USDC"]
