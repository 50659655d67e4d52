# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title What things are worth to a Comet market: prices, collateral against debt, reserves
@notice A module, not a contract.
"""
import comet_config as config
import comet_ledger as ledger
import comet_math as math

uses: config
uses: ledger

interface Token:
    def balanceOf(holder: address) -> uint256: view

interface PriceFeed:
    def latestRoundData() -> (uint80, int256, uint256, uint256, uint80): view

FACTOR_SCALE: constant(uint256) = 10**18


# -- prices ------------------------------------------------------------------------------------------------------------


@internal
@view
def _worth(offset: uint256, amount: uint256) -> uint256:
    price: uint256 = self._price(config.assets[offset].priceFeed)
    return amount * price // convert(config.assets[offset].scale, uint256)


@external
@view
def getPrice(priceFeed: address) -> uint256:
    return self._price(priceFeed)


@internal
@view
def _price(feed: address) -> uint256:
    answer: int256 = (staticcall PriceFeed(feed).latestRoundData())[1]
    if answer <= 0:
        raw_revert(method_id("BadPrice()"))
    return convert(answer, uint256)


@external
@view
def quoteCollateral(asset: address, baseAmount: uint256) -> uint256:
    return self._quote(asset, baseAmount)


@internal
@view
def _quote(asset: address, base_amount: uint256) -> uint256:
    info: config.AssetInfo = config.assets[config._offset_of(asset)]
    penalty: uint256 = FACTOR_SCALE - convert(info.liquidationFactor, uint256)
    discount: uint256 = config.storeFrontPriceFactor * penalty // FACTOR_SCALE
    price: uint256 = self._price(info.priceFeed) * (FACTOR_SCALE - discount) // FACTOR_SCALE
    worth: uint256 = math._times(self._price(config.baseTokenPriceFeed), base_amount)
    return math._over(math._times(worth, convert(info.scale, uint256)), price) // config.baseScale


# -- collateral against debt -------------------------------------------------------------------------------------------


@external
@view
def isBorrowCollateralized(account: address) -> bool:
    return self._is_collateralized(account)


@external
@view
def isLiquidatable(account: address) -> bool:
    return self._is_liquidatable(account)


@internal
@view
def _is_collateralized(account: address) -> bool:
    return self._covers(account, False)


@internal
@view
def _is_liquidatable(account: address) -> bool:
    return not self._covers(account, True)


@internal
@view
def _covers(account: address, liquidating: bool) -> bool:
    """
    @notice Whether collateral, weighed by its factors, covers the debt as of the last accrual. Assets are counted in
            their order until it does, so that a price which is not needed is not asked for.
    """
    balance: int256 = ledger._balance(account, ledger._indexes)
    if ledger._principal(account) >= 0:
        return True
    owed: uint256 = convert(-balance, uint256) * self._price(config.baseTokenPriceFeed) // config.baseScale
    for i: uint256 in range(len(config.assets), bound=15):
        if not ledger._holds(account, i):
            continue
        if owed == 0:
            return True
        factor: uint64 = config.assets[i].borrowCollateralFactor
        if liquidating:
            factor = config.assets[i].liquidateCollateralFactor
        worth: uint256 = self._worth(i, ledger._collateral[account][config.assets[i].asset])
        weighed: uint256 = worth * convert(factor, uint256) // FACTOR_SCALE
        owed -= min(owed, weighed)
    return owed == 0


# -- reserves ----------------------------------------------------------------------------------------------------------


@external
@view
def getReserves() -> int256:
    return self._reserves()


@external
@view
def getCollateralReserves(asset: address) -> uint256:
    return self._collateral_reserves(asset)


@internal
@view
def _reserves() -> int256:
    indexes: uint256 = ledger._indexes_now()
    held: uint256 = staticcall Token(config.baseToken).balanceOf(self)
    owed: uint256 = ledger._total_borrow(indexes)
    return math._to_signed(held) - math._to_signed(ledger._total_supply(indexes)) + math._to_signed(owed)


@internal
@view
def _collateral_reserves(asset: address) -> uint256:
    return math._minus(staticcall Token(asset).balanceOf(self), ledger._collateral_totals[asset])
