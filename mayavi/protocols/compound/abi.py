"""The part of Comet's ABI that the adapter uses."""

from __future__ import annotations

_INFO = (
    "(uint8 offset, address asset, address priceFeed, uint64 scale, uint64 borrowCollateralFactor,"
    " uint64 liquidateCollateralFactor, uint64 liquidationFactor, uint128 supplyCap)"
)
COMET = [
    "symbol() view returns (string)",
    "baseToken() view returns (address)",
    "baseTokenPriceFeed() view returns (address)",
    "baseScale() view returns (uint256)",
    "baseBorrowMin() view returns (uint256)",
    "numAssets() view returns (uint8)",
    f"getAssetInfo(uint8 i) view returns ({_INFO} info)",
    f"getAssetInfoByAddress(address asset) view returns ({_INFO} info)",
    "getPrice(address priceFeed) view returns (uint256)",
    "getUtilization() view returns (uint256)",
    "getSupplyRate(uint256 utilization) view returns (uint64)",
    "getBorrowRate(uint256 utilization) view returns (uint64)",
    "getReserves() view returns (int256)",
    "targetReserves() view returns (uint256)",
    "storeFrontPriceFactor() view returns (uint256)",
    "getCollateralReserves(address asset) view returns (uint256)",
    "totalSupply() view returns (uint256)",
    "totalBorrow() view returns (uint256)",
    "totalsBasic() view returns ((uint64 baseSupplyIndex, uint64 baseBorrowIndex, uint64 trackingSupplyIndex,"
    " uint64 trackingBorrowIndex, uint104 totalSupplyBase, uint104 totalBorrowBase, uint40 lastAccrualTime,"
    " uint8 pauseFlags) totals)",
    "totalsCollateral(address asset) view returns (uint128 totalSupplyAsset, uint128 reserved)",
    *(f"is{what}Paused() view returns (bool)" for what in ("Supply", "Transfer", "Withdraw", "Absorb", "Buy")),
    "quoteCollateral(address asset, uint256 baseAmount) view returns (uint256)",
    "userBasic(address account) view returns (int104 principal, uint64 trackingIndex, uint64 trackingAccrued,"
    " uint16 assetsIn, uint8 reserved)",
    "userCollateral(address account, address asset) view returns (uint128 balance, uint128 reserved)",
    "balanceOf(address account) view returns (uint256)",
    "borrowBalanceOf(address account) view returns (uint256)",
    "isLiquidatable(address account) view returns (bool)",
    "isBorrowCollateralized(address account) view returns (bool)",
    "supply(address asset, uint256 amount)",
    "supplyTo(address dst, address asset, uint256 amount)",
    "withdraw(address asset, uint256 amount)",
    "absorb(address absorber, address[] accounts)",
    "buyCollateral(address asset, uint256 minAmount, uint256 baseAmount, address recipient)",
    "accrueAccount(address account)",
    "event AbsorbCollateral(address indexed absorber, address indexed borrower, address indexed asset,"
    " uint256 collateralAbsorbed, uint256 usdValue)",
    "event AbsorbDebt(address indexed absorber, address indexed borrower, uint256 basePaidOut, uint256 usdValue)",
    "event BuyCollateral(address indexed buyer, address indexed asset, uint256 baseAmount, uint256 collateralAmount)",
]
