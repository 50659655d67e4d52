# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title The books of a Comet market: interest indexes, totals and accounts
@notice A module, not a contract. An account has one signed principal of the base asset: above zero it is lent, below
        zero it is owed. Principal times the index of its side is its present value. As on mainnet the four indexes
        share one word, the totals a second, and an account's basics a third.
"""
import comet_config as config
import comet_math as math

uses: config

struct TotalsBasic:
    baseSupplyIndex: uint64
    baseBorrowIndex: uint64
    trackingSupplyIndex: uint64
    trackingBorrowIndex: uint64
    totalSupplyBase: uint104
    totalBorrowBase: uint104
    lastAccrualTime: uint40
    pauseFlags: uint8

struct UserBasic:
    principal: int104
    baseTrackingIndex: uint64
    baseTrackingAccrued: uint64
    assetsIn: uint16
    _reserved: uint8

INDEX_SCALE: constant(uint256) = 10**15
FACTOR_SCALE: constant(uint256) = 10**18
ACCRUAL_SCALE: constant(uint256) = 10**6

# Where the parts of a word begin, in bits.
BORROW_INDEX: constant(uint256) = 64
TRACKING_SUPPLY: constant(uint256) = 128
TRACKING_BORROW: constant(uint256) = 192
TOTAL_BORROW: constant(uint256) = 104
ACCRUAL_TIME: constant(uint256) = 208
PAUSE_FLAGS: constant(uint256) = 248
TRACKING_INDEX: constant(uint256) = 104
TRACKING_ACCRUED: constant(uint256) = 168
ASSETS_IN: constant(uint256) = 232

MASK_64: constant(uint256) = 2**64 - 1
MASK_104: constant(uint256) = 2**104 - 1
MASK_16: constant(uint256) = 2**16 - 1
MASK_40: constant(uint256) = 2**40 - 1

_indexes: uint256
_totals: uint256
_collateral_totals: HashMap[address, uint256]
_basics: HashMap[address, uint256]
_collateral: HashMap[address, HashMap[address, uint256]]


@deploy
def __init__():
    self._indexes = INDEX_SCALE | (INDEX_SCALE << BORROW_INDEX)
    self._totals = self._now() << ACCRUAL_TIME


# -- interest ----------------------------------------------------------------------------------------------------------


@internal
@view
def _now() -> uint256:
    if block.timestamp > MASK_40:
        raw_revert(method_id("TimestampTooLarge()"))
    return block.timestamp


@internal
@view
def _indexes_now() -> uint256:
    """
    @notice The four indexes as of this block: interest grows with the utilization of the moment of the last accrual,
            rewards with the totals since then.
    """
    indexes: uint256 = self._indexes
    totals: uint256 = self._totals
    elapsed: uint256 = self._now() - ((totals >> ACCRUAL_TIME) & MASK_40)
    if elapsed == 0:
        return indexes
    utilization: uint256 = self._utilization()
    supply_index: uint256 = self._grown(indexes & MASK_64, self._supply_rate(utilization) * elapsed)
    borrow_index: uint256 = self._grown(
        (indexes >> BORROW_INDEX) & MASK_64, self._borrow_rate(utilization) * elapsed
    )
    tracking_supply: uint256 = self._tracked(
        (indexes >> TRACKING_SUPPLY) & MASK_64, config.baseTrackingSupplySpeed * elapsed, totals & MASK_104
    )
    tracking_borrow: uint256 = self._tracked(
        indexes >> TRACKING_BORROW, config.baseTrackingBorrowSpeed * elapsed, (totals >> TOTAL_BORROW) & MASK_104
    )
    return (
        supply_index
        | (borrow_index << BORROW_INDEX)
        | (tracking_supply << TRACKING_SUPPLY)
        | (tracking_borrow << TRACKING_BORROW)
    )


@internal
@pure
def _grown(index: uint256, growth: uint256) -> uint256:
    return math._plus_64(index, math._times(index, growth) // FACTOR_SCALE)


@internal
@view
def _tracked(index: uint256, reward: uint256, total: uint256) -> uint256:
    if total < config.baseMinForRewards:
        return index
    return math._plus_64(index, reward * config.baseScale // total)


@internal
def _accrue():
    indexes: uint256 = self._indexes_now()
    self._indexes = indexes
    totals: uint256 = self._totals
    self._totals = (totals & ~(MASK_40 << ACCRUAL_TIME)) | (block.timestamp << ACCRUAL_TIME)


@internal
@view
def _utilization() -> uint256:
    supplied: uint256 = self._total_supply(self._indexes)
    if supplied == 0:
        return 0
    return self._total_borrow(self._indexes) * FACTOR_SCALE // supplied


@internal
@view
def _supply_rate(utilization: uint256) -> uint256:
    return self._rate(
        utilization,
        config.supplyKink,
        config.supplyPerSecondInterestRateBase,
        config.supplyPerSecondInterestRateSlopeLow,
        config.supplyPerSecondInterestRateSlopeHigh,
    )


@internal
@view
def _borrow_rate(utilization: uint256) -> uint256:
    return self._rate(
        utilization,
        config.borrowKink,
        config.borrowPerSecondInterestRateBase,
        config.borrowPerSecondInterestRateSlopeLow,
        config.borrowPerSecondInterestRateSlopeHigh,
    )


@internal
@pure
def _rate(utilization: uint256, kink: uint256, base: uint256, low: uint256, high: uint256) -> uint256:
    below: uint256 = min(utilization, kink)
    rate: uint256 = base + math._times(low, below) // FACTOR_SCALE
    if utilization > kink:
        rate += math._times(high, utilization - kink) // FACTOR_SCALE
    return math._to_64(rate)


# -- present values and principals -------------------------------------------------------------------------------------


@internal
@pure
def _lent(principal: uint256, indexes: uint256) -> uint256:
    return principal * (indexes & MASK_64) // INDEX_SCALE


@internal
@pure
def _owed(principal: uint256, indexes: uint256) -> uint256:
    return principal * ((indexes >> BORROW_INDEX) & MASK_64) // INDEX_SCALE


@internal
@view
def _total_supply(indexes: uint256) -> uint256:
    return self._lent(self._totals & MASK_104, indexes)


@internal
@view
def _total_borrow(indexes: uint256) -> uint256:
    return self._owed((self._totals >> TOTAL_BORROW) & MASK_104, indexes)


@internal
@view
def _principal(account: address) -> int256:
    # The lowest 104 bits with their sign: up to the top of the word, and down again.
    return convert(convert(self._basics[account] << 152, bytes32), int256) >> 152


@internal
@view
def _balance(account: address, indexes: uint256) -> int256:
    """
    @notice Present value of an account's base asset; negative where it owes.
    """
    principal: int256 = self._principal(account)
    if principal >= 0:
        return convert(self._lent(convert(principal, uint256), indexes), int256)
    return -convert(self._owed(convert(-principal, uint256), indexes), int256)


@internal
@pure
def _principal_of(balance: int256, indexes: uint256) -> int256:
    # Both sides round against the account: what is lent down, what is owed up.
    if balance >= 0:
        return math._to_signed_104(math._times(convert(balance, uint256), INDEX_SCALE) // (indexes & MASK_64))
    index: uint256 = (indexes >> BORROW_INDEX) & MASK_64
    return -math._to_signed_104((math._times(convert(-balance, uint256), INDEX_SCALE) + index - 1) // index)


@internal
def _move(account: address, change: int256, rises: bool) -> (int256, uint256):
    """
    @notice Change an account's balance by `change`, which is not below zero where it `rises` and not above elsewhere.
            Interest must have been accrued.
    @return The new balance, and the present value of what its lent part changed by.
    """
    indexes: uint256 = self._indexes
    old: int256 = self._principal(account)
    balance: int256 = math._plus_signed(self._balance(account, indexes), change)
    new: int256 = self._principal_of(balance, indexes)
    self._set_principal(account, old, new)
    # Rounding may take a principal the wrong way by one; the totals do not follow it then.
    if (new > old) != rises:
        return balance, 0
    totals: uint256 = self._totals
    supplied: int256 = max(new, 0) - max(old, 0)
    borrowed: int256 = max(-new, 0) - max(-old, 0)
    supply: uint256 = math._to_104(convert(convert(totals & MASK_104, int256) + supplied, uint256))
    borrow: uint256 = math._to_104(convert(convert((totals >> TOTAL_BORROW) & MASK_104, int256) + borrowed, uint256))
    self._totals = (totals & ~(2**208 - 1)) | (borrow << TOTAL_BORROW) | supply
    return balance, self._lent(convert(abs(supplied), uint256), indexes)


@internal
def _set_principal(account: address, old: int256, new: int256):
    """
    @notice Write a principal, and credit the rewards the old one earned since the account was last written.
    """
    basic: uint256 = self._basics[account]
    indexes: uint256 = self._indexes
    tracking: uint256 = indexes >> TRACKING_BORROW
    if old >= 0:
        tracking = (indexes >> TRACKING_SUPPLY) & MASK_64
    delta: uint256 = tracking - ((basic >> TRACKING_INDEX) & MASK_64)
    earned: uint256 = (
        convert(abs(old), uint256) * delta // config.trackingIndexScale // (config.baseScale // ACCRUAL_SCALE)
    )
    accrued: uint256 = math._plus_64((basic >> TRACKING_ACCRUED) & MASK_64, earned)
    tracking = indexes >> TRACKING_BORROW
    if new >= 0:
        tracking = (indexes >> TRACKING_SUPPLY) & MASK_64
    self._basics[account] = (
        (convert(convert(new, bytes32), uint256) & MASK_104)
        | (tracking << TRACKING_INDEX)
        | (accrued << TRACKING_ACCRUED)
        | ((basic >> ASSETS_IN) << ASSETS_IN)
    )


# -- collateral --------------------------------------------------------------------------------------------------------


@internal
@view
def _holds(account: address, offset: uint256) -> bool:
    return (self._basics[account] >> (ASSETS_IN + offset)) & 1 == 1


@internal
def _set_collateral(account: address, offset: uint256, amount: uint256):
    self._collateral[account][config.assets[offset].asset] = amount
    bit: uint256 = 1 << (ASSETS_IN + offset)
    basic: uint256 = self._basics[account] & ~bit
    if amount != 0:
        basic |= bit
    self._basics[account] = basic


# -- views -------------------------------------------------------------------------------------------------------------


@external
@view
def totalsBasic() -> TotalsBasic:
    indexes: uint256 = self._indexes
    totals: uint256 = self._totals
    return TotalsBasic(
        baseSupplyIndex=convert(indexes & MASK_64, uint64),
        baseBorrowIndex=convert((indexes >> BORROW_INDEX) & MASK_64, uint64),
        trackingSupplyIndex=convert((indexes >> TRACKING_SUPPLY) & MASK_64, uint64),
        trackingBorrowIndex=convert(indexes >> TRACKING_BORROW, uint64),
        totalSupplyBase=convert(totals & MASK_104, uint104),
        totalBorrowBase=convert((totals >> TOTAL_BORROW) & MASK_104, uint104),
        lastAccrualTime=convert((totals >> ACCRUAL_TIME) & MASK_40, uint40),
        pauseFlags=convert(totals >> PAUSE_FLAGS, uint8),
    )


@external
@view
def userBasic(account: address) -> UserBasic:
    basic: uint256 = self._basics[account]
    return UserBasic(
        principal=convert(self._principal(account), int104),
        baseTrackingIndex=convert((basic >> TRACKING_INDEX) & MASK_64, uint64),
        baseTrackingAccrued=convert((basic >> TRACKING_ACCRUED) & MASK_64, uint64),
        assetsIn=convert((basic >> ASSETS_IN) & MASK_16, uint16),
        _reserved=convert(basic >> 248, uint8),
    )


@external
@view
def baseTrackingAccrued(account: address) -> uint64:
    return convert((self._basics[account] >> TRACKING_ACCRUED) & MASK_64, uint64)


@external
@view
def totalsCollateral(asset: address) -> (uint128, uint128):
    return convert(self._collateral_totals[asset], uint128), 0


@external
@view
def userCollateral(account: address, asset: address) -> (uint128, uint128):
    return convert(self._collateral[account][asset], uint128), 0


@external
@view
def collateralBalanceOf(account: address, asset: address) -> uint128:
    return convert(self._collateral[account][asset], uint128)


@external
@view
def totalSupply() -> uint256:
    return self._total_supply(self._indexes_now())


@external
@view
def totalBorrow() -> uint256:
    return self._total_borrow(self._indexes_now())


@external
@view
def balanceOf(account: address) -> uint256:
    return self._balance_now(account)


@external
@view
def borrowBalanceOf(account: address) -> uint256:
    return self._borrow_balance_now(account)


@internal
@view
def _balance_now(account: address) -> uint256:
    return convert(max(self._balance(account, self._indexes_now()), 0), uint256)


@internal
@view
def _borrow_balance_now(account: address) -> uint256:
    return convert(max(-self._balance(account, self._indexes_now()), 0), uint256)


@external
@view
def getUtilization() -> uint256:
    return self._utilization()


@external
@view
def getSupplyRate(utilization: uint256) -> uint64:
    return convert(self._supply_rate(utilization), uint64)


@external
@view
def getBorrowRate(utilization: uint256) -> uint64:
    return convert(self._borrow_rate(utilization), uint64)
