"""What custom errors of Uniswap V4 and Pendle V2 mean, in words.

Names are those of the contracts; the sentences are ours: what went wrong and, behind a semicolon, what to do about it.
"""

from __future__ import annotations

from typing import Final

UNISWAP_V4: Final[dict[str, str]] = {
    "AlreadyUnlocked()": "the pool manager is unlocked already; finish the first unlock before another",
    "CannotUpdateEmptyPosition()": "the position has no liquidity; a position without any has no fees to update",
    "CurrenciesOutOfOrderOrEqual(address currency0, address currency1)": (
        "currencies of a pool are two, the one with the lower address first"
    ),
    "CurrencyNotSettled()": "something taken was not paid; settle every currency before the unlock ends",
    "DeadlinePassed(uint256 deadline)": "the deadline has passed; give one after the block's timestamp",
    "DeltaNotNegative(address currency)": "nothing of the currency is owed to the pool manager",
    "DeltaNotPositive(address currency)": "the pool manager owes nothing of the currency",
    "HookAddressNotValid(address hooks)": (
        "the hooks' address does not say what they do, or a dynamic fee lacks hooks; the lowest 14 bits name the calls"
    ),
    "HookCallFailed()": "the pool's hook failed",
    "InvalidFeeForExactOut()": "a pool with a fee of 100 % cannot give an exact amount",
    "InvalidSqrtPrice(uint160 sqrtPriceX96)": "the price is outside the range of all prices",
    "LPFeeTooLarge(uint24 fee)": "a fee cannot be above 100 %; fees are in millionths",
    "ManagerLocked()": "the pool manager trades only with contracts that unlocked it; use a router",
    "MaximumAmountExceeded(uint128 maximumAmount, uint128 amountRequested)": (
        "the position takes more than the most to give; the price moved, so give more or add less liquidity"
    ),
    "MinimumAmountInsufficient(uint128 minimumAmount, uint128 amountReceived)": (
        "the position gives less than the least to take; the price moved, so ask for less"
    ),
    "NativeTransferFailed()": "the receiver refuses ether",
    "NotApproved(address caller)": "only its owner changes a position, or whom the owner approved",
    "NotEnoughLiquidity(bytes32 poolId)": "the pool's liquidity ends before that amount; swap less",
    "PoolAlreadyInitialized()": "the pool exists already; a pool gets its first price once only",
    "PoolNotInitialized()": "there is no such pool; check currencies, fee, tick spacing and hooks, or create it",
    "PriceLimitAlreadyExceeded(uint160 sqrtPriceCurrentX96, uint160 sqrtPriceLimitX96)": (
        "the price limit lies on the wrong side of the pool's price; below it where currency0 is sold, else above"
    ),
    "PriceLimitOutOfBounds(uint160 sqrtPriceLimitX96)": "the price limit is outside the range of all prices",
    "ProtocolFeeTooLarge(uint24 fee)": "the protocol's fee is at most 0.1 % in each direction",
    "SafeCastOverflow()": "a number does not fit; amounts are below 2**127",
    "SwapAmountCannotBeZero()": "the amount is zero, or a pool on the way gives nothing for it; swap more",
    "TickLiquidityOverflow(int24 tick)": "a tick cannot hold that much liquidity; add less",
    "TickLowerOutOfBounds(int24 tickLower)": "the lower tick is below the lowest there is",
    "TickMisaligned(int24 tick, int24 tickSpacing)": "the tick is not a multiple of the tick spacing",
    "TickSpacingTooLarge(int24 tickSpacing)": "tick spacings go up to 32,767",
    "TickSpacingTooSmall(int24 tickSpacing)": "tick spacings begin at 1",
    "TickUpperOutOfBounds(int24 tickUpper)": "the upper tick is above the highest there is",
    "TicksMisordered(int24 tickLower, int24 tickUpper)": "the lower tick must be below the upper one",
    "UnauthorizedDynamicLPFeeUpdate()": "only the hook of a pool with a dynamic fee sets it",
    "UnexpectedRevertBytes(bytes revertData)": "the quoted swap failed",
    "WrappedError(address target, bytes4 selector, bytes reason, bytes details)": "a hook or token failed",
    "AllowanceExpired(uint256 deadline)": "the allowance at Permit2 has expired; approve again",
    "InsufficientAllowance(uint256 amount)": "the allowance at Permit2 is too small; approve more",
}

