"""Deploy a market of Aave V3's code the way Aave does; SparkLend is one too.

Only the addresses provider has to be placed at its real address: it creates the pool and the configurator as its first
and second contract, and the configurator creates three tokens per reserve, so their addresses follow from the order of
creation. Implementations, rate strategies, oracle and data provider are placed one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mayavi.evm.address import ZERO_ADDRESS, checksum, to_address
from mayavi.evm.units import RAY
from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.deploy.feeds import feed_label
from mayavi.worlds.tables.chain import Aave, Feed, RateStrategy, Reserve

USD_E8 = 10**8
STABLE_RATE_EXCESS_OFFSET_RAY = 8 * 10**25
"""Not in the published configuration; 8 % is Aave's default. Only stable borrowing uses it, which is off."""

# Ordered so that each library comes after those it links.
_POOL_LIBRARIES = (
    "SupplyLogic",
    "BorrowLogic",
    "LiquidationLogic",
    "EModeLogic",
    "BridgeLogic",
    "FlashLoanLogic",
    "PoolLogic",
)
_INIT_RESERVES = (
    "initReserves((address,address,address,uint8,address,address,address,address,"
    "string,string,string,string,string,string,bytes)[])"
)


def deploy_aave(
    deployment: Deployment,
    aave: Aave,
    feeds: Mapping[str, Feed],
    *,
    admin: bytes,
    treasury: bytes,
    symbols: Iterable[str] | None = None,
    prefix: str = "AaveV3",
) -> None:
    """Deploy the market `aave` with all reserves, or those of `symbols`, over existing tokens and feeds.

    `admin` becomes owner and administrator. Labels start with `prefix`: `AaveV3.Pool`, `AaveV3.Oracle`, … and per
    reserve `AaveV3.aWETH`, `AaveV3.variableDebtWETH`, `AaveV3.stableDebtWETH`.
    """
    wanted = None if symbols is None else set(symbols)
    reserves = [reserve for reserve in aave.reserves if wanted is None or reserve.symbol in wanted]
    deploy_core(deployment, aave, admin=admin, prefix=prefix)
    sources = deployment.addresses(feed_label(reserve.feed, feeds[reserve.feed]) for reserve in reserves)
    assets = [deployment[reserve.symbol] for reserve in reserves]
    deploy_oracle(deployment, aave.addresses.oracle, assets, sources, admin=admin, prefix=prefix)
    deploy_token_implementations(deployment, reserves, prefix)
    for address in dict.fromkeys(reserve.rate_strategy for reserve in reserves):
        deploy_rate_strategy(deployment, address, aave.rate_strategies[address], prefix)
    for category in aave.emodes:
        deployment.send(
            f"{prefix}.PoolConfigurator",
            "setEModeCategory(uint8,uint16,uint16,uint16,address,string)",
            category.id,
            category.ltv_bps,
            category.liquidation_threshold_bps,
            category.liquidation_bonus_bps,
            to_address(category.price_source),
            category.label,
            sender=admin,
        )
    for reserve in reserves:
        list_reserve(deployment, reserve, admin=admin, treasury=treasury, prefix=prefix)
        configure_reserve(deployment, reserve, admin=admin, prefix=prefix)


