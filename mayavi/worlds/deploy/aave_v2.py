"""Deploy a small market of Aave V2's code the way Aave did.

The addresses provider is placed at its real address and creates the pool and the configurator, which therefore come out
at theirs. All other contracts get ordinary addresses. Prices come from price feeds in US dollars with eight decimals,
where Ethereum's market has prices in ETH: the pool's arithmetic uses their ratio only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mayavi.evm.address import ZERO_ADDRESS
from mayavi.worlds.artifacts import AAVE_V2
from mayavi.worlds.deploy.deployment import Deployment

PREFIX = "AaveV2"
PROVIDER = "0xB53C1a33016B2DC2fF3653530bfF1848a515c8c5"
POOL = "0x7d2768dE32b0b80b7a3454c06BdAc94A69DDc7A9"
CONFIGURATOR = "0x311Bb771e4F8952E6Da169b425E7e92d6Ac45756"
MARKET_ID = "Aave genesis market"


@dataclass(frozen=True, slots=True)
class ReserveV2:
    """Parameters of a reserve. The bonus counts from 100 %: 10,450 is a bonus of 4.5 %."""

    asset: bytes
    decimals: int
    price_feed: bytes
    ltv_bps: int
    liquidation_threshold_bps: int
    liquidation_bonus_bps: int
    reserve_factor_bps: int
    optimal_usage_ray: int
    base_rate_ray: int
    slope1_ray: int
    slope2_ray: int


def deploy_aave_v2(deployment: Deployment, reserves: Mapping[str, ReserveV2], *, admin: bytes, treasury: bytes) -> None:
    """Deploy a market with `reserves`, by symbol, over existing tokens and price feeds.

    Labels are `AaveV2.Pool`, `AaveV2.Oracle` … and per reserve `AaveV2.aUSDC`, `AaveV2.variableDebtUSDC`,
    `AaveV2.stableDebtUSDC`. Stable rates are off.
    """
    provider = _deploy_core(deployment, admin)
    assets = [each.asset for each in reserves.values()]
    sources = [each.price_feed for each in reserves.values()]
    # The last argument is the asset whose price is always one ether: none, as prices are in dollars.
    oracle = _place(deployment, "Oracle", "AaveOracle", assets, sources, ZERO_ADDRESS, ZERO_ADDRESS)
    deployment.send(provider, "setPriceOracle(address)", oracle)
    rate_oracle = _place(deployment, "LendingRateOracle", "LendingRateOracle")
    deployment.send(provider, "setLendingRateOracle(address)", rate_oracle)
    for symbol, reserve in reserves.items():
        _list_reserve(deployment, symbol, reserve, admin=admin, treasury=treasury)


def _deploy_core(deployment: Deployment, admin: bytes) -> bytes:
    provider = _place(deployment, "Provider", "LendingPoolAddressesProvider", MARKET_ID, at=PROVIDER)
    deployment.send(provider, "setPoolAdmin(address)", admin)
    deployment.send(provider, "setEmergencyAdmin(address)", admin)
    generic = _place(deployment, "GenericLogic", "GenericLogic")
    libraries = {
        "ReserveLogic": _place(deployment, "ReserveLogic", "ReserveLogic"),
        "ValidationLogic": _place(
            deployment, "ValidationLogic", "ValidationLogic", libraries={"GenericLogic": generic}
        ),
    }
    pool = _place(deployment, "PoolImplementation", "LendingPool", libraries=libraries)
    deployment.send(provider, "setLendingPoolImpl(address)", pool)
    deployment.label(f"{PREFIX}.Pool", deployment.view(provider, "getLendingPool()(address)"), expected=POOL)
    configurator = _place(deployment, "PoolConfiguratorImplementation", "LendingPoolConfigurator")
    deployment.send(provider, "setLendingPoolConfiguratorImpl(address)", configurator)
    deployment.label(
        f"{PREFIX}.PoolConfigurator",
        deployment.view(provider, "getLendingPoolConfigurator()(address)"),
        expected=CONFIGURATOR,
    )
    manager = _place(deployment, "CollateralManager", "LendingPoolCollateralManager")
    deployment.send(provider, "setLendingPoolCollateralManager(address)", manager)
    _place(deployment, "DataProvider", "AaveProtocolDataProvider", provider)
    return provider


def _list_reserve(deployment: Deployment, symbol: str, reserve: ReserveV2, *, admin: bytes, treasury: bytes) -> None:
    pool, configurator = deployment[f"{PREFIX}.Pool"], f"{PREFIX}.PoolConfigurator"
    strategy = _place(
        deployment,
        f"RateStrategy.{symbol}",
        "DefaultReserveInterestRateStrategy",
        deployment[f"{PREFIX}.Provider"],
        reserve.optimal_usage_ray,
        reserve.base_rate_ray,
        reserve.slope1_ray,
        reserve.slope2_ray,
        0,
        0,
    )
    implementations = [
        _place(deployment, f"{token}{symbol}Implementation", contract, pool, reserve.asset, *more, ZERO_ADDRESS)
        for token, contract, more in (
            ("a", "AToken", (treasury, f"Aave interest bearing {symbol}", f"a{symbol}")),
            ("stableDebt", "StableDebtToken", (f"Aave stable debt {symbol}", f"stableDebt{symbol}")),
            ("variableDebt", "VariableDebtToken", (f"Aave variable debt {symbol}", f"variableDebt{symbol}")),
        )
    ]
    deployment.send(
        configurator,
        "initReserve(address,address,address,uint8,address)",
        *implementations,
        reserve.decimals,
        strategy,
        sender=admin,
    )
    tokens = deployment.view(
        f"{PREFIX}.DataProvider", "getReserveTokensAddresses(address)(address,address,address)", reserve.asset
    )
    for token, address in zip(("a", "stableDebt", "variableDebt"), tokens, strict=True):
        deployment.label(f"{PREFIX}.{token}{symbol}", address)
    deployment.send(
        configurator,
        "configureReserveAsCollateral(address,uint256,uint256,uint256)",
        reserve.asset,
        reserve.ltv_bps,
        reserve.liquidation_threshold_bps,
        reserve.liquidation_bonus_bps,
        sender=admin,
    )
    deployment.send(configurator, "enableBorrowingOnReserve(address,bool)", reserve.asset, False, sender=admin)
    deployment.send(
        configurator, "setReserveFactor(address,uint256)", reserve.asset, reserve.reserve_factor_bps, sender=admin
    )


def _place(
    deployment: Deployment,
    label: str,
    contract: str,
    *arguments: object,
    at: str | None = None,
    libraries: Mapping[str, bytes] | None = None,
) -> bytes:
    return deployment.place(f"{PREFIX}.{label}", f"{AAVE_V2}{contract}", *arguments, at=at, libraries=libraries)
