"""Deploy a market of Aave V3.6 at its real addresses, and fill it.

Libraries and implementations stand where the factory of Aave's upgrades created them. Reserves listed before V3.2 had
three tokens, so the configurator of today would create tokens elsewhere: proxies are placed at the real addresses and
listed as the configurator lists them. Every parameter is then set through the configurator, which checks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mayavi.errors import CallReverted, UsageError
from mayavi.evm.abi.interface import Function
from mayavi.evm.address import checksum, to_address
from mayavi.evm.hashing import keccak256, keccak_text
from mayavi.worlds.artifacts import AAVE_V36
from mayavi.worlds.deploy.aave import deploy_oracle
from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.deploy.feeds import feed_label
from mayavi.worlds.deploy.tokens import fund
from mayavi.worlds.tables.chain import Feed, Token
from mayavi.worlds.tables.market import Market, MarketReserve

FACTORY = to_address("0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7")
LIBRARY_SALT = keccak_text("AAVE_V3_LIBRARIES_BATCH")
IMPLEMENTATION_SALT = b"v1".ljust(32, b"\0")

_PREFIX = "AaveV3"
_PROXY = "InitializableImmutableAdminUpgradeabilityProxy"
# Each after those it links.
_LIBRARIES = ("BorrowLogic", "ConfiguratorLogic", "FlashLoanLogic", "LiquidationLogic", "PoolLogic", "SupplyLogic")
_INITIALIZE = Function.parse("initialize(address,address,uint8,string,string,bytes)")
_ACTIVE, _VIRTUAL_ACCOUNTING, _DECIMALS_SHIFT = 1 << 56, 1 << 252, 48


def deploy_market(deployment: Deployment, market: Market, feeds: Mapping[str, Feed]) -> None:
    """Deploy the market with all reserves and efficiency modes, over existing tokens and feeds.

    Labels are those of Aave V3: `AaveV3.Pool`, `AaveV3.aWETH`, `AaveV3.variableDebtWETH`, …
    """
    _deploy_core(deployment, market)
    assets = [deployment[reserve.symbol] for reserve in market.reserves]
    sources = deployment.addresses(feed_label(each.feed, feeds[each.feed]) for each in market.reserves)
    at = market.addresses
    deploy_oracle(deployment, at.oracle, assets, sources, admin=to_address(at.acl_admin), prefix=_PREFIX)
    for reserve in market.reserves:
        with _refused(deployment, f"the reserve {reserve.symbol}"):
            _list_reserve(deployment, market, reserve)
            _configure_reserve(deployment, market, reserve)


def fill_market(deployment: Deployment, market: Market, tokens: Mapping[str, Token], *, holder: bytes) -> None:
    """Supply the recorded liquidity as `holder`; then set caps, close what is closed, and set efficiency modes."""
    pool = deployment[f"{_PREFIX}.Pool"]
    for reserve in market.reserves:
        asset, token = deployment[reserve.symbol], tokens[reserve.symbol]
        with _refused(deployment, f"the liquidity of {reserve.symbol}"):
            if amount := reserve.virtual_balance:
                fund(deployment, reserve.symbol, token, holder, amount)
                deployment.send(reserve.symbol, "approve(address,uint256)", pool, amount, sender=holder)
                deployment.send(pool, "supply(address,uint256,address,uint16)", asset, amount, holder, 0, sender=holder)
        if (rest := reserve.a_token_balance - reserve.virtual_balance) > 0:
            fund(deployment, reserve.symbol, token, holder, rest)
            a_token = to_address(reserve.a_token)
            deployment.send(reserve.symbol, "transfer(address,uint256)", a_token, rest, sender=holder)
    for reserve in market.reserves:
        with _refused(deployment, f"the reserve {reserve.symbol}"):
            _close_reserve(deployment, market, reserve)
    for category in market.emodes:
        with _refused(deployment, f"the efficiency mode {category.id} '{category.label}'"):
            _set_emode(deployment, market, category.id)


def implementation_address(initcode: bytes, salt: bytes = IMPLEMENTATION_SALT) -> bytes:
    """Return where the factory of Aave's upgrades creates a contract: it depends on the code, and on no chain."""
    return keccak256(b"\xff" + FACTORY + salt + keccak256(initcode))[-20:]


