"""The oracle of Morpho markets: scale, feeds and vault conversion, as Morpho documents them."""

from __future__ import annotations

import pytest

from mayavi.errors import CallReverted
from mayavi.evm.units import WAD
from mayavi.protocols import PriceFeed
from mayavi.protocols.dollar_feed import dollar_feed
from mayavi.protocols.morpho.creation import create_market
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.morpho import OracleFeeds
from tests.protocols.morpho.worlds import ALICE, DAY, USDC, open_blue, pass_time

_ABI = ["price() view returns (uint256)", "SCALE_FACTOR() view returns (uint256)"]


def test_the_price_is_the_collateral_in_loan_units_times_ten_to_the_36() -> None:
    market = open_blue().market("WBTC/USDC.86")
    fork = market.fork
    bitcoin, dollar = (PriceFeed(fork, dollar_feed(fork, each)).answer for each in ("WBTC", "USDC"))
    # One satoshi in millionths of USDC: 8 decimals against 6, both feeds with 8.
    assert market.price_e36 == 10 ** (36 + 6 + 8 - 8 - 8) * bitcoin // dollar


def test_two_feeds_on_each_side_are_multiplied() -> None:
    fork = open_blue().fork
    bitcoin, ether, dollar, dai = (dollar_feed(fork, each) for each in ("WBTC", "WETH", "USDC", "DAI"))
    feeds = OracleFeeds((bitcoin, dollar), (ether, dai))
    market = create_market(fork, "WBTC/WETH.77", feeds)
    answers = [PriceFeed(fork, each).answer for each in (bitcoin, dollar, ether, dai)]
    assert market.price_e36 == 10 ** (36 + 18 + 16 - 8 - 16) * answers[0] * answers[1] // (answers[2] * answers[3])


def test_a_vault_of_shares_is_converted() -> None:
    blue = open_blue()
    fork, vault, market = blue.fork, blue.vault("steakUSDC"), blue.market("wstETH/USDC.86")
    fork.deal("USDC", ALICE, 10**6 * USDC)
    fork.deal("wstETH", ALICE, 1_000 * WAD)
    vault.deposit(10**6 * USDC, sender=ALICE)
    market.account(ALICE).supply_collateral(1_000 * WAD)
    market.account(ALICE).borrow(900_000 * USDC)
    pass_time(fork, 300 * DAY)
    dollar, dai = dollar_feed(fork, "USDC"), dollar_feed(fork, "DAI")
    feeds = OracleFeeds((dollar,), (dai,), base_vault=vault.address, base_sample=WAD)
    place = fork.deploy(ArtifactStore().get("MorphoOracle").initcode(feeds.arguments(6, 18)), sender=ALICE)
    oracle = fork.contract(place, _ABI)
    converted = vault.contract.convertToAssets(WAD)
    assert converted > USDC
    scale = 10 ** (36 + 18 + 8 - 6 - 8) // WAD
    assert oracle.SCALE_FACTOR() == scale
    answers = [PriceFeed(fork, each).answer for each in (dollar, dai)]
    assert oracle.price() == scale * converted * answers[0] // answers[1]


@pytest.mark.parametrize(
    ("vault", "sample", "reason"),
    [(bytes(20), 2, "vault conversion sample is not one"), (bytes([1]) * 20, 0, "vault conversion sample is zero")],
)
def test_a_sample_without_a_vault_or_of_nothing_is_refused(vault: bytes, sample: int, reason: str) -> None:
    fork = open_blue().fork
    feeds = OracleFeeds(base_vault=vault, base_sample=sample)
    with pytest.raises(CallReverted, match=reason):
        fork.deploy(ArtifactStore().get("MorphoOracle").initcode(feeds.arguments(18, 6)), sender=ALICE)


def test_a_price_below_zero_stops_the_market() -> None:
    market = open_blue().market("WBTC/USDC.86")
    PriceFeed(market.fork, "Chainlink.USDC/USD").move(-1)
    with pytest.raises(CallReverted, match=r"the oracle of WBTC/USDC\.86 reverted: negative answer"):
        _ = market.price_e36
