"""What well-known revert data means, in words. Imported only when a revert is decoded.

Names and numbers are those of the contracts: Aave V3 (`Errors` of @aave/core-v3 1.19.3 up to 91, later versions beyond;
since V3.4 the same errors are custom ones without numbers), Compound III's Comet and its extension, Uniswap V3 (core
and periphery), OpenZeppelin 5 (ERC-6093 and access control), Solidity's panics. 48 is not used by Aave. The sentences
are ours: what went wrong and, behind a semicolon, what to do about it.
"""

from __future__ import annotations

from typing import Final

PANICS: Final[dict[int, str]] = {
    0x00: "the compiler inserted a failure",
    0x01: "an assertion failed",
    0x11: "an arithmetic operation overflowed or underflowed",
    0x12: "a division or modulo by zero",
    0x21: "a value outside its enum",
    0x22: "a storage byte array is wrongly encoded",
    0x31: "pop() on an empty array",
    0x32: "an array index is out of bounds",
    0x41: "too much memory was allocated",
    0x51: "a call of an uninitialised function variable",
}

AAVE_V3: Final[dict[int, tuple[str, str]]] = {
    1: ("CALLER_NOT_POOL_ADMIN", "only an account with the pool admin role may do this"),
    2: ("CALLER_NOT_EMERGENCY_ADMIN", "only an account with the emergency admin role may do this"),
    3: ("CALLER_NOT_POOL_OR_EMERGENCY_ADMIN", "only a pool admin or an emergency admin may do this"),
    4: ("CALLER_NOT_RISK_OR_POOL_ADMIN", "only a risk admin or a pool admin may do this"),
    5: ("CALLER_NOT_ASSET_LISTING_OR_POOL_ADMIN", "only an asset listing admin or a pool admin may do this"),
    6: ("CALLER_NOT_BRIDGE", "only an account with the bridge role may do this"),
    7: ("ADDRESSES_PROVIDER_NOT_REGISTERED", "the registry does not know this addresses provider"),
    8: ("INVALID_ADDRESSES_PROVIDER_ID", "the id of an addresses provider must be unused and not zero"),
    9: ("NOT_CONTRACT", "no contract stands at the address given"),
    10: ("CALLER_NOT_POOL_CONFIGURATOR", "only the pool configurator may do this"),
    11: ("CALLER_NOT_ATOKEN", "only the reserve's aToken may do this"),
    12: ("INVALID_ADDRESSES_PROVIDER", "the contract was made for another addresses provider"),
    13: (
        "INVALID_FLASHLOAN_EXECUTOR_RETURN",
        "the receiver of the flash loan did not return true; executeOperation has to",
    ),
    14: ("RESERVE_ALREADY_ADDED", "this asset is a reserve already"),
    15: ("NO_MORE_RESERVES_ALLOWED", "the pool has as many reserves as it can hold"),
    16: ("EMODE_CATEGORY_RESERVED", "eMode category 0 means none and cannot be configured"),
    17: ("INVALID_EMODE_CATEGORY_ASSIGNMENT", "the asset's threshold must be below that of the eMode category"),
    18: ("RESERVE_LIQUIDITY_NOT_ZERO", "this change is only allowed while nobody has supplied the asset"),
    19: ("FLASHLOAN_PREMIUM_INVALID", "a flash loan premium cannot be above 100 %"),
    20: ("INVALID_RESERVE_PARAMS", "loan to value, threshold and bonus do not fit together"),
    21: (
        "INVALID_EMODE_CATEGORY_PARAMS",
        "the eMode category's loan to value, threshold and bonus do not fit together",
    ),
    22: ("BRIDGE_PROTOCOL_FEE_INVALID", "a bridge protocol fee cannot be above 100 %"),
    23: ("CALLER_MUST_BE_POOL", "only the pool itself may call the token this way"),
    24: ("INVALID_MINT_AMOUNT", "the amount is so small that it mints nothing"),
    25: ("INVALID_BURN_AMOUNT", "the amount is so small that it burns nothing"),
    26: ("INVALID_AMOUNT", "the amount must be above zero; where everything is meant, there may be nothing"),
    27: ("RESERVE_INACTIVE", "the reserve is not active, or the asset is not a reserve at all; choose another asset"),
    28: ("RESERVE_FROZEN", "the reserve is frozen; only withdrawals, repayments and liquidations are allowed"),
    29: ("RESERVE_PAUSED", "the reserve is paused; nothing is allowed until it is unpaused"),
    30: ("BORROWING_NOT_ENABLED", "this asset cannot be borrowed; `reserve(…).configuration.borrowing` says which can"),
    31: ("STABLE_BORROWING_NOT_ENABLED", "this asset cannot be borrowed at a stable rate; use the variable rate (2)"),
    32: (
        "NOT_ENOUGH_AVAILABLE_USER_BALANCE",
        "the account has supplied less than it wants to withdraw; without an amount everything is withdrawn",
    ),
    33: (
        "INVALID_INTEREST_RATE_MODE_SELECTED",
        "this interest rate mode does not exist; it is 1 for stable or 2 for variable",
    ),
    34: ("COLLATERAL_BALANCE_IS_ZERO", "the account has nothing that counts as collateral; supply something first"),
    35: (
        "HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD",
        "the account's health factor would be below 1; repay some debt or add collateral first",
    ),
    36: (
        "COLLATERAL_CANNOT_COVER_NEW_BORROW",
        "the debt would exceed the loan to value of the collateral; borrow less or supply more",
    ),
    37: (
        "COLLATERAL_SAME_AS_BORROWING_CURRENCY",
        "at a stable rate, most collateral must be in another asset; use the variable rate (2)",
    ),
    38: ("AMOUNT_BIGGER_THAN_MAX_LOAN_SIZE_STABLE", "a single stable-rate loan is limited to a share of the liquidity"),
    39: (
        "NO_DEBT_OF_SELECTED_TYPE",
        "the account has no debt in this asset at this rate mode; there is nothing to repay",
    ),
    40: (
        "NO_EXPLICIT_AMOUNT_TO_REPAY_ON_BEHALF",
        "repaying for someone else needs an exact amount; the maximum is not one",
    ),
    41: ("NO_OUTSTANDING_STABLE_DEBT", "the account has no stable-rate debt in this reserve"),
    42: ("NO_OUTSTANDING_VARIABLE_DEBT", "the account has no variable-rate debt in this reserve"),
    43: ("UNDERLYING_BALANCE_ZERO", "the account has not supplied this asset; supply some first"),
    44: ("INTEREST_RATE_REBALANCE_CONDITIONS_NOT_MET", "the market's rates do not justify a rebalancing now"),
    45: (
        "HEALTH_FACTOR_NOT_BELOW_THRESHOLD",
        "the account is healthy and cannot be liquidated; its health factor has to fall below 1 first",
    ),
    46: (
        "COLLATERAL_CANNOT_BE_LIQUIDATED",
        "the account does not use this asset as collateral; its position lists what it does use",
    ),
    47: (
        "SPECIFIED_CURRENCY_NOT_BORROWED_BY_USER",
        "the account has no debt in the asset to be repaid; its position lists what it owes",
    ),
    49: (
        "INCONSISTENT_FLASHLOAN_PARAMS",
        "assets, amounts and modes of a flash loan must be equally many; give one of each for every asset",
    ),
    50: (
        "BORROW_CAP_EXCEEDED",
        "the reserve's borrow cap leaves no room for this amount; borrow less or another asset",
    ),
    51: (
        "SUPPLY_CAP_EXCEEDED",
        "the reserve's supply cap leaves no room for this amount; supply less or another asset",
    ),
    52: ("UNBACKED_MINT_CAP_EXCEEDED", "the reserve's cap on unbacked minting leaves no room for this amount"),
    53: (
        "DEBT_CEILING_EXCEEDED",
        "the debt ceiling of the isolated collateral leaves no room for this amount; borrow less",
    ),
    54: ("UNDERLYING_CLAIMABLE_RIGHTS_NOT_ZERO", "aTokens or treasury claims still exist, so the reserve must stay"),
    55: ("STABLE_DEBT_NOT_ZERO", "stable-rate debt still exists, so the reserve must stay"),
    56: ("VARIABLE_DEBT_SUPPLY_NOT_ZERO", "variable-rate debt still exists, so the reserve must stay"),
    57: ("LTV_VALIDATION_FAILED", "collateral without borrowing power is in the way; withdraw it first"),
    58: (
        "INCONSISTENT_EMODE_CATEGORY",
        "the eMode category does not exist, or a debt or the asset to borrow is outside it; `emodes()` lists them",
    ),
    59: (
        "PRICE_ORACLE_SENTINEL_CHECK_FAILED",
        "the sequencer is down or has only just come back; wait until the grace period is over",
    ),
    60: (
        "ASSET_NOT_BORROWABLE_IN_ISOLATION",
        "an account with isolated collateral cannot borrow this asset; borrow one that is `borrowable_in_isolation`",
    ),
    61: ("RESERVE_ALREADY_INITIALIZED", "the reserve has been initialised before"),
    62: (
        "USER_IN_ISOLATION_MODE_OR_LTV_ZERO",
        "isolated or zero loan-to-value assets cannot become collateral here; use them alone, or not at all",
    ),
    63: ("INVALID_LTV", "the loan to value does not fit its bits of the configuration"),
    64: ("INVALID_LIQ_THRESHOLD", "the liquidation threshold does not fit its bits of the configuration"),
    65: ("INVALID_LIQ_BONUS", "the liquidation bonus does not fit its bits of the configuration"),
    66: ("INVALID_DECIMALS", "the decimals do not fit their bits of the configuration"),
    67: ("INVALID_RESERVE_FACTOR", "the reserve factor cannot be above 100 %"),
    68: ("INVALID_BORROW_CAP", "the borrow cap does not fit its bits of the configuration"),
    69: ("INVALID_SUPPLY_CAP", "the supply cap does not fit its bits of the configuration"),
    70: ("INVALID_LIQUIDATION_PROTOCOL_FEE", "the liquidation protocol fee cannot be above 100 %"),
    71: ("INVALID_EMODE_CATEGORY", "the eMode category does not fit its bits of the configuration"),
    72: ("INVALID_UNBACKED_MINT_CAP", "the cap on unbacked minting does not fit its bits of the configuration"),
    73: ("INVALID_DEBT_CEILING", "the debt ceiling does not fit its bits of the configuration"),
    74: ("INVALID_RESERVE_INDEX", "the index of a reserve must be below 128"),
    75: ("ACL_ADMIN_CANNOT_BE_ZERO", "set an ACL admin at the addresses provider first"),
    76: ("INCONSISTENT_PARAMS_LENGTH", "the arrays given must have the same length"),
    77: ("ZERO_ADDRESS_NOT_VALID", "the zero address is not allowed here"),
    78: ("INVALID_EXPIRATION", "the permit's deadline has passed"),
    79: ("INVALID_SIGNATURE", "the permit is not signed by its owner"),
    80: ("OPERATION_NOT_SUPPORTED", "this token does not offer that operation; debt tokens cannot be transferred"),
    81: ("DEBT_CEILING_NOT_ZERO", "isolated debt cannot be reset while a debt ceiling is set"),
    82: ("ASSET_NOT_LISTED", "the asset is not a reserve of this pool; choose one that is"),
    83: ("INVALID_OPTIMAL_USAGE_RATIO", "the optimal usage ratio cannot be above 100 %"),
    84: ("INVALID_OPTIMAL_STABLE_TO_TOTAL_DEBT_RATIO", "the optimal share of stable debt cannot be above 100 %"),
    85: ("UNDERLYING_CANNOT_BE_RESCUED", "the reserve's own asset belongs to its suppliers"),
    86: ("ADDRESSES_PROVIDER_ALREADY_ADDED", "the registry holds this addresses provider already"),
    87: ("POOL_ADDRESSES_DO_NOT_MATCH", "the token implementation was made for another pool"),
    88: ("STABLE_BORROWING_ENABLED", "disable borrowing at a stable rate first"),
    89: ("SILOED_BORROWING_VIOLATION", "a siloed asset must be the account's only debt; repay the other debt first"),
    90: ("RESERVE_DEBT_NOT_ZERO", "this change is only allowed while nobody has borrowed the asset"),
    91: ("FLASHLOAN_DISABLED", "flash loans of this asset are disabled; borrow another asset"),
    92: ("INVALID_MAX_RATE", "the highest borrow rate of the curve is above what is allowed"),
    93: ("WITHDRAW_TO_ATOKEN", "tokens cannot be withdrawn to the aToken itself; withdraw to an account"),
    94: ("SUPPLY_TO_ATOKEN", "nothing can be supplied on behalf of the aToken itself; supply for an account"),
    95: ("SLOPE_2_MUST_BE_GTE_SLOPE_1", "the second slope of the rate curve cannot be below the first"),
    96: ("CALLER_NOT_RISK_OR_POOL_OR_EMERGENCY_ADMIN", "only a risk, pool or emergency admin may do this"),
    97: (
        "LIQUIDATION_GRACE_SENTINEL_CHECK_FAILED",
        "the reserve is in a grace period without liquidations; wait until it is over",
    ),
    98: ("INVALID_GRACE_PERIOD", "the grace period is longer than allowed"),
    99: ("INVALID_FREEZE_STATE", "the reserve is in that state already"),
    100: (
        "NOT_BORROWABLE_IN_EMODE",
        "the account's eMode does not allow to borrow this asset; leave it, or borrow another asset",
    ),
    101: ("CALLER_NOT_UMBRELLA", "only the Umbrella contract may do this"),
    102: ("RESERVE_NOT_IN_DEFICIT", "the reserve has no deficit to cover"),
    103: (
        "MUST_NOT_LEAVE_DUST",
        "the liquidation would leave too small a debt or collateral behind; cover all of it, or less",
    ),
    104: ("USER_CANNOT_HAVE_DEBT", "this needs an account without debt; repay first"),
}