def _deploy_core(deployment: Deployment, market: Market) -> None:
    at = market.addresses
    admin = to_address(at.acl_admin)
    registry = deployment.place(f"{_PREFIX}.ProviderRegistry", "PoolAddressesProviderRegistry", admin, at=at.registry)
    provider = deployment.place(f"{_PREFIX}.Provider", "PoolAddressesProvider", market.market_id, admin, at=at.provider)
    deployment.send(registry, "registerAddressesProvider(address,uint256)", provider, market.provider_id, sender=admin)

    # The access control manager's constructor reads the administrator from the provider.
    deployment.send(provider, "setACLAdmin(address)", admin, sender=admin)
    acl = deployment.place(f"{_PREFIX}.ACLManager", "ACLManager", provider, at=at.acl_manager)
    deployment.send(provider, "setACLManager(address)", acl, sender=admin)
    for role in ("addPoolAdmin", "addEmergencyAdmin", "addRiskAdmin", "addAssetListingAdmin"):
        deployment.send(acl, f"{role}(address)", admin, sender=admin)

    deployment.place(f"{_PREFIX}.RewardsController", "NoRewards", at=at.rewards_controller)
    strategy = f"{AAVE_V36}DefaultReserveInterestRateStrategyV2"
    rates = deployment.place(f"{_PREFIX}.RateStrategy", strategy, provider, at=at.rate_strategy)
    for name in _LIBRARIES:
        _place(deployment, f"{_PREFIX}.Library.{name}", name, salt=LIBRARY_SALT)
    for name, contract, arguments, address, setter in (
        ("Pool", market.pool_contract, (provider, rates), at.pool, "setPoolImpl"),
        ("PoolConfigurator", "PoolConfiguratorInstance", (), at.pool_configurator, "setPoolConfiguratorImpl"),
    ):
        implementation = _place(deployment, f"{_PREFIX}.{name}Implementation", contract, *arguments)
        proxy = deployment.place(f"{_PREFIX}.{name}", _PROXY, provider, at=address)
        key = (b"POOL" if name == "Pool" else b"POOL_CONFIGURATOR").ljust(32, b"\0")
        deployment.send(provider, "setAddress(bytes32,address)", key, proxy, sender=admin)
        deployment.send(provider, f"{setter}(address)", implementation, sender=admin)

    data_provider = f"{AAVE_V36}AaveProtocolDataProvider"
    reader = deployment.place(f"{_PREFIX}.DataProvider", data_provider, provider, at=at.data_provider)
    deployment.send(provider, "setPoolDataProvider(address)", reader, sender=admin)
    configurator = deployment[f"{_PREFIX}.PoolConfigurator"]
    with _refused(deployment, "the flash loan premium"):
        deployment.send(configurator, "updateFlashloanPremium(uint128)", market.flash_loan_premium_bps, sender=admin)


def _place(
    deployment: Deployment, label: str, name: str, *arguments: object, salt: bytes = IMPLEMENTATION_SALT
) -> bytes:
    """Create a library or implementation where the factory did."""
    contract = AAVE_V36 + name
    artifact = deployment.artifacts.get(contract)
    libraries = {each: deployment[f"{_PREFIX}.Library.{each}"] for each in artifact.links}
    address = checksum(implementation_address(artifact.initcode(arguments, libraries), salt))
    return deployment.place(label, contract, *arguments, at=address, libraries=libraries)


def _list_reserve(deployment: Deployment, market: Market, reserve: MarketReserve) -> None:
    """Create both tokens of a reserve and list it, in the steps of the configurator's `initReserves`."""
    at = market.addresses
    pool, configurator = deployment[f"{_PREFIX}.Pool"], deployment[f"{_PREFIX}.PoolConfigurator"]
    rewards, asset = to_address(at.rewards_controller), deployment[reserve.symbol]
    tokens = []
    for kind, contract, arguments, address, name, symbol in (
        (
            *("a", reserve.a_token_contract, (pool, rewards, to_address(at.treasury))),
            *(reserve.a_token, reserve.a_token_name, reserve.a_token_symbol),
        ),
        (
            *("variableDebt", reserve.variable_debt_token_contract, (pool, rewards)),
            *(reserve.variable_debt_token, reserve.variable_debt_token_name, reserve.variable_debt_token_symbol),
        ),
    ):
        label = f"{_PREFIX}.Implementation.{contract}"
        if label not in deployment:
            _place(deployment, label, contract, *arguments)
        proxy = deployment.place(f"{_PREFIX}.{kind}{reserve.symbol}", _PROXY, configurator, at=address)
        data = _INITIALIZE.encode(pool, asset, reserve.decimals, name, symbol, b"")
        deployment.send(proxy, "initialize(address,bytes)", deployment[label], data, sender=configurator)
        tokens.append(proxy)
    deployment.send(pool, "initReserve(address,address,address)", asset, *tokens, sender=configurator)
    configuration = _ACTIVE | _VIRTUAL_ACCOUNTING | reserve.decimals << _DECIMALS_SHIFT
    deployment.send(pool, "setConfiguration(address,(uint256))", asset, (configuration,), sender=configurator)
    curve = (reserve.optimal_usage_bps, reserve.base_rate_bps, reserve.slope1_bps, reserve.slope2_bps)
    rates = deployment[f"{_PREFIX}.RateStrategy"]
    set_rates = "setInterestRateParams(address,(uint16,uint32,uint32,uint32))"
    deployment.send(rates, set_rates, asset, curve, sender=configurator)