def deploy_core(deployment: Deployment, aave: Aave, *, admin: bytes, prefix: str) -> None:
    """Deploy provider, registry, access control, pool, configurator, data provider, and set flash loan premiums."""
    at = aave.addresses
    registry = deployment.place(f"{prefix}.ProviderRegistry", "PoolAddressesProviderRegistry", admin, at=at.registry)
    provider = deployment.place(f"{prefix}.Provider", "PoolAddressesProvider", aave.market_id, admin, at=at.provider)
    deployment.send(registry, "registerAddressesProvider(address,uint256)", provider, aave.provider_id, sender=admin)

    # The access control manager's constructor reads the administrator from the provider.
    deployment.send(provider, "setACLAdmin(address)", admin, sender=admin)
    acl = deployment.place(f"{prefix}.ACLManager", "ACLManager", provider, at=at.acl_manager)
    deployment.send(provider, "setACLManager(address)", acl, sender=admin)
    for role in ("addPoolAdmin", "addEmergencyAdmin", "addRiskAdmin", "addAssetListingAdmin"):
        deployment.send(acl, f"{role}(address)", admin, sender=admin)

    libraries = _deploy_libraries(deployment, _POOL_LIBRARIES, prefix)
    implementation = deployment.place(
        f"{prefix}.PoolImplementation", aave.pool_contract, provider, at=at.pool_implementation, libraries=libraries
    )
    deployment.send(provider, "setPoolImpl(address)", implementation, sender=admin)
    deployment.label(f"{prefix}.Pool", deployment.view(provider, "getPool()(address)"), expected=at.pool)

    libraries = _deploy_libraries(deployment, ("ConfiguratorLogic",), prefix)
    implementation = deployment.place(
        f"{prefix}.PoolConfiguratorImplementation",
        "PoolConfigurator",
        at=at.pool_configurator_implementation,
        libraries=libraries,
    )
    deployment.send(provider, "setPoolConfiguratorImpl(address)", implementation, sender=admin)
    configurator = deployment.view(provider, "getPoolConfigurator()(address)")
    deployment.label(f"{prefix}.PoolConfigurator", configurator, expected=at.pool_configurator)

    data_provider = deployment.place(
        f"{prefix}.DataProvider", "AaveProtocolDataProvider", provider, at=at.data_provider
    )
    deployment.send(provider, "setPoolDataProvider(address)", data_provider, sender=admin)
    if at.l2_encoder:
        deployment.place(f"{prefix}.L2Encoder", "L2Encoder", deployment[f"{prefix}.Pool"], at=at.l2_encoder)
    premium = aave.flash_loan_premium_bps
    deployment.send(configurator, "updateFlashloanPremiumTotal(uint128)", premium["total"], sender=admin)
    deployment.send(configurator, "updateFlashloanPremiumToProtocol(uint128)", premium["protocol"], sender=admin)


def deploy_oracle(
    deployment: Deployment, at: str, assets: list[bytes], sources: list[bytes], *, admin: bytes, prefix: str
) -> None:
    """Deploy the price oracle in USD with 8 decimals, with a price source per asset."""
    provider = deployment[f"{prefix}.Provider"]
    oracle = deployment.place(
        f"{prefix}.Oracle",
        "AaveOracle",
        provider,
        assets,
        sources,
        ZERO_ADDRESS,  # no fallback oracle
        ZERO_ADDRESS,  # the base currency is the US dollar
        USD_E8,
        at=at,
    )
    deployment.send(provider, "setPriceOracle(address)", oracle, sender=admin)


def deploy_token_implementations(deployment: Deployment, reserves: list[Reserve], prefix: str) -> None:
    """Deploy the aToken and debt token implementations, shared between reserves as on the real chain."""
    pool = deployment[f"{prefix}.Pool"]
    for reserve in reserves:
        for contract, address in (
            (reserve.a_token_contract, reserve.a_token_implementation),
            ("StableDebtToken", reserve.stable_debt_token_implementation),
            ("VariableDebtToken", reserve.variable_debt_token_implementation),
        ):
            label = _implementation_label(address, prefix)
            if label not in deployment:
                deployment.place(label, contract, pool, at=address)


def deploy_rate_strategy(deployment: Deployment, address: str, strategy: RateStrategy, prefix: str) -> None:
    """Deploy one interest rate curve, labelled by its real address.

    GHO's real strategy is a constant rate with an optimal usage of zero, by which this code would divide. With slopes
    of zero any other optimum gives the same rate.
    """
    deployment.place(
        _strategy_label(address, prefix),
        "DefaultReserveInterestRateStrategy",
        deployment[f"{prefix}.Provider"],
        strategy.optimal_usage_ray or RAY,
        strategy.base_variable_rate_ray,
        strategy.variable_slope1_ray,
        strategy.variable_slope2_ray,
        strategy.stable_slope1_ray,
        strategy.stable_slope2_ray,
        strategy.base_stable_rate_ray - strategy.variable_slope1_ray,
        STABLE_RATE_EXCESS_OFFSET_RAY,
        strategy.optimal_stable_share_ray,
        at=address,
    )