_AAVE_CUSTOM: Final = """
CallerNotPoolAdmin CallerNotPoolOrEmergencyAdmin CallerNotRiskOrPoolAdmin CallerNotAssetListingOrPoolAdmin
AddressesProviderNotRegistered InvalidAddressesProviderId NotContract CallerNotPoolConfigurator CallerNotAToken
InvalidAddressesProvider InvalidFlashloanExecutorReturn ReserveAlreadyAdded NoMoreReservesAllowed EModeCategoryReserved
ReserveLiquidityNotZero FlashloanPremiumInvalid InvalidReserveParams InvalidEmodeCategoryParams CallerMustBePool
InvalidMintAmount InvalidBurnAmount InvalidAmount ReserveInactive ReserveFrozen ReservePaused BorrowingNotEnabled
NotEnoughAvailableUserBalance InvalidInterestRateModeSelected HealthFactorLowerThanLiquidationThreshold
CollateralCannotCoverNewBorrow NoDebtOfSelectedType NoExplicitAmountToRepayOnBehalf UnderlyingBalanceZero
HealthFactorNotBelowThreshold CollateralCannotBeLiquidated SpecifiedCurrencyNotBorrowedByUser
InconsistentFlashloanParams BorrowCapExceeded SupplyCapExceeded DebtCeilingExceeded UnderlyingClaimableRightsNotZero
VariableDebtSupplyNotZero LtvValidationFailed InconsistentEModeCategory PriceOracleSentinelCheckFailed
AssetNotBorrowableInIsolation ReserveAlreadyInitialized UserInIsolationModeOrLtvZero InvalidLtv InvalidDecimals
InvalidReserveFactor InvalidBorrowCap InvalidSupplyCap InvalidLiquidationProtocolFee InvalidDebtCeiling
InvalidReserveIndex AclAdminCannotBeZero InconsistentParamsLength ZeroAddressNotValid InvalidExpiration
InvalidSignature OperationNotSupported DebtCeilingNotZero AssetNotListed InvalidOptimalUsageRatio
UnderlyingCannotBeRescued AddressesProviderAlreadyAdded PoolAddressesDoNotMatch SiloedBorrowingViolation
ReserveDebtNotZero FlashloanDisabled InvalidMaxRate WithdrawToAToken SupplyToAToken Slope2MustBeGteSlope1
CallerNotRiskOrPoolOrEmergencyAdmin LiquidationGraceSentinelCheckFailed InvalidGracePeriod InvalidFreezeState
NotBorrowableInEMode CallerNotUmbrella ReserveNotInDeficit MustNotLeaveDust UserCannotHaveDebt
"""
"""The errors above by their names since V3.4, where they have no numbers."""

