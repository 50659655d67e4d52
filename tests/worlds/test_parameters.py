"""The market's parameters equal the table's, and the table's equal Aave's configuration."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from mayavi.evm.address import to_address
from mayavi.evm.fork import Fork
from mayavi.evm.units import RAY
from mayavi.worlds.tables.chain import ChainTable, load_table
from tests.worlds.contract_of import ContractOf
from tests.worlds.replicas import MARKETS, built_replica, interface_of, market

SYMBOLS = (
    *("WETH", "wstETH", "WBTC", "USDC", "DAI", "LINK", "AAVE", "cbETH", "USDT", "rETH", "LUSD", "CRV", "MKR", "SNX"),
    *("BAL", "UNI", "LDO", "ENS", "1INCH", "FRAX", "GHO", "RPL", "sDAI", "STG", "KNC"),
)


def test_the_reserves_are_listed_in_the_order_of_mainnet(contract: ContractOf, table: ChainTable) -> None:
    listed = contract("AaveV3.Pool", "Pool").getReservesList()
    assert listed == [to_address(table.tokens[symbol].address) for symbol in SYMBOLS]


def contract_on(chain: str) -> ContractOf:
    """Read the replica of `chain` as built."""
    return lambda label, artifact: built_replica(chain).contract(label, interface_of(artifact))


@pytest.mark.parametrize(("chain", "prefix"), MARKETS)
def test_a_reserve_reads_back_as_the_table_has_it(chain: str, prefix: str) -> None:
    data = contract_on(chain)(f"{prefix}.DataProvider", "AaveProtocolDataProvider")
    pool = contract_on(chain)(f"{prefix}.Pool", "Pool")
    tokens = load_table(chain).tokens
    assert pool.getReservesList() == [
        to_address(tokens[reserve.symbol].address) for reserve in market(chain, prefix).reserves
    ]
    for reserve in market(chain, prefix).reserves:
        asset = tokens[reserve.symbol].address
        read = data.getReserveConfigurationData(asset)
        isolation = pool.getConfiguration(asset).data >> 61 & 1
        assert {
            "decimals": read.decimals,
            "ltv_bps": read.ltv,
            "liquidation_threshold_bps": read.liquidationThreshold,
            "liquidation_bonus_bps": read.liquidationBonus,
            "liquidation_protocol_fee_bps": data.getLiquidationProtocolFee(asset),
            "reserve_factor_bps": read.reserveFactor,
            "supply_cap": data.getReserveCaps(asset).supplyCap,
            "borrow_cap": data.getReserveCaps(asset).borrowCap,
            "debt_ceiling_cents": data.getDebtCeiling(asset),
            "emode": data.getReserveEModeCategory(asset),
            "collateral": read.usageAsCollateralEnabled,
            "borrowing": read.borrowingEnabled,
            "stable_borrowing": read.stableBorrowRateEnabled,
            "borrowable_in_isolation": bool(isolation),
            "siloed": data.getSiloedBorrowing(asset),
            "flash_loans": data.getFlashLoanEnabled(asset),
            "active": read.isActive,
            "frozen": read.isFrozen,
            "paused": data.getPaused(asset),
            "supplied": data.getATokenTotalSupply(asset) // 10**reserve.decimals,
            "borrowed": data.getTotalDebt(asset) // 10**reserve.decimals,
        }.items() <= asdict(reserve).items(), reserve.symbol
        assert reserve.decimals == tokens[reserve.symbol].decimals


@pytest.mark.parametrize(("chain", "prefix"), MARKETS)
def test_the_tokens_of_a_reserve_are_named_and_placed_as_the_table_has_it(chain: str, prefix: str) -> None:
    contract, tokens = contract_on(chain), load_table(chain).tokens
    data = contract(f"{prefix}.DataProvider", "AaveProtocolDataProvider")
    for reserve in market(chain, prefix).reserves:
        asset = tokens[reserve.symbol].address
        expected = (reserve.a_token, reserve.stable_debt_token, reserve.variable_debt_token)
        assert tuple(data.getReserveTokensAddresses(asset)) == tuple(map(to_address, expected)), reserve.symbol
        assert data.getInterestRateStrategyAddress(asset) == to_address(reserve.rate_strategy), reserve.symbol
        a_token, debt = contract(reserve.a_token, "AToken"), contract(reserve.variable_debt_token, "VariableDebtToken")
        assert (a_token["name"](), a_token.symbol()) == (reserve.a_token_name, reserve.a_token_symbol)
        assert (debt["name"](), debt.symbol()) == (reserve.variable_debt_token_name, reserve.variable_debt_token_symbol)
        assert a_token.RESERVE_TREASURY_ADDRESS() == to_address(market(chain, prefix).addresses.treasury)


@pytest.mark.parametrize(("chain", "prefix"), MARKETS)
def test_a_rate_curve_reads_back_as_the_table_has_it(chain: str, prefix: str) -> None:
    for address, strategy in market(chain, prefix).rate_strategies.items():
        read = contract_on(chain)(address, "DefaultReserveInterestRateStrategy")
        # GHO's real curve is a constant with an optimum of zero, impossible here; see docs/concepts/replica.md.
        assert read.OPTIMAL_USAGE_RATIO() == (strategy.optimal_usage_ray or RAY)
        assert read.getBaseVariableBorrowRate() == strategy.base_variable_rate_ray
        assert read.getVariableRateSlope1() == strategy.variable_slope1_ray
        assert read.getVariableRateSlope2() == strategy.variable_slope2_ray
        assert read.getBaseStableBorrowRate() == strategy.base_stable_rate_ray
        assert read.getStableRateSlope1() == strategy.stable_slope1_ray
        assert read.getStableRateSlope2() == strategy.stable_slope2_ray
        assert read.OPTIMAL_STABLE_TO_TOTAL_DEBT_RATIO() == strategy.optimal_stable_share_ray


@pytest.mark.parametrize(("chain", "prefix"), MARKETS)
def test_an_efficiency_mode_reads_back_as_the_table_has_it(chain: str, prefix: str) -> None:
    for category in market(chain, prefix).emodes:
        read = contract_on(chain)(f"{prefix}.Pool", "Pool").getEModeCategoryData(category.id)
        assert (read.ltv, read.liquidationThreshold) == (category.ltv_bps, category.liquidation_threshold_bps)
        assert (read.liquidationBonus, read.label) == (category.liquidation_bonus_bps, category.label)


@pytest.mark.parametrize(("chain", "prefix"), MARKETS)
def test_the_oracle_answers_what_the_tables_feed_does(chain: str, prefix: str) -> None:
    table, oracle = load_table(chain), contract_on(chain)(f"{prefix}.Oracle", "AaveOracle")
    for reserve in market(chain, prefix).reserves:
        asset, feed = table.tokens[reserve.symbol].address, table.feeds[reserve.feed]
        answer = feed.answer if feed.base is None else table.feeds[feed.base].answer * feed.ratio_e18 // 10**18
        assert oracle.getAssetPrice(asset) == answer, reserve.symbol
        assert oracle.getSourceOfAsset(asset) == to_address(feed.address), reserve.symbol


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
