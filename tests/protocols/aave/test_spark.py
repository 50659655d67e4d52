"""SparkLend: Aave's adapter on another market of the same chain."""

from __future__ import annotations

import inspect

import pytest

from mayavi import Fork
from mayavi.errors import CallReverted, UnknownName
from mayavi.protocols import AaveV3, SparkAccount, SparkLend
from mayavi.protocols.aave import spark
from tests.protocols.aave.reference import (
    WAD,
    give_and_supply,
    health_factor_wad,
    move_price,
    percent_mul,
    seizure,
)

ALICE, BOB = (bytes.fromhex(name.ljust(40, "0")) for name in ("a11ce0", "b0b000"))


@pytest.fixture(scope="module")
def world() -> Fork:
    return Fork.replica("ethereum")


@pytest.fixture
def market(world: Fork) -> SparkLend:
    return SparkLend(world.copy())


@pytest.fixture
def alice(market: SparkLend) -> SparkAccount:
    """Alice with 1 WETH supplied and 1,500 DAI borrowed a day ago."""
    market.fork.mine(1, 86_400)
    account = market.account(ALICE)
    give_and_supply(account, "WETH", WAD)
    account.borrow("DAI", 1_500 * WAD)
    market.fork.mine(1, 86_400)
    return account


def test_it_is_a_few_lines_over_aave() -> None:
    assert len(inspect.getsource(spark).splitlines()) <= 40


def test_it_is_another_market_than_aaves(market: SparkLend, alice: SparkAccount) -> None:
    aave = AaveV3(market.fork)
    assert isinstance(alice, SparkAccount)
    assert market.pool.address == market.fork.address_of("Spark.Pool") != aave.pool.address
    assert market.a_token("DAI").address == market.fork.address_of("Spark.aDAI")
    assert alice.debt("DAI") > 1_500 * WAD
    assert aave.account(ALICE).position().assets == ()
    assert set(market.symbols) < set(market.fork.labels)


def test_a_position_opens_grows_and_closes_without_dust(market: SparkLend, alice: SparkAccount) -> None:
    assert alice.data().health_factor_wad == health_factor_wad(alice)
    assert [line.symbol for line in alice.position().assets] == ["DAI", "WETH"]
    market.fork.mine(1, 365 * 86_400)
    market.fork.deal("DAI", ALICE, alice.debt("DAI"))
    alice.repay("DAI")
    alice.withdraw("WETH")
    assert (alice.debt("DAI"), alice.supplied("WETH"), alice.balance("DAI")) == (0, 0, 0)
    assert alice.balance("WETH") >= WAD


def test_a_liquidation_is_exact_to_the_wei(market: SparkLend, alice: SparkAccount) -> None:
    bob, price = market.account(BOB), alice.liquidation_price_usd_e8("WETH")
    assert price is not None
    move_price(market, "WETH", price)
    assert alice.health_factor < 1
    market.fork.deal("DAI", BOB, 1_500 * WAD)
    owed = alice.debt("DAI")
    expected = seizure(alice, "WETH", "DAI", owed)
    done = bob.liquidate(alice, "WETH", "DAI")
    assert (done.covered, done.seized, done.protocol_fee) == expected
    assert done.covered == percent_mul(owed, 5_000)
    assert bob.balance("WETH") == done.seized


def test_a_flash_loan_costs_what_spark_asks(market: SparkLend) -> None:
    bob, amount = market.account(BOB), 1_000_000 * WAD
    premium = percent_mul(amount, market.flash_loan_premiums.total_bps)
    market.fork.deal("DAI", BOB, premium)
    assert bob.flash_loan("DAI", amount).premium == premium
    assert bob.balance("DAI") == 0


def test_emodes_are_sparks_own(market: SparkLend, alice: SparkAccount) -> None:
    mode = next(mode for mode in market.emodes() if "WETH" in mode.assets)
    with pytest.raises(CallReverted, match="58 INCONSISTENT_EMODE_CATEGORY"):
        alice.set_emode(mode.id)
    bob = market.account(BOB)
    give_and_supply(bob, "WETH", WAD)
    bob.set_emode(mode.id)
    assert (bob.emode, bob.data().ltv_bps) == (mode.id, mode.ltv_bps)


def test_an_asset_of_aave_alone_is_no_asset_of_spark(market: SparkLend, alice: SparkAccount) -> None:
    with pytest.raises(UnknownName, match="unknown asset of SparkLend 'LINK'") as caught:
        alice.supply("LINK", 1)
    assert "there are: DAI, " in str(caught.value.hint)


def test_a_chain_without_spark_says_so() -> None:
    with pytest.raises(UnknownName, match="no SparkLend market is known on chain 8453"):
        SparkLend(Fork.replica("base"))