TEXTS: Final[dict[str, str]] = {
    "AI": "the Uniswap pool is initialised already",
    "AS": "the amount of a swap must not be zero",
    "F0": "the flash loan was not paid back in token0",
    "F1": "the flash loan was not paid back in token1",
    "I": "the Uniswap pool has not begun to remember prices",
    "IIA": "the caller of the swap paid the Uniswap pool too little",
    "L": "the Uniswap pool has no liquidity to lend",
    "LA": "the liquidity would be more than a pool can count",
    "LO": "a tick cannot hold that much liquidity",
    "LOK": "the Uniswap pool is not initialised, or was entered again during a swap",
    "LS": "the liquidity would fall below zero",
    "M0": "the new position was not paid for in token0",
    "M1": "the new position was not paid for in token1",
    "NP": "the position has no liquidity",
    "OLD": "the observation asked for is older than the pool remembers",
    "R": "the price is outside the range of all prices",
    "SPL": "the price limit lies on the wrong side of the pool's price",
    "STF": "a token transfer failed: check balance and allowance of the payer",
    "T": "the tick is outside the range of all ticks",
    "TF": "the Uniswap pool could not transfer a token",
    "TLM": "the lower tick is below the lowest there is",
    "TLU": "the lower tick must be below the upper one",
    "TUM": "the upper tick is above the highest there is",
    "Too little received": "the price moved past the minimum amount out; allow more slippage or swap less",
    "Too much requested": "the price moved past the maximum amount in; allow more slippage or swap less",
    "Transaction too old": "the deadline has passed; give one after the block's timestamp",
    "Price slippage check": "the position would take less than its minimum amounts",
    "transfer: amount exceeds balance": "the sender holds less of the token than it wants to move",
    "transferFrom: amount exceeds allowance": "approve the spender first",
    "approve: reset the allowance to zero first": "the token wants approve(spender, 0) before another amount",
    "ERC20: transfer amount exceeds balance": "the sender holds less of the token than it wants to move",
    "ERC20: insufficient allowance": "approve the spender first",
    "ERC20: transfer amount exceeds allowance": "approve the spender first",
}

