"""Reference for Aave tests: its arithmetic in Python integers, and governance actions for set-up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from mayavi import Fork
from mayavi.evm.abi.interface import Interface
from mayavi.evm.address import ZERO_ADDRESS, to_address
from mayavi.protocols import AaveAccount, AaveV3, PriceFeed
from mayavi.protocols.tokens import Erc20
from mayavi.worlds.deploy.aave import configure_reserve, list_reserve
from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.tables.chain import load_table

WAD, RAY, BPS = 10**18, 10**27, 10_000
NO_DEBT = 2**256 - 1
ALICE, BOB, CAROL = (bytes.fromhex(name.ljust(40, "0")) for name in ("a11ce0", "b0b000", "ca4010"))
YEAR = 365 * 86_400
DATA_PROVIDER = [
    "getReserveConfigurationData(address) view returns (uint256 decimals, uint256 ltv, uint256 threshold,"
    " uint256 bonus, uint256 reserveFactor, bool collateral, bool borrowing, bool stable, bool active, bool frozen)",
    "getReserveCaps(address) view returns (uint256 borrowCap, uint256 supplyCap)",
    "getDebtCeiling(address) view returns (uint256)",
    "getPaused(address) view returns (bool)",
    "getSiloedBorrowing(address) view returns (bool)",
    "getLiquidationProtocolFee(address) view returns (uint256)",
    "getReserveEModeCategory(address) view returns (uint256)",
    "getFlashLoanEnabled(address) view returns (bool)",
    "getReserveData(address) view returns (uint256 unbacked, uint256 accruedToTreasury, uint256 supplied,"
    " uint256 stableDebt, uint256 variableDebt, uint256 supplyRate, uint256 variableRate, uint256 stableRate,"
    " uint256 averageStableRate, uint256 liquidityIndex, uint256 variableIndex, uint40 lastUpdate)",
    "getReserveTokensAddresses(address) view returns (address aToken, address stableDebt, address variableDebt)",
    "getUserReserveData(address, address) view returns (uint256 supplied, uint256 stableDebt, uint256 variableDebt,"
    " uint256 principalStableDebt, uint256 scaledVariableDebt, uint256 stableRate, uint256 liquidityRate,"
    " uint40 stableLastUpdated, bool collateral)",
]
_SCALED_BALANCE = Interface.of("scaledBalanceOf(address) view returns (uint256)").function("scaledBalanceOf")
_SCALED_TOTAL = Interface.of("scaledTotalSupply() view returns (uint256)").function("scaledTotalSupply")


# -- arithmetic: halves round up, as in Aave's library ---------------------------------------------------------------


def ray_mul(a: int, b: int) -> int:
    return (a * b + RAY // 2) // RAY


def ray_div(a: int, b: int) -> int:
    return (a * RAY + b // 2) // b


def percent_mul(value: int, bps: int) -> int:
    return (value * bps + BPS // 2) // BPS


def percent_div(value: int, bps: int) -> int:
    return (value * BPS + bps // 2) // bps


def scaled_balance(fork: Fork, token: bytes, holder: bytes) -> int:
    return int.from_bytes(fork.call(token, _SCALED_BALANCE.encode(holder)))


def scaled_total(fork: Fork, token: bytes) -> int:
    return int.from_bytes(fork.call(token, _SCALED_TOTAL.encode()))


def data_provider(market: AaveV3) -> Any:
    return market.fork.contract(f"{market.prefix}.DataProvider", DATA_PROVIDER)


def later(market: AaveV3) -> bool:
    """Whether the pool's code is of V3.5 or later."""
    return market.generation.revision >= 9


def only_before(market: AaveV3, difference: str) -> None:
    """Skip the rest of a test where the pool's code is of V3.5 or later, with the difference that it names."""
    if later(market):
        pytest.skip(f"V{market.generation.version}: {difference}")