PENDLE: Final[dict[str, str]] = {
    "MarketExpired()": "the market has expired; redeem the PT instead",
    "MarketZeroAmountsInput()": "an amount is zero; give one above zero",
    "MarketZeroAmountsOutput()": "the amounts are so small that they give nothing; give more",
    "MarketZeroLnImpliedRate()": "the trade would bring the implied rate to zero; trade less",
    "MarketZeroNetLPFee()": "the trade is so small that it pays no fee; trade more",
    "MarketInsufficientPtForTrade(int256 currentAmount, int256 requiredAmount)": (
        "the market holds less PT than that; buy less"
    ),
    "MarketInsufficientPtReceived(uint256 actualBalance, uint256 requiredBalance)": "the market got too little PT",
    "MarketInsufficientSyReceived(uint256 actualBalance, uint256 requiredBalance)": "the market got too little SY",
    "MarketZeroTotalPtOrTotalAsset(int256 totalPt, int256 totalAsset)": "the market is empty; add liquidity first",
    "MarketExchangeRateBelowOne(int256 exchangeRate)": (
        "the trade would bring the PT above its asset, an implied rate below zero; buy less PT"
    ),
    "MarketProportionMustNotEqualOne()": "the market would hold PT alone; sell less PT",
    "MarketProportionTooHigh(int256 proportion, int256 maxProportion)": (
        "more than 96 % of the market would be PT; sell less PT"
    ),
    "MarketRateScalarBelowZero(int256 rateScalar)": "the market's curve is not defined so close to expiry",
    "MarketScalarRootBelowZero(int256 scalarRoot)": "a market's scalar root is above zero",
    "OracleTargetTooOld(uint32 target, uint32 oldest)": (
        "the market remembers no rate that old; ask for a shorter average, or let it remember more"
    ),
    "MarketFactoryExpiredPt()": "the PT has expired; a market needs one that has not",
    "MarketFactoryInvalidPt()": "the factory did not make this PT",
    "MarketFactoryMarketExists()": "there is a market with these parameters already",
    "MarketFactoryLnFeeRateRootTooHigh(uint80 lnFeeRateRoot, uint256 maxLnFeeRateRoot)": (
        "the fee of a market is at most 5 % a year"
    ),
    "MarketFactoryInitialAnchorTooLow(int256 initialAnchor, int256 minInitialAnchor)": (
        "a market's first anchor is at least 1"
    ),
    "YCExpired()": "PT and YT have expired; none are minted any more",
    "YCNotExpired()": "PT and YT have not expired yet",
    "YCNoFloatingSy()": "no SY was sent to the YT first",
    "YCNothingToRedeem()": "neither interest nor rewards were asked for",
    "YCFactoryInvalidExpiry()": "an expiry lies in the future and on a multiple of the factory's divisor",
    "YCFactoryYieldContractExisted()": "there are PT and YT of this SY and expiry already",
    "SYInvalidTokenIn(address token)": "the SY does not take this token; `getTokensIn` lists those it takes",
    "SYInvalidTokenOut(address token)": "the SY does not pay this token; `getTokensOut` lists those it pays",
    "SYZeroDeposit()": "a deposit of nothing gives no SY",
    "SYZeroRedeem()": "redeeming no SY gives nothing",
    "SYInsufficientSharesOut(uint256 actualSharesOut, uint256 requiredSharesOut)": "the deposit gives less than asked",
    "SYInsufficientTokenOut(uint256 actualTokenOut, uint256 requiredTokenOut)": "the SY pays less than asked",
}
