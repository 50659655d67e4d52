"""Aave V2 on its own bytecode: accounts, liquidations to the unit, and reverts by V2's numbers."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from mayavi.agents.lending.aave_v2 import AaveV2Lending
from mayavi.agents.lending.open_market import lending_market
from mayavi.errors import BadArgument, CallReverted, UnknownName
from mayavi.evm.address import checksum
from mayavi.protocols import AaveV2, PriceFeed
from mayavi.protocols.aave.account import AaveAccount
from mayavi.protocols.aave_v2.reverts import ERRORS
from mayavi.worlds.contract_folder import ContractFolder
from mayavi.worlds.deploy.aave_v2 import CONFIGURATOR, POOL, PROVIDER
from tests.protocols.aave_v2.worlds import RESERVES, open_market

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")
USDC, CRV = 10**6, 10**18


def borrower(market: AaveV2, collateral: int = 100_000 * USDC, debt: int = 150_000 * CRV) -> AaveAccount:
    market.fork.deal("USDC", ALICE, collateral)
    account = market.account(ALICE)
    account.supply("USDC", collateral)
    account.borrow("CRV", debt)
    return account


def set_price(market: AaveV2, asset: str, price: str) -> None:
    source = market.oracle.getSourceOfAsset(market.address_of(asset))
    PriceFeed(market.fork, source).set_price(Decimal(price))


def test_provider_pool_and_configurator_are_at_their_real_addresses() -> None:
    market = open_market()
    labels = market.fork.labels
    assert labels["AaveV2.Provider"] == PROVIDER
    assert checksum(market.pool.address) == POOL
    assert labels["AaveV2.PoolConfigurator"] == CONFIGURATOR


def test_reserves_have_the_given_parameters() -> None:
    market = open_market()
    assert market.symbols == ("USDC", "CRV")
    terms = market.reserve("USDC").configuration
    assert (terms.ltv_bps, terms.liquidation_threshold_bps, terms.liquidation_bonus_bps) == (8700, 8900, 10450)
    assert (terms.decimals, terms.liquidation_protocol_fee_bps, terms.supply_cap) == (6, 0, None)
    assert market.reserve("CRV").configuration.reserve_factor_bps == 2_000
    assert market.reserve("CRV").supplied == int(RESERVES["CRV"]["supplied"]) * CRV
    assert market.emodes() == []


def test_an_account_supplies_borrows_repays_and_withdraws() -> None:
    market = open_market()
    account = borrower(market)
    data = account.data()
    assert (data.collateral_usd_e8, data.debt_usd_e8) == (100_000 * 10**8, 75_000 * 10**8)
    assert account.health_factor == Decimal("1.186666666666666667")  # 100,000 * 0.89 / 75,000
    market.fork.deal("CRV", ALICE, 200_000 * CRV)
    account.repay("CRV")
    account.withdraw("USDC")
    assert (account.debt("CRV"), account.supplied("USDC")) == (0, 0)
    assert account.balance("USDC") == 100_000 * USDC


def test_a_liquidation_is_quoted_to_the_unit_and_repays_half_at_any_health_factor() -> None:
    market = open_market()
    borrower(market)
    set_price(market, "CRV", "0.66")
    lending = lending_market(market.fork, "AaveV2")
    assert isinstance(lending, AaveV2Lending)
    factor = market.account(ALICE).data().health_factor_wad
    assert factor < 95 * 10**16  # where V3 would let all of the debt be repaid
    (quote,) = lending.quote_liquidations([ALICE], [factor], ["USDC"], ["CRV"])
    debt = market.account(ALICE).debt("CRV")
    assert quote.cover == (debt * 5_000 + 5_000) // 10_000
    market.fork.deal("CRV", BOB, debt)
    done = lending.liquidate(BOB, quote)
    assert (done.covered, done.seized) == (quote.cover, quote.seized)
    assert market.account(BOB).balance("USDC") == quote.seized


def test_collateral_that_is_too_small_limits_the_debt_repaid() -> None:
    market = open_market()
    borrower(market)
    set_price(market, "CRV", "1.9")
    lending = lending_market(market.fork, "AaveV2")
    factor = market.account(ALICE).data().health_factor_wad
    (quote,) = lending.quote_liquidations([ALICE], [factor], ["USDC"], ["CRV"])
    held = market.account(ALICE).supplied("USDC")
    assert quote.seized == held
    market.fork.deal("CRV", BOB, quote.asks)
    done = lending.liquidate(BOB, quote)
    assert (done.covered, done.seized) == (quote.cover, held)
    assert market.account(ALICE).supplied("USDC") == 0
    assert market.account(ALICE).debt("CRV") > 0


def test_reverts_are_named_by_v2_s_numbers() -> None:
    market = open_market()
    account = borrower(market)
    with pytest.raises(CallReverted, match="11 COLLATERAL_CANNOT_COVER_NEW_BORROW"):
        account.borrow("CRV", 100_000 * CRV)
    market.fork.deal("CRV", BOB, 10 * CRV)
    with pytest.raises(CallReverted, match="42 HEALTH_FACTOR_NOT_BELOW_THRESHOLD"):
        market.account(BOB).liquidate(account, "USDC", "CRV", 10 * CRV)


def test_errors_have_the_names_and_numbers_of_the_contracts() -> None:
    source = ContractFolder.default().packages / "@aave/protocol-v2/contracts/protocol/libraries/helpers/Errors.sol"
    found = re.findall(r"constant\s+[A-Z]+_(\w+)\s*=\s*'(\d+)'", source.read_text())
    names = {int(number): name for name, number in found}
    prefixed = {33: "CALLER_NOT_POOL_ADMIN"}  # has no prefix that could be cut
    assert {number: name for number, (name, _) in ERRORS.items()} == {
        number: prefixed.get(number, names[number]) for number in ERRORS
    }


def test_a_revert_leaves_no_trace() -> None:
    market = open_market()
    account = borrower(market)
    before = market.fork.digest()
    with pytest.raises(CallReverted):
        account.withdraw("USDC")
    assert market.fork.digest() == before


def test_efficiency_modes_are_refused() -> None:
    account = borrower(open_market())
    assert account.emode == 0
    with pytest.raises(BadArgument, match="Aave V2 has no eMode 1"):
        account.set_emode(1)


def test_a_chain_without_the_market_says_how_to_get_one() -> None:
    from mayavi import Fork

    with pytest.raises(UnknownName, match="no Aave V2 market") as found:
        AaveV2(Fork.replica("base"))
    assert "`aave_v2`" in (found.value.hint or "")


def test_a_market_with_prices_in_eth_is_refused() -> None:
    from mayavi.worlds.artifacts import ArtifactStore

    market = open_market()
    fork = market.fork
    weth = fork.address_of("WETH")
    code = ArtifactStore().get("AaveV2.AaveOracle").initcode([[], [], bytes(20), weth])
    oracle = fork.deploy(code, sender=ALICE)
    provider = fork.contract("AaveV2.Provider", ["setPriceOracle(address oracle)", "owner() view returns (address)"])
    provider.setPriceOracle(oracle, sender=provider.owner())
    with pytest.raises(BadArgument, match="has prices in ETH"):
        AaveV2(fork)