def list_reserve(deployment: Deployment, reserve: Reserve, *, admin: bytes, treasury: bytes, prefix: str) -> None:
    """Create the three tokens of a reserve. No incentives controller: replicas have no rewards."""
    asset = deployment[reserve.symbol]
    listing = (
        deployment[_implementation_label(reserve.a_token_implementation, prefix)],
        deployment[_implementation_label(reserve.stable_debt_token_implementation, prefix)],
        deployment[_implementation_label(reserve.variable_debt_token_implementation, prefix)],
        reserve.decimals,
        deployment[_strategy_label(reserve.rate_strategy, prefix)],
        asset,
        treasury,
        ZERO_ADDRESS,
        reserve.a_token_name,
        reserve.a_token_symbol,
        reserve.variable_debt_token_name,
        reserve.variable_debt_token_symbol,
        reserve.stable_debt_token_name,
        reserve.stable_debt_token_symbol,
        b"",
    )
    deployment.send(f"{prefix}.PoolConfigurator", _INIT_RESERVES, [listing], sender=admin)
    tokens = deployment.view(
        f"{prefix}.DataProvider", "getReserveTokensAddresses(address)(address,address,address)", asset
    )
    expected = (reserve.a_token, reserve.stable_debt_token, reserve.variable_debt_token)
    for kind, token, real in zip(("a", "stableDebt", "variableDebt"), tokens, expected, strict=True):
        deployment.label(f"{prefix}.{kind}{reserve.symbol}", token, expected=real)


def configure_reserve(deployment: Deployment, reserve: Reserve, *, admin: bytes, prefix: str) -> None:
    """Set the risk parameters of a new reserve; values that a listing leaves at zero are not set again."""
    asset = deployment[reserve.symbol]

    def configure(function: str, *values: object) -> None:
        deployment.send(f"{prefix}.PoolConfigurator", function, asset, *values, sender=admin)

    if reserve.liquidation_threshold_bps:
        configure(
            "configureReserveAsCollateral(address,uint256,uint256,uint256)",
            reserve.ltv_bps,
            reserve.liquidation_threshold_bps,
            reserve.liquidation_bonus_bps,
        )
    if reserve.borrowing:
        configure("setReserveBorrowing(address,bool)", True)
    if reserve.stable_borrowing:
        configure("setReserveStableRateBorrowing(address,bool)", True)
    for function, value in (
        ("setReserveFlashLoaning(address,bool)", reserve.flash_loans),
        ("setReserveFactor(address,uint256)", reserve.reserve_factor_bps),
        ("setLiquidationProtocolFee(address,uint256)", reserve.liquidation_protocol_fee_bps),
        ("setSupplyCap(address,uint256)", reserve.supply_cap),
        ("setBorrowCap(address,uint256)", reserve.borrow_cap),
        ("setDebtCeiling(address,uint256)", reserve.debt_ceiling_cents),
        ("setAssetEModeCategory(address,uint8)", reserve.emode),
        ("setBorrowableInIsolation(address,bool)", reserve.borrowable_in_isolation),
        ("setSiloedBorrowing(address,bool)", reserve.siloed),
    ):
        if value:
            configure(function, value)


def close_reserve(deployment: Deployment, reserve: Reserve, *, admin: bytes, prefix: str = "AaveV3") -> None:
    """Freeze, pause or deactivate a reserve as its table says; last, because it blocks supplying."""
    asset = deployment[reserve.symbol]
    if reserve.frozen:
        deployment.send(f"{prefix}.PoolConfigurator", "setReserveFreeze(address,bool)", asset, True, sender=admin)
    if reserve.paused:
        deployment.send(f"{prefix}.PoolConfigurator", "setReservePause(address,bool)", asset, True, sender=admin)
    if not reserve.active:
        deployment.send(f"{prefix}.PoolConfigurator", "setReserveActive(address,bool)", asset, False, sender=admin)


def _deploy_libraries(deployment: Deployment, names: Iterable[str], prefix: str) -> dict[str, bytes]:
    placed: dict[str, bytes] = {}
    for name in names:
        links = deployment.artifacts.get(name).links
        placed[name] = deployment.place(
            f"{prefix}.Library.{name}", name, libraries={link: placed[link] for link in links}
        )
    return placed


def _implementation_label(address: str, prefix: str) -> str:
    return f"{prefix}.TokenImplementation.{checksum(address)}"


def _strategy_label(address: str, prefix: str) -> str:
    return f"{prefix}.RateStrategy.{checksum(address)}"
