# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title What a Comet market is configured with, and the views that say so
@notice A module, not a contract. Everything is fixed at creation: on mainnet a change of parameters is a new
        implementation behind the proxy, on a replica it is another contract.
"""

interface Decimals:
    def decimals() -> uint8: view

struct AssetConfig:
    asset: address
    priceFeed: address
    decimals: uint8
    borrowCollateralFactor: uint64
    liquidateCollateralFactor: uint64
    liquidationFactor: uint64
    supplyCap: uint128

struct Configuration:
    governor: address
    pauseGuardian: address
    baseToken: address
    baseTokenPriceFeed: address
    extensionDelegate: address
    supplyKink: uint64
    supplyPerYearInterestRateSlopeLow: uint64
    supplyPerYearInterestRateSlopeHigh: uint64
    supplyPerYearInterestRateBase: uint64
    borrowKink: uint64
    borrowPerYearInterestRateSlopeLow: uint64
    borrowPerYearInterestRateSlopeHigh: uint64
    borrowPerYearInterestRateBase: uint64
    storeFrontPriceFactor: uint64
    trackingIndexScale: uint64
    baseTrackingSupplySpeed: uint64
    baseTrackingBorrowSpeed: uint64
    baseMinForRewards: uint104
    baseBorrowMin: uint104
    targetReserves: uint104
    assetConfigs: DynArray[AssetConfig, 15]

struct AssetInfo:
    offset: uint8
    asset: address
    priceFeed: address
    scale: uint64
    borrowCollateralFactor: uint64
    liquidateCollateralFactor: uint64
    liquidationFactor: uint64
    supplyCap: uint128

maxAssets: public(constant(uint8)) = 15
factorScale: public(constant(uint64)) = 10**18
baseIndexScale: public(constant(uint64)) = 10**15
baseAccrualScale: public(constant(uint64)) = 10**6
priceScale: public(constant(uint64)) = 10**8

SECONDS_PER_YEAR: constant(uint256) = 365 * 24 * 3600
PRICE_DECIMALS: constant(uint8) = 8
MAX_BASE_DECIMALS: constant(uint8) = 18

governor: public(immutable(address))
pauseGuardian: public(immutable(address))
baseToken: public(immutable(address))
baseTokenPriceFeed: public(immutable(address))
extensionDelegate: public(immutable(address))

supplyKink: public(immutable(uint256))
supplyPerSecondInterestRateSlopeLow: public(immutable(uint256))
supplyPerSecondInterestRateSlopeHigh: public(immutable(uint256))
supplyPerSecondInterestRateBase: public(immutable(uint256))
borrowKink: public(immutable(uint256))
borrowPerSecondInterestRateSlopeLow: public(immutable(uint256))
borrowPerSecondInterestRateSlopeHigh: public(immutable(uint256))
borrowPerSecondInterestRateBase: public(immutable(uint256))

storeFrontPriceFactor: public(immutable(uint256))
trackingIndexScale: public(immutable(uint256))
baseTrackingSupplySpeed: public(immutable(uint256))
baseTrackingBorrowSpeed: public(immutable(uint256))
baseMinForRewards: public(immutable(uint256))
baseBorrowMin: public(immutable(uint256))
targetReserves: public(immutable(uint256))
baseScale: public(immutable(uint256))
decimals: public(immutable(uint8))

assets: immutable(DynArray[AssetInfo, 15])


@deploy
def __init__(config: Configuration):
    governor = config.governor
    pauseGuardian = config.pauseGuardian
    baseToken = config.baseToken
    baseTokenPriceFeed = config.baseTokenPriceFeed
    extensionDelegate = config.extensionDelegate

    supplyKink = convert(config.supplyKink, uint256)
    supplyPerSecondInterestRateSlopeLow = self._per_second(config.supplyPerYearInterestRateSlopeLow)
    supplyPerSecondInterestRateSlopeHigh = self._per_second(config.supplyPerYearInterestRateSlopeHigh)
    supplyPerSecondInterestRateBase = self._per_second(config.supplyPerYearInterestRateBase)
    borrowKink = convert(config.borrowKink, uint256)
    borrowPerSecondInterestRateSlopeLow = self._per_second(config.borrowPerYearInterestRateSlopeLow)
    borrowPerSecondInterestRateSlopeHigh = self._per_second(config.borrowPerYearInterestRateSlopeHigh)
    borrowPerSecondInterestRateBase = self._per_second(config.borrowPerYearInterestRateBase)

    if config.storeFrontPriceFactor > factorScale:
        raw_revert(method_id("BadDiscount()"))
    if config.baseMinForRewards == 0:
        raw_revert(method_id("BadMinimum()"))
    storeFrontPriceFactor = convert(config.storeFrontPriceFactor, uint256)
    trackingIndexScale = convert(config.trackingIndexScale, uint256)
    baseTrackingSupplySpeed = convert(config.baseTrackingSupplySpeed, uint256)
    baseTrackingBorrowSpeed = convert(config.baseTrackingBorrowSpeed, uint256)
    baseMinForRewards = convert(config.baseMinForRewards, uint256)
    baseBorrowMin = convert(config.baseBorrowMin, uint256)
    targetReserves = convert(config.targetReserves, uint256)

    base_decimals: uint8 = staticcall Decimals(config.baseToken).decimals()
    if base_decimals > MAX_BASE_DECIMALS:
        raw_revert(method_id("BadDecimals()"))
    self._require_decimals(config.baseTokenPriceFeed, PRICE_DECIMALS)
    decimals = base_decimals
    baseScale = 10 ** convert(base_decimals, uint256)

    listed: DynArray[AssetInfo, 15] = []
    for entry: AssetConfig in config.assetConfigs:
        self._require_decimals(entry.asset, entry.decimals)
        self._require_decimals(entry.priceFeed, PRICE_DECIMALS)
        if entry.borrowCollateralFactor >= entry.liquidateCollateralFactor:
            raw_revert(method_id("BorrowCFTooLarge()"))
        if entry.liquidateCollateralFactor > factorScale:
            raw_revert(method_id("LiquidateCFTooLarge()"))
        listed.append(
            AssetInfo(
                offset=convert(len(listed), uint8),
                asset=entry.asset,
                priceFeed=entry.priceFeed,
                scale=convert(10 ** convert(entry.decimals, uint256), uint64),
                borrowCollateralFactor=entry.borrowCollateralFactor,
                liquidateCollateralFactor=entry.liquidateCollateralFactor,
                liquidationFactor=entry.liquidationFactor,
                supplyCap=entry.supplyCap,
            )
        )
    assets = listed


@internal
@pure
def _per_second(per_year: uint64) -> uint256:
    return convert(per_year, uint256) // SECONDS_PER_YEAR


@internal
@view
def _require_decimals(of: address, expected: uint8):
    if staticcall Decimals(of).decimals() != expected:
        raw_revert(method_id("BadDecimals()"))


@external
@view
def numAssets() -> uint8:
    return convert(len(assets), uint8)


@external
@view
def getAssetInfo(i: uint8) -> AssetInfo:
    if convert(i, uint256) >= len(assets):
        raw_revert(method_id("BadAsset()"))
    return assets[i]


@external
@view
def getAssetInfoByAddress(asset: address) -> AssetInfo:
    return assets[self._offset_of(asset)]


@internal
@view
def _offset_of(asset: address) -> uint256:
    for i: uint256 in range(len(assets), bound=15):
        if assets[i].asset == asset:
            return i
    raw_revert(method_id("BadAsset()"))