COMET: Final[dict[str, str]] = {
    "Absurd()": "the arguments make no sense together; base and collateral cannot be the same here",
    "AlreadyInitialized()": "its storage has been initialised before",
    "BadAmount()": "an allowance is either everything or nothing; approve 2**256 - 1 or 0",
    "BadAsset()": "this market does not know the asset; its adapter lists those it takes",
    "BadDecimals()": "a token or price feed has other decimals than configured",
    "BadDiscount()": "the store front discount cannot be above 100 %",
    "BadMinimum()": "the minimum for rewards must be above zero",
    "BadNonce()": "the signed authorisation has another nonce than the account; sign with the current one",
    "BadPrice()": "the price feed answers zero or less; look at the feed",
    "BadSignatory()": "the authorisation is not signed by its owner",
    "BorrowCFTooLarge()": "the borrow factor must be below the liquidation factor",
    "BorrowTooSmall()": "the debt would be below the market's minimum borrow; borrow more, or nothing",
    "InsufficientReserves()": "the market has less reserves than that; withdraw less",
    "InvalidInt104()": "a number does not fit 104 signed bits",
    "InvalidInt256()": "a number does not fit 256 signed bits",
    "InvalidUInt104()": "a number does not fit 104 bits",
    "InvalidUInt128()": "a number does not fit 128 bits",
    "InvalidUInt64()": "a number does not fit 64 bits",
    "InvalidValueS()": "the signature's s is in the upper half of the curve",
    "InvalidValueV()": "the signature's v is neither 27 nor 28",
    "LiquidateCFTooLarge()": "the liquidation factor cannot be above 100 %",
    "NegativeNumber()": "a number that must not be negative is",
    "NoSelfTransfer()": "source and destination are the same account; choose another destination",
    "NotCollateralized()": "the collateral does not allow that much debt; borrow less or supply more",
    "NotForSale()": "reserves have reached their target, so no collateral is sold; wait until an absorption",
    "NotLiquidatable()": "the account is healthy and cannot be absorbed; its collateral has to lose value first",
    "Paused()": "this action is paused; the pause guardian or the governor may resume it",
    "ReentrantCallBlocked()": "it was entered again during a call",
    "SignatureExpired()": "the authorisation's expiry has passed; sign one with a later expiry",
    "SupplyCapExceeded()": "the asset's supply cap leaves no room for this amount; supply less or another asset",
    "TimestampTooLarge()": "the block's timestamp does not fit 40 bits",
    "TooManyAssets()": "the market has more collateral assets than it can hold",
    "TooMuchSlippage()": "the collateral bought would be less than the minimum asked for; ask for a new quote",
    "TransferInFailed()": "a token could not be taken; check balance and allowance",
    "TransferOutFailed()": "a token could not be paid out; the market may hold too little of it",
    "Unauthorized()": "the caller may not act for this account or in this role; the account can `allow` it",
}

