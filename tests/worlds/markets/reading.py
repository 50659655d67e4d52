"""Read a market of Aave V3.6 as built, in the keys of Aave's configuration snapshots."""

from __future__ import annotations

from functools import cache
from typing import Any

from mayavi.evm.abi.contract import Contract
from mayavi.evm.address import checksum, to_address
from mayavi.evm.fork import Fork
from mayavi.worlds.builder import build_replica
from mayavi.worlds.tables.market import load_market
from mayavi.worlds.tables.paths import market_names
from tests.worlds.replicas import artifact_store, interface_of

WORLDS = market_names()
RAY_PER_BPS = 10**23


@cache
def built_market(world: str) -> Fork:
    """Return the world as built; copy it before changing anything."""
    return build_replica(load_market(world), artifact_store())


def contract(fork: Fork, where: str, artifact: str) -> Contract:
    return fork.contract(where, interface_of(artifact))


def read_pool(fork: Fork) -> dict[str, str]:
    """Addresses as the provider gives them, which is how any user of the market finds them."""
    provider = contract(fork, "AaveV3.Provider", "PoolAddressesProvider")
    return {
        "oracle": checksum(provider.getPriceOracle()),
        "pool": checksum(provider.getPool()),
        "poolAddressesProvider": fork.labels["AaveV3.Provider"],
        "poolConfigurator": checksum(provider.getPoolConfigurator()),
        "protocolDataProvider": checksum(provider.getPoolDataProvider()),
    }


def read_reserves(fork: Fork) -> dict[str, dict[str, Any]]:
    """Every reserve by the address of its token."""
    pool = contract(fork, "AaveV3.Pool", "AaveV36.PoolInstance")
    return {checksum(asset): read_reserve(fork, asset) for asset in pool.getReservesList()}


def read_reserve(fork: Fork, asset: bytes) -> dict[str, Any]:
    pool = contract(fork, "AaveV3.Pool", "AaveV36.PoolInstance")
    data = contract(fork, "AaveV3.DataProvider", "AaveV36.AaveProtocolDataProvider")
    oracle = contract(fork, "AaveV3.Oracle", "AaveOracle")
    a_token, debt = checksum(pool.getReserveAToken(asset)), checksum(pool.getReserveVariableDebtToken(asset))
    token, a, variable = (_token(fork, each) for each in (checksum(asset), a_token, debt))
    risk, caps = data.getReserveConfigurationData(asset), data.getReserveCaps(asset)
    feed = checksum(oracle.getSourceOfAsset(asset))
    return {
        "underlying": checksum(asset),
        "symbol": token.symbol(),
        "decimals": token.decimals(),
        "id": pool.getReserveData(asset).id,
        "ltv": risk.ltv,
        "liquidationThreshold": risk.liquidationThreshold,
        "liquidationBonus": risk.liquidationBonus,
        "reserveFactor": risk.reserveFactor,
        "usageAsCollateralEnabled": risk.usageAsCollateralEnabled,
        "borrowingEnabled": risk.borrowingEnabled,
        "isActive": risk.isActive,
        "isFrozen": risk.isFrozen,
        "isPaused": data.getPaused(asset),
        "isSiloed": data.getSiloedBorrowing(asset),
        "isFlashloanable": data.getFlashLoanEnabled(asset),
        "isBorrowableInIsolation": bool(pool.getConfiguration(asset).data >> 61 & 1),
        "liquidationProtocolFee": data.getLiquidationProtocolFee(asset),
        "supplyCap": caps.supplyCap,
        "borrowCap": caps.borrowCap,
        "debtCeiling": data.getDebtCeiling(asset),
        "aToken": a_token,
        "aTokenName": a.name(),
        "aTokenSymbol": a.symbol(),
        "variableDebtToken": debt,
        "variableDebtTokenName": variable.name(),
        "variableDebtTokenSymbol": variable.symbol(),
        "interestRateStrategy": checksum(pool.RESERVE_INTEREST_RATE_STRATEGY()),
        "oracle": feed,
        "oracleDecimals": _feed(fork, feed).decimals(),
        "oracleDescription": _feed(fork, feed).description(),
        "oracleLatestAnswer": str(oracle.getAssetPrice(asset)),
        "virtualBalance": str(pool.getVirtualUnderlyingBalance(asset)),
        "aTokenUnderlyingBalance": str(token.balanceOf(to_address(a_token))),
    }


def read_curve(fork: Fork, asset: str) -> dict[str, str]:
    rates = contract(fork, "AaveV3.RateStrategy", "AaveV36.DefaultReserveInterestRateStrategyV2")
    return {
        "address": fork.labels["AaveV3.RateStrategy"],
        "optimalUsageRatio": str(rates.getOptimalUsageRatio(asset)),
        "baseVariableBorrowRate": str(rates.getBaseVariableBorrowRate(asset)),
        "variableRateSlope1": str(rates.getVariableRateSlope1(asset)),
        "variableRateSlope2": str(rates.getVariableRateSlope2(asset)),
        "maxVariableBorrowRate": str(rates.getMaxVariableBorrowRate(asset)),
    }


def read_emodes(fork: Fork) -> dict[str, dict[str, Any]]:
    """Every efficiency mode that is set, by its number."""
    pool = contract(fork, "AaveV3.Pool", "AaveV36.PoolInstance")
    found = {}
    for number in range(1, 256):
        category = pool.getEModeCategoryCollateralConfig(number)
        if category.liquidationThreshold:
            found[str(number)] = {
                "eModeCategory": number,
                "label": pool.getEModeCategoryLabel(number),
                "ltv": category.ltv,
                "liquidationThreshold": category.liquidationThreshold,
                "liquidationBonus": category.liquidationBonus,
                "collateralBitmap": str(pool.getEModeCategoryCollateralBitmap(number)),
                "borrowableBitmap": str(pool.getEModeCategoryBorrowableBitmap(number)),
                "ltvzeroBitmap": str(pool.getEModeCategoryLtvzeroBitmap(number)),
            }
    return found


def _token(fork: Fork, address: str) -> Contract:
    return contract(fork, address, "Token")


def _feed(fork: Fork, address: str) -> Contract:
    return contract(fork, address, "PriceFeed")
