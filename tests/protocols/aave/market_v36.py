"""A small market of Aave V3.6: four reserves and two efficiency modes, of the code that stands on mainnet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from mayavi import Fork
from mayavi.evm.abi.codec import Codec
from mayavi.evm.address import ZERO_ADDRESS, to_address
from mayavi.evm.hashing import keccak_text
from mayavi.worlds.aave_v36 import LIBRARIES, aave_v36_contracts
from mayavi.worlds.artifacts import Artifact, ArtifactStore
from mayavi.worlds.deploy.deployment import DEPLOYER, Deployment, named_account

TREASURY, UMBRELLA = named_account("treasury"), named_account("umbrella")
USD = 10**8
TIMESTAMP = 1_765_000_000


class Terms(NamedTuple):
    """Parameters of a reserve, in basis points and whole tokens."""

    decimals: int
    price_usd_e8: int
    ltv_bps: int
    threshold_bps: int
    bonus_bps: int
    fee_bps: int
    factor_bps: int
    rates_bps: tuple[int, int, int, int]
    """Optimal utilisation, base rate, and the two slopes."""
    supply_cap: int = 0
    borrow_cap: int = 0


class Mode(NamedTuple):
    """Parameters of an efficiency mode."""

    ltv_bps: int
    threshold_bps: int
    bonus_bps: int
    label: str
    collateral: tuple[str, ...]
    borrowable: tuple[str, ...]
    ltvzero: tuple[str, ...] = ()


RESERVES = {
    "WETH": Terms(18, 2_500 * USD, 8_000, 8_300, 10_500, 1_000, 1_500, (9_200, 0, 270, 8_000), 3_000_000, 6_000),
    "USDC": Terms(6, USD, 7_500, 7_800, 10_450, 1_000, 1_000, (9_200, 0, 600, 4_000), 0, 2_000_000_000),
    "wstETH": Terms(18, 3_050 * USD, 7_850, 8_100, 10_600, 1_000, 3_500, (9_000, 0, 100, 8_500), 20_000, 0),
    "GHO": Terms(18, USD, 0, 0, 0, 0, 1_000, (9_000, 150, 300, 5_000)),
}
MODES = {
    1: Mode(9_300, 9_500, 10_100, "ETH correlated", ("wstETH", "WETH"), ("WETH",), ("WETH",)),
    2: Mode(7_900, 8_100, 10_600, "wstETH stablecoins", ("wstETH",), ("USDC", "GHO")),
}


class _Store(ArtifactStore):
    """Artifacts of the packages, and those of V3.6 under their own names."""

    def __init__(self, own: Mapping[str, Artifact]) -> None:
        super().__init__()
        self._own = own

    def get(self, name: str) -> Artifact:
        return self._own[name] if name in self._own else super().get(name)


@cache
def _built() -> Fork:
    fork = Fork.empty(chain_id=1, hardfork="cancun")
    fork.set_block(number=23_950_000, timestamp=TIMESTAMP, gas_limit=36_000_000)
    deployment = Deployment(fork, _Store(aave_v36_contracts()), real_addresses=False)
    place, send = deployment.place, deployment.send
    for symbol, terms in RESERVES.items():
        place(symbol, "Token", symbol, symbol, terms.decimals, "1", DEPLOYER)
        place(f"Chainlink.{symbol}/USD", "PriceFeed", symbol, 8, terms.price_usd_e8, 1, TIMESTAMP, DEPLOYER)
    provider = place("AaveV3.Provider", "PoolAddressesProvider", "test", DEPLOYER)
    send(provider, "setACLAdmin(address)", DEPLOYER)
    acl = place("AaveV3.ACLManager", "ACLManager", provider)
    send(provider, "setACLManager(address)", acl)
    for role in ("addPoolAdmin", "addEmergencyAdmin", "addRiskAdmin", "addAssetListingAdmin"):
        send(acl, f"{role}(address)", DEPLOYER)
    send(provider, "setAddress(bytes32,address)", b"UMBRELLA".ljust(32, b"\0"), UMBRELLA)
    assets, feeds = ([deployment[each] for each in names] for names in (RESERVES, map(_feed, RESERVES)))
    oracle = place("AaveV3.Oracle", "AaveOracle", provider, assets, feeds, ZERO_ADDRESS, ZERO_ADDRESS, USD)
    send(provider, "setPriceOracle(address)", oracle)
    _place_pool(deployment, provider)
    for symbol in RESERVES:
        _list(deployment, symbol)
    for number, mode in MODES.items():
        _add_mode(deployment, number, mode)
    send("AaveV3.PoolConfigurator", "updateFlashloanPremium(uint128)", 5)
    deployment.labels |= {"AaveV3.Admin": DEPLOYER, "AaveV3.Treasury": TREASURY, "AaveV3.Umbrella": UMBRELLA}
    fork.labels = deployment.checksummed_labels()
    return fork


def _feed(symbol: str) -> str:
    return f"Chainlink.{symbol}/USD"


def _place_pool(deployment: Deployment, provider: bytes) -> None:
    place, send = deployment.place, deployment.send
    libraries: dict[str, bytes] = {}
    for name in sorted(LIBRARIES, key=lambda each: len(deployment.artifacts.get(each).links)):
        libraries[name] = place(f"AaveV3.Library.{name}", name, libraries=libraries)
    strategy = place("AaveV3.RateStrategy", "DefaultReserveInterestRateStrategyV2", provider)
    pool = place("AaveV3.PoolImplementation", "PoolInstance", provider, strategy, libraries=libraries)
    send(provider, "setPoolImpl(address)", pool)
    deployment.label("AaveV3.Pool", deployment.view(provider, "getPool()(address)"))
    configurator = place("AaveV3.PoolConfiguratorImplementation", "PoolConfiguratorInstance", libraries=libraries)
    send(provider, "setPoolConfiguratorImpl(address)", configurator)
    deployment.label("AaveV3.PoolConfigurator", deployment.view(provider, "getPoolConfigurator()(address)"))
    send(provider, "setPoolDataProvider(address)", place("AaveV3.DataProvider", "AaveProtocolDataProvider", provider))
    at = deployment["AaveV3.Pool"]
    place("AaveV3.AToken", "ATokenInstance", at, ZERO_ADDRESS, TREASURY)
    place("AaveV3.DebtToken", "VariableDebtTokenInstance", at, ZERO_ADDRESS)


def _list(deployment: Deployment, symbol: str) -> None:
    terms, asset = RESERVES[symbol], deployment[symbol]

    def configure(function: str, *values: Any) -> None:
        deployment.send("AaveV3.PoolConfigurator", function, *values)

    rates = Codec.of("uint16,uint32,uint32,uint32").encode(terms.rates_bps)
    names = f"Aave {symbol}", f"a{symbol}", f"Aave debt {symbol}", f"variableDebt{symbol}"
    row = (deployment["AaveV3.AToken"], deployment["AaveV3.DebtToken"], asset, *names, b"", rates)
    configure("initReserves((address,address,address,string,string,string,string,bytes,bytes)[])", [row])
    if terms.threshold_bps:
        chosen = terms.ltv_bps, terms.threshold_bps, terms.bonus_bps
        configure("configureReserveAsCollateral(address,uint256,uint256,uint256)", asset, *chosen)
    configure("setReserveBorrowing(address,bool)", asset, True)
    configure("setReserveFlashLoaning(address,bool)", asset, True)
    configure("setReserveFactor(address,uint256)", asset, terms.factor_bps)
    if terms.fee_bps:
        configure("setLiquidationProtocolFee(address,uint256)", asset, terms.fee_bps)
    configure("setSupplyCap(address,uint256)", asset, terms.supply_cap)
    configure("setBorrowCap(address,uint256)", asset, terms.borrow_cap)
    tokens = deployment.view("AaveV3.Pool", "getReserveAToken(address)(address)", asset)
    deployment.label(f"AaveV3.a{symbol}", tokens)


def _add_mode(deployment: Deployment, number: int, mode: Mode) -> None:
    def configure(function: str, *values: Any) -> None:
        deployment.send("AaveV3.PoolConfigurator", function, *values)

    numbers = mode.ltv_bps, mode.threshold_bps, mode.bonus_bps
    configure("setEModeCategory(uint8,uint16,uint16,uint16,string)", number, *numbers, mode.label)
    for function, symbols in (
        ("setAssetCollateralInEMode", mode.collateral),
        ("setAssetBorrowableInEMode", mode.borrowable),
        ("setAssetLtvzeroInEMode", mode.ltvzero),
    ):
        for symbol in symbols:
            configure(f"{function}(address,uint8,bool)", deployment[symbol], number, True)


def market_v36_fork() -> Fork:
    """Return a copy of the small V3.6 market, built once per process."""
    return _built().copy()


def lender_of(symbol: str) -> bytes:
    """Return the account that supplies `symbol` in tests."""
    return to_address(keccak_text(f"lender {symbol}")[-20:])
