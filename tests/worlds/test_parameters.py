"""What the market says of itself is what the table says, and the table what Aave's configuration says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mayavi.evm.address import to_address
from mayavi.evm.fork import Fork
from mayavi.evm.units import RAY
from mayavi.worlds.table import ChainTable
from tests.worlds.contract_of import ContractOf

SYMBOLS = (
    *("WETH", "wstETH", "WBTC", "USDC", "DAI", "LINK", "AAVE", "cbETH", "USDT", "rETH", "LUSD", "CRV", "MKR", "SNX"),
    *("BAL", "UNI", "LDO", "ENS", "1INCH", "FRAX", "GHO", "RPL", "sDAI", "STG", "KNC"),
)


def test_the_reserves_are_listed_in_the_order_of_mainnet(contract: ContractOf, table: ChainTable) -> None:
    listed = contract("AaveV3.Pool", "Pool").getReservesList()
    assert listed == [to_address(table.tokens[symbol].address) for symbol in SYMBOLS]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_reserve_reads_back_as_the_table_has_it(contract: ContractOf, table: ChainTable, symbol: str) -> None:
    data = contract("AaveV3.DataProvider", "AaveProtocolDataProvider")
    asset, reserve = table.tokens[symbol].address, table.aave.reserve(symbol)

    read = data.getReserveConfigurationData(asset)
    assert read.decimals == reserve.decimals == table.tokens[symbol].decimals
    assert read.ltv == reserve.ltv_bps
    assert read.liquidationThreshold == reserve.liquidation_threshold_bps
    assert read.liquidationBonus == reserve.liquidation_bonus_bps
    assert read.reserveFactor == reserve.reserve_factor_bps
    assert read.usageAsCollateralEnabled is reserve.collateral
    assert read.borrowingEnabled is reserve.borrowing
    assert read.stableBorrowRateEnabled is reserve.stable_borrowing
    assert read.isActive is reserve.active
    assert read.isFrozen is reserve.frozen
    assert tuple(data.getReserveCaps(asset)) == (reserve.borrow_cap, reserve.supply_cap)
    assert data.getReserveEModeCategory(asset) == reserve.emode
    assert data.getLiquidationProtocolFee(asset) == reserve.liquidation_protocol_fee_bps
    assert data.getDebtCeiling(asset) == reserve.debt_ceiling_cents
    assert data.getSiloedBorrowing(asset) is reserve.siloed
    assert data.getFlashLoanEnabled(asset) is reserve.flash_loans
    assert data.getPaused(asset) is reserve.paused
    borrowable_in_isolation = contract("AaveV3.Pool", "Pool").getConfiguration(asset).data >> 61 & 1
    assert bool(borrowable_in_isolation) is reserve.borrowable_in_isolation


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_rate_curve_reads_back_as_the_table_has_it(contract: ContractOf, table: ChainTable, symbol: str) -> None:
    address = table.aave.reserve(symbol).rate_strategy
    strategy, read = table.aave.rate_strategies[address], contract(address, "DefaultReserveInterestRateStrategy")
    # GHO's real curve is a constant with an optimum of zero, which this code cannot have; see docs/replica.md.
    assert read.OPTIMAL_USAGE_RATIO() == (RAY if symbol == "GHO" else strategy.optimal_usage_ray)
    assert read.getBaseVariableBorrowRate() == strategy.base_variable_rate_ray
    assert read.getVariableRateSlope1() == strategy.variable_slope1_ray
    assert read.getVariableRateSlope2() == strategy.variable_slope2_ray
    assert read.getBaseStableBorrowRate() == strategy.base_stable_rate_ray
    assert read.getStableRateSlope1() == strategy.stable_slope1_ray
    assert read.getStableRateSlope2() == strategy.stable_slope2_ray
    assert read.OPTIMAL_STABLE_TO_TOTAL_DEBT_RATIO() == strategy.optimal_stable_share_ray


def test_emode_one_is_the_eth_correlated_one(contract: ContractOf) -> None:
    read = contract("AaveV3.Pool", "Pool").getEModeCategoryData(1)
    assert (read.ltv, read.liquidationThreshold, read.liquidationBonus) == (9000, 9300, 10100)
    assert read.label == "ETH correlated"
    assert read.priceSource == bytes(20)


def test_the_market_itself_is_set_up_as_on_mainnet(contract: ContractOf, fork: Fork, table: ChainTable) -> None:
    pool, provider = contract("AaveV3.Pool", "Pool"), contract("AaveV3.Provider", "PoolAddressesProvider")
    assert provider.getMarketId() == "Aave Ethereum Market"
    assert provider.getPool() == pool.address
    assert provider.getPriceOracle() == fork.address_of("AaveV3.Oracle")
    assert provider.getPoolDataProvider() == fork.address_of("AaveV3.DataProvider")
    assert provider.owner() == provider.getACLAdmin() == fork.address_of("AaveV3.Admin")
    assert (pool.FLASHLOAN_PREMIUM_TOTAL(), pool.FLASHLOAN_PREMIUM_TO_PROTOCOL()) == (5, 4)
    registry = contract("AaveV3.ProviderRegistry", "PoolAddressesProviderRegistry")
    assert registry.getAddressesProvidersList() == [provider.address]
    assert contract("AaveV3.aUSDC", "AToken").RESERVE_TREASURY_ADDRESS() == fork.address_of("AaveV3.Treasury")
    assert contract("AaveV3.aUSDC", "AToken").symbol() == "aEthUSDC"
    assert contract("AaveV3.ACLManager", "ACLManager").isPoolAdmin(table.aave.addresses.acl_admin)


def test_the_table_is_aaves_configuration_of_october_2023(cases: Path, table: ChainTable) -> None:
    config = json.loads((cases / "aave" / "AaveV3Ethereum_config_20231031_after.json").read_text())
    published = {reserve["symbol"]: reserve for reserve in config["reserves"].values()}
    assert set(published) == {reserve.symbol for reserve in table.aave.reserves}
    fields = {
        "ltv": "ltv_bps",
        "liquidationThreshold": "liquidation_threshold_bps",
        "liquidationBonus": "liquidation_bonus_bps",
        "liquidationProtocolFee": "liquidation_protocol_fee_bps",
        "reserveFactor": "reserve_factor_bps",
        "supplyCap": "supply_cap",
        "borrowCap": "borrow_cap",
        "debtCeiling": "debt_ceiling_cents",
        "eModeCategory": "emode",
        "decimals": "decimals",
        "usageAsCollateralEnabled": "collateral",
        "borrowingEnabled": "borrowing",
        "stableBorrowRateEnabled": "stable_borrowing",
        "isBorrowableInIsolation": "borrowable_in_isolation",
        "isSiloed": "siloed",
        "isFlashloanable": "flash_loans",
        "isActive": "active",
        "isFrozen": "frozen",
        "isPaused": "paused",
        "aToken": "a_token",
        "variableDebtToken": "variable_debt_token",
        "stableDebtToken": "stable_debt_token",
        "aTokenImpl": "a_token_implementation",
        "aTokenName": "a_token_name",
        "aTokenSymbol": "a_token_symbol",
        "interestRateStrategy": "rate_strategy",
    }
    for reserve in table.aave.reserves:
        theirs = published[reserve.symbol]
        assert {ours: getattr(reserve, ours) for ours in fields.values()} == {
            ours: theirs[name] for name, ours in fields.items()
        }, reserve.symbol
        assert table.tokens[reserve.symbol].address == theirs["underlying"]
        assert table.feeds[reserve.feed].address == theirs["oracle"]
        curve, theirs_curve = (
            table.aave.rate_strategies[reserve.rate_strategy],
            config["strategies"][reserve.rate_strategy],
        )
        assert curve.variable_slope1_ray == theirs_curve["variableRateSlope1"]
        assert curve.optimal_usage_ray == theirs_curve["optimalUsageRatio"]
