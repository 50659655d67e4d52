"""Functions and events of Aave V3 pools. A pool answers those of its generation."""

from __future__ import annotations

POOL_ABI = [
    "supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)",
    "withdraw(address asset, uint256 amount, address to)",
    "borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)",
    "repay(address asset, uint256 amount, uint256 interestRateMode, address onBehalfOf)",
    "setUserUseReserveAsCollateral(address asset, bool useAsCollateral)",
    "setUserEMode(uint8 categoryId)",
    "liquidationCall(address collateral, address debt, address user, uint256 debtToCover, bool receiveAToken)",
    "getUserAccountData(address user) view returns (uint256 collateral, uint256 debt, uint256 available,"
    " uint256 threshold, uint256 ltv, uint256 healthFactor)",
    "getReserveData(address asset) view returns ((uint256 configuration, uint128 liquidityIndex,"
    " uint128 liquidityRate, uint128 variableBorrowIndex, uint128 variableBorrowRate, uint128 stableBorrowRate,"
    " uint40 lastUpdate, uint16 id, address aToken, address stableDebtToken, address variableDebtToken,"
    " address rateStrategy, uint128 accruedToTreasury, uint128 unbacked, uint128 isolatedDebt) data)",
    "getReserveNormalizedIncome(address asset) view returns (uint256)",
    "getReserveNormalizedVariableDebt(address asset) view returns (uint256)",
    "getReservesList() view returns (address[])",
    "getUserConfiguration(address user) view returns (uint256)",
    "getUserEMode(address user) view returns (uint256)",
    "getEModeCategoryData(uint8 id) view returns"
    " ((uint16 ltv, uint16 threshold, uint16 bonus, address priceSource, string label) category)",
    "getEModeCategoryCollateralBitmap(uint8 id) view returns (uint128)",
    "getEModeCategoryBorrowableBitmap(uint8 id) view returns (uint128)",
    "getEModeCategoryLtvzeroBitmap(uint8 id) view returns (uint128)",
    "getVirtualUnderlyingBalance(address asset) view returns (uint128)",
    "getReserveDeficit(address asset) view returns (uint256)",
    "POOL_REVISION() view returns (uint256)",
    "eliminateReserveDeficit(address asset, uint256 amount) returns (uint256)",
    "multicall(bytes[] data) returns (bytes[] results)",
    "approvePositionManager(address positionManager, bool approve)",
    "renouncePositionManagerRole(address user)",
    "isApprovedPositionManager(address user, address positionManager) view returns (bool)",
    "setUserUseReserveAsCollateralOnBehalfOf(address asset, bool useAsCollateral, address onBehalfOf)",
    "setUserEModeOnBehalfOf(uint8 categoryId, address onBehalfOf)",
    "FLASHLOAN_PREMIUM_TOTAL() view returns (uint128)",
    "FLASHLOAN_PREMIUM_TO_PROTOCOL() view returns (uint128)",
    "ADDRESSES_PROVIDER() view returns (address)",
    "event LiquidationCall(address indexed collateral, address indexed debt, address indexed user, uint256 covered,"
    " uint256 seized, address liquidator, bool receiveAToken)",
    "event DeficitCreated(address indexed user, address indexed debtAsset, uint256 amount)",
    "event DeficitCovered(address indexed reserve, address caller, uint256 amount)",
    "event FlashLoan(address indexed target, address initiator, address indexed asset, uint256 amount,"
    " uint8 interestRateMode, uint256 premium, uint16 indexed referralCode)",
]