def ray_up(a: int, b: int) -> int:
    return -(-a * b // RAY)


def health_factor_wad(account: AaveAccount) -> int:
    """Compute the health factor from scaled balances, indexes, prices and parameters, reserve by reserve."""
    if later(account.market):
        return _health_by_sum(account)
    market, fork = account.market, account.market.fork
    provider, oracle = data_provider(market), market.oracle
    category = market.pool.getUserEMode(account.address)
    collateral = weighted = debt = 0
    for asset in market.pool.getReservesList():
        tokens = provider.getReserveTokensAddresses(asset)
        owed, held = (scaled_balance(fork, each, account.address) for each in (tokens.variableDebt, tokens.aToken))
        if not owed and not held:
            continue
        settings = provider.getReserveConfigurationData(asset)
        price, unit = oracle.getAssetPrice(asset), 10**settings.decimals
        debt += ray_mul(owed, market.pool.getReserveNormalizedVariableDebt(asset)) * price // unit
        if not provider.getUserReserveData(asset, account.address).collateral or not settings.threshold:
            continue
        held = ray_mul(held, market.pool.getReserveNormalizedIncome(asset))
        threshold = settings.threshold
        if category and provider.getReserveEModeCategory(asset) == category:
            threshold = market.pool.getEModeCategoryData(category).threshold
        collateral += held * price // unit
        weighted += held * price // unit * threshold
    if debt == 0:
        return NO_DEBT
    average = weighted // collateral if collateral else 0
    return (percent_mul(collateral, average) * WAD + debt // 2) // debt


def _health_by_sum(account: AaveAccount) -> int:
    """Compute the health factor of V3.6: supplies round down, debts up, and no average."""
    market, fork = account.market, account.market.fork
    provider, oracle, pool = data_provider(market), market.oracle, market.pool
    category, weighted, debt = pool.getUserEMode(account.address), 0, 0
    bitmap = pool.getEModeCategoryCollateralBitmap(category) if category else 0
    for number, asset in enumerate(pool.getReservesList()):
        tokens = provider.getReserveTokensAddresses(asset)
        settings = provider.getReserveConfigurationData(asset)
        price, unit = oracle.getAssetPrice(asset), 10**settings.decimals
        owed = ray_up(
            scaled_balance(fork, tokens.variableDebt, account.address), pool.getReserveNormalizedVariableDebt(asset)
        )
        debt += -(-owed * price // unit)
        if provider.getUserReserveData(asset, account.address).collateral:
            shares = scaled_balance(fork, tokens.aToken, account.address)
            held = shares * pool.getReserveNormalizedIncome(asset) // RAY
            inside = bitmap >> number & 1
            threshold = pool.getEModeCategoryData(category).threshold if inside else settings.threshold
            weighted += held * price // unit * threshold
    return (weighted * WAD + debt // 2) // debt // BPS if debt else NO_DEBT


class Seizure(NamedTuple):
    """Expected result of a liquidation."""

    covered: int
    seized: int
    protocol_fee: int


def seizure(borrower: AaveAccount, collateral: str, debt: str, offered: int) -> Seizure:
    """Compute a liquidation's result in integers, with `offered` to repay."""
    market = borrower.market
    taken, repaid = market.reserve(collateral), market.reserve(debt)
    bonus, fee_bps = taken.configuration.liquidation_bonus_bps, taken.configuration.liquidation_protocol_fee_bps
    if borrower.emode and collateral in market.emode(borrower.emode).assets:
        bonus = market.emode(borrower.emode).liquidation_bonus_bps
    taken_unit, repaid_unit = 10**taken.decimals, 10**repaid.decimals
    share = 5_000 if borrower.data().health_factor_wad > 95 * WAD // 100 else BPS
    covered = min(offered, percent_mul(borrower.debt(debt), share))
    if later(market) and share < BPS:  # one debt: half of it by value, or all of a small one
        value, held = borrower.data().debt_usd_e8, borrower.supplied(collateral) * taken.price_usd_e8 // taken_unit
        half = percent_mul(value, 5_000) * repaid_unit // repaid.price_usd_e8
        covered = min(offered, borrower.debt(debt) if min(value, held) < 2_000 * 10**8 else half)
    worth = repaid.price_usd_e8 * covered * taken_unit // (taken.price_usd_e8 * repaid_unit)
    amount, there = percent_mul(worth, bonus), borrower.supplied(collateral)
    if amount > there:
        amount = there
        worth = taken.price_usd_e8 * amount * repaid_unit // (repaid.price_usd_e8 * taken_unit)
        covered = -(-worth * BPS // bonus) if later(market) else percent_div(worth, bonus)
    fee = percent_mul(amount - percent_div(amount, bonus), fee_bps)
    return Seizure(covered, amount - fee, fee)


def named(text: str) -> str:
    """Pattern of `28 RESERVE_FROZEN: more`, and of `ReserveFrozen(): more`, as V3.4 and later name the error."""
    (number, name), colon, rest = text.partition(":")[0].split(" "), *text.partition(":")[1:]
    camel = "".join(word.capitalize() for word in name.split("_")).replace("Emode", "EMode")
    return rf"({number} {name}|{camel}\(\)){colon}{rest}"


# -- the stage --------------------------------------------------------------------------------------------------------


def give_and_supply(account: AaveAccount, asset: str, amount: int) -> None:
    account.market.fork.deal(asset, account.address, amount)
    account.supply(asset, amount)


def move_price(market: AaveV3, asset: str, price_usd_e8: int) -> None:
    """Make the pool see `price_usd_e8` for `asset`, through its oracle's feed."""
    oracle = market.fork.contract(market.oracle.address, ["getSourceOfAsset(address) view returns (address)"])
    PriceFeed(market.fork, oracle.getSourceOfAsset(market.address_of(asset))).move(price_usd_e8)
    assert market.price_usd_e8(asset) == price_usd_e8


def govern(market: AaveV3, function: str, *arguments: Any) -> None:
    """Call the PoolConfigurator as the market's administrator."""
    configurator = market.fork.contract(f"{market.prefix}.PoolConfigurator", [function])
    configurator[function](*arguments, sender=f"{market.prefix}.Admin")


def list_asset(market: AaveV3, symbol: str = "FRESH", **parameters: Any) -> str:
    """List a new token at 10 dollars, like the chain's first reserve except for `parameters` of its table row."""
    fork, prefix = market.fork, market.prefix
    table = load_table(str(fork.source["chain"]))
    chosen = (table.spark if prefix == "Spark" else table.aave) if hasattr(table, "spark") else table.aave
    assert chosen is not None
    deployment = Deployment(fork, real_addresses=False)
    deployment.labels = {label: to_address(address) for label, address in fork.labels.items()}
    deployer = deployment.deployer
    deployment.place(symbol, "Token", symbol, symbol, 18, "1", deployer)
    feed = deployment.place(f"Test.{symbol}/USD", "PriceFeed", symbol, 8, 10 * 10**8, 1, fork.timestamp, deployer)
    admin, treasury = fork.address_of(f"{prefix}.Admin"), fork.address_of(f"{prefix}.Treasury")
    row = replace(chosen.reserves[0], symbol=symbol, decimals=18, emode=0, **parameters)
    deployment.send(
        f"{prefix}.Oracle", "setAssetSources(address[],address[])", [deployment[symbol]], [feed], sender=admin
    )
    list_reserve(deployment, row, admin=admin, treasury=treasury, prefix=prefix)
    configure_reserve(deployment, row, admin=admin, prefix=prefix)
    fork.labels |= deployment.checksummed_labels()
    return symbol


def an_isolated_asset(market: AaveV3) -> str:
    """Return an isolated reserve: one of the chain's own, else a new one."""
    for reserve in market.reserves():
        own = reserve.configuration
        if own.isolated and own.ltv_bps and own.active and not own.frozen and not own.paused:
            return reserve.symbol
    return list_asset(
        market,
        ltv_bps=5_000,
        liquidation_threshold_bps=6_000,
        liquidation_bonus_bps=10_500,
        supply_cap=0,
        borrow_cap=0,
        debt_ceiling_cents=1_000_000 * 100,
        borrowable_in_isolation=False,
    )


def an_asset_for_isolation(market: AaveV3) -> str:
    """Return a reserve that can be borrowed in isolation mode."""
    for reserve in market.reserves():
        own = reserve.configuration
        if own.borrowable_in_isolation and own.borrowing and not own.frozen and reserve.available > 0:
            return reserve.symbol
    govern(market, "setBorrowableInIsolation(address,bool)", market.address_of("USDC"), True)
    return "USDC"


def an_emode(market: AaveV3, collateral: str) -> tuple[int, str]:
    """Return an efficiency mode of `collateral`, and another asset of it to borrow."""
    for mode in market.emodes():
        for symbol in mode.borrowable:
            reserve = market.reserve(symbol)
            if collateral in mode.assets and symbol != collateral and reserve.configuration.borrowing:
                return mode.id, symbol
    number, other = 200, list_asset(market, "PEGGED", supply_cap=0, borrow_cap=0, flash_loans=True)
    give_and_supply(market.account(b"\xee" * 20), other, 10_000 * 10**18)
    govern(
        market,
        "setEModeCategory(uint8,uint16,uint16,uint16,address,string)",
        *(number, 9_000, 9_300, 10_100, ZERO_ADDRESS, "pegged"),
    )
    for symbol in (collateral, other):
        govern(market, "setAssetEModeCategory(address,uint8)", market.address_of(symbol), number)
    return number, other


def whole(market: AaveV3, asset: str, amount: int = 1) -> int:
    """Return `amount` whole tokens in smallest units."""
    return amount * 10 ** Erc20(market.fork, market.address_of(asset)).decimals