_OTHERS: Final[dict[str, str]] = {
    "InvalidLiquidationThreshold()": "the liquidation threshold does not fit its bits of the configuration",
    "InvalidLiquidationBonus()": "the liquidation bonus does not fit its bits of the configuration",
    "UserHasAssetWithZeroLtv()": "collateral without borrowing power is in the way; withdraw it first",
    "SelfLiquidation()": "an account cannot liquidate itself; let another one do it",
    "CallerNotPositionManager()": "the caller may not act for this account; the account has to enable it first",
    "InvalidLtvzeroState()": "the reserve's loan to value is zero or not zero already, as asked for",
    "InvalidCollateralInEmode(address reserve, uint256 categoryId)": (
        "a collateral of the account has no borrowing power in this eMode; withdraw or disable it first"
    ),
    "InvalidDebtInEmode(address reserve, uint256 categoryId)": (
        "the account owes an asset that cannot be borrowed in this eMode; repay it first"
    ),
    "MustBeEmodeCollateral(address reserve, uint256 categoryId)": (
        "only collateral of an eMode can be without borrowing power there; make it collateral first"
    ),
    "AccessControlUnauthorizedAccount(address account, bytes32 neededRole)": "the account lacks the role",
    "ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)": (
        "the allowance is too small; approve the spender first"
    ),
    "ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)": (
        "the sender holds too little; `fork.deal` gives it more"
    ),
    "ERC20InvalidApprover(address approver)": "the zero address cannot approve",
    "ERC20InvalidReceiver(address receiver)": "the token cannot be sent there",
    "ERC20InvalidSender(address sender)": "the token cannot be sent from there",
    "ERC20InvalidSpender(address spender)": "the zero address cannot be a spender",
    "OwnableUnauthorizedAccount(address account)": "only the owner may do this",
    "SafeERC20FailedOperation(address token)": "a token call failed; check balance and allowance",
}

_BY_FOLDED_NAME = {name.replace("_", "").casefold(): sentence for name, sentence in AAVE_V3.values()}
CUSTOM_ERRORS: Final[dict[str, str]] = {
    **{f"{name}()": _BY_FOLDED_NAME[name.casefold()] for name in _AAVE_CUSTOM.split()},
    **_OTHERS,
    **COMET,
}
"""Custom errors by signature. Aave and Comet share `SupplyCapExceeded()`, which means the same in both."""