def _configure_reserve(deployment: Deployment, market: Market, reserve: MarketReserve) -> None:
    """Set the risk parameters of a new reserve; values that a listing leaves at zero are not set again."""
    admin, asset = to_address(market.addresses.acl_admin), deployment[reserve.symbol]

    def configure(function: str, *values: object) -> None:
        deployment.send(f"{_PREFIX}.PoolConfigurator", function, asset, *values, sender=admin)

    collateral = (reserve.ltv_bps, reserve.liquidation_threshold_bps, reserve.liquidation_bonus_bps)
    if any(collateral):
        configure("configureReserveAsCollateral(address,uint256,uint256,uint256)", *collateral)
    for function, value in (
        ("setReserveBorrowing(address,bool)", reserve.borrowing),
        ("setReserveFlashLoaning(address,bool)", reserve.flash_loans),
        ("setReserveFactor(address,uint256)", reserve.reserve_factor_bps),
        ("setLiquidationProtocolFee(address,uint256)", reserve.liquidation_protocol_fee_bps),
        ("setDebtCeiling(address,uint256)", reserve.debt_ceiling_cents),
        ("setBorrowableInIsolation(address,bool)", reserve.borrowable_in_isolation),
        ("setSiloedBorrowing(address,bool)", reserve.siloed),
    ):
        if value:
            configure(function, value)


def _close_reserve(deployment: Deployment, market: Market, reserve: MarketReserve) -> None:
    """Set the caps, and freeze or pause a reserve as its table says; last, because it blocks supplying."""
    admin, asset = to_address(market.addresses.acl_admin), deployment[reserve.symbol]
    for function, value in (
        ("setSupplyCap(address,uint256)", reserve.supply_cap),
        ("setBorrowCap(address,uint256)", reserve.borrow_cap),
        ("setReserveFreeze(address,bool)", reserve.frozen),
        ("setReservePause(address,bool)", reserve.paused),
    ):
        if value:
            deployment.send(f"{_PREFIX}.PoolConfigurator", function, asset, value, sender=admin)
    if not reserve.active:
        deployment.send(f"{_PREFIX}.PoolConfigurator", "setReserveActive(address,bool)", asset, False, sender=admin)


def _set_emode(deployment: Deployment, market: Market, number: int) -> None:
    """Set a category, and its bitmaps as the configurator does: through it, freezing would have changed them."""
    category = next(each for each in market.emodes if each.id == number)
    configurator, pool = deployment[f"{_PREFIX}.PoolConfigurator"], deployment[f"{_PREFIX}.Pool"]
    deployment.send(
        configurator,
        "setEModeCategory(uint8,uint16,uint16,uint16,string)",
        category.id,
        category.ltv_bps,
        category.liquidation_threshold_bps,
        category.liquidation_bonus_bps,
        category.label,
        sender=to_address(market.addresses.acl_admin),
    )
    for which, symbols in (
        ("Collateral", category.collateral),
        ("Borrowable", category.borrowable),
        ("Ltvzero", category.ltvzero),
    ):
        if bitmap := market.bitmap(symbols):
            function = f"configureEModeCategory{which}Bitmap(uint8,uint128)"
            deployment.send(pool, function, category.id, bitmap, sender=configurator)


@contextmanager
def _refused(deployment: Deployment, what: str) -> Iterator[None]:
    """Say of a refused parameter what it belongs to and Aave's own reason."""
    try:
        yield
    except CallReverted as error:
        raise UsageError(f"Aave refuses {what}: {_reason(deployment, error)}", "correct the market's table") from error


def _reason(deployment: Deployment, error: CallReverted) -> str:
    errors = {
        keccak_text(f"{entry['name']}({','.join(each['type'] for each in entry['inputs'])})")[:4]: entry["name"]
        for contract in ("PoolConfiguratorInstance", "PoolInstance", "DefaultReserveInterestRateStrategyV2")
        for entry in deployment.artifacts.get(AAVE_V36 + contract).abi
        if entry["type"] == "error"
    }
    name = errors.get(error.output[:4])
    return f"{name}()" if name else error.message
