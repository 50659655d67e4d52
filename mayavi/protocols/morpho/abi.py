"""The parts of Morpho's ABIs that the adapters use."""

from __future__ import annotations

PARAMETERS = "(address loanToken, address collateralToken, address oracle, address irm, uint256 lltv)"
MARKET = (
    "(uint128 totalSupplyAssets, uint128 totalSupplyShares, uint128 totalBorrowAssets, uint128 totalBorrowShares,"
    " uint128 lastUpdate, uint128 fee)"
)
BLUE = [
    "owner() view returns (address)",
    "feeRecipient() view returns (address)",
    "isIrmEnabled(address irm) view returns (bool)",
    "isLltvEnabled(uint256 lltv) view returns (bool)",
    "isAuthorized(address authorizer, address authorized) view returns (bool)",
    f"market(bytes32 id) view returns {MARKET}",
    "position(bytes32 id, address account) view returns (uint256 supplyShares, uint128 borrowShares,"
    " uint128 collateral)",
    f"idToMarketParams(bytes32 id) view returns {PARAMETERS}",
    "enableIrm(address irm)",
    "enableLltv(uint256 lltv)",
    f"setFee({PARAMETERS} marketParams, uint256 newFee)",
    "setFeeRecipient(address newFeeRecipient)",
    f"createMarket({PARAMETERS} marketParams)",
    f"accrueInterest({PARAMETERS} marketParams)",
    f"supply({PARAMETERS} marketParams, uint256 assets, uint256 shares, address onBehalf, bytes data)",
    f"withdraw({PARAMETERS} marketParams, uint256 assets, uint256 shares, address onBehalf, address receiver)",
    f"borrow({PARAMETERS} marketParams, uint256 assets, uint256 shares, address onBehalf, address receiver)",
    f"repay({PARAMETERS} marketParams, uint256 assets, uint256 shares, address onBehalf, bytes data)",
    f"supplyCollateral({PARAMETERS} marketParams, uint256 assets, address onBehalf, bytes data)",
    f"withdrawCollateral({PARAMETERS} marketParams, uint256 assets, address onBehalf, address receiver)",
    f"liquidate({PARAMETERS} marketParams, address borrower, uint256 seizedAssets, uint256 repaidShares, bytes data)",
    "flashLoan(address token, uint256 assets, bytes data)",
    "setAuthorization(address authorized, bool newIsAuthorized)",
    "event Supply(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets,"
    " uint256 shares)",
    "event Withdraw(bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver,"
    " uint256 assets, uint256 shares)",
    "event Borrow(bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver,"
    " uint256 assets, uint256 shares)",
    "event Repay(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets, uint256 shares)",
    "event Liquidate(bytes32 indexed id, address indexed caller, address indexed borrower, uint256 repaidAssets,"
    " uint256 repaidShares, uint256 seizedAssets, uint256 badDebtAssets, uint256 badDebtShares)",
    "event AccrueInterest(bytes32 indexed id, uint256 prevBorrowRate, uint256 interest, uint256 feeShares)",
]
IRM = [
    f"borrowRateView({PARAMETERS} marketParams, {MARKET} market) view returns (uint256)",
    "rateAtTarget(bytes32 id) view returns (int256)",
]
ORACLE = [
    "price() view returns (uint256)",
    "BASE_FEED_1() view returns (address)",
    "BASE_FEED_2() view returns (address)",
    "QUOTE_FEED_1() view returns (address)",
    "QUOTE_FEED_2() view returns (address)",
]
VAULT = [
    "MORPHO() view returns (address)",
    "asset() view returns (address)",
    "name() view returns (string)",
    "symbol() view returns (string)",
    "decimals() view returns (uint8)",
    "owner() view returns (address)",
    "curator() view returns (address)",
    "isAllocator(address account) view returns (bool)",
    "timelock() view returns (uint256)",
    "fee() view returns (uint96)",
    "feeRecipient() view returns (address)",
    "totalAssets() view returns (uint256)",
    "lastTotalAssets() view returns (uint256)",
    "totalSupply() view returns (uint256)",
    "balanceOf(address account) view returns (uint256)",
    "convertToAssets(uint256 shares) view returns (uint256)",
    "convertToShares(uint256 assets) view returns (uint256)",
    "maxDeposit(address account) view returns (uint256)",
    "maxWithdraw(address account) view returns (uint256)",
    "supplyQueueLength() view returns (uint256)",
    "supplyQueue(uint256 index) view returns (bytes32)",
    "withdrawQueueLength() view returns (uint256)",
    "withdrawQueue(uint256 index) view returns (bytes32)",
    "config(bytes32 id) view returns (uint184 cap, bool enabled, uint64 removableAt)",
    "pendingCap(bytes32 id) view returns (uint192 value, uint64 validAt)",
    "deposit(uint256 assets, address receiver)",
    "withdraw(uint256 assets, address receiver, address owner)",
    "redeem(uint256 shares, address receiver, address owner)",
    f"submitCap({PARAMETERS} marketParams, uint256 newSupplyCap)",
    f"acceptCap({PARAMETERS} marketParams)",
    "setSupplyQueue(bytes32[] newSupplyQueue)",
    "updateWithdrawQueue(uint256[] indexes)",
    f"reallocate(({PARAMETERS} marketParams, uint256 assets)[] allocations)",
    "setFee(uint256 newFee)",
    "setFeeRecipient(address newFeeRecipient)",
    "setIsAllocator(address newAllocator, bool newIsAllocator)",
    "setCurator(address newCurator)",
    "event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)",
    "event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets,"
    " uint256 shares)",
    *(f"error {name}()" for name in ("AboveMaxTimelock", "AllCapsReached", "AlreadyPending", "AlreadySet")),
    *(f"error {name}()" for name in ("BelowMinTimelock", "InconsistentReallocation", "MarketNotCreated")),
    *(f"error {name}()" for name in ("MaxFeeExceeded", "MaxQueueLengthExceeded", "NoPendingValue", "NonZeroCap")),
    *(f"error {name}()" for name in ("NotAllocatorRole", "NotCuratorRole", "NotGuardianRole", "NotEnoughLiquidity")),
    *(f"error {name}()" for name in ("PendingRemoval", "TimelockNotElapsed", "ZeroAddress", "ZeroFeeRecipient")),
    *(f"error {name}(bytes32 id)" for name in ("DuplicateMarket", "InconsistentAsset", "MarketNotEnabled")),
    *(f"error {name}(bytes32 id)" for name in ("PendingCap", "SupplyCapExceeded", "UnauthorizedMarket")),
    *(f"error InvalidMarketRemoval{why}(bytes32 id)" for why in ("NonZeroCap", "NonZeroSupply", "TimelockNotElapsed")),
]
ALLOCATOR = [
    "flowCaps(address vault, bytes32 id) view returns (uint128 maxIn, uint128 maxOut)",
    "fee(address vault) view returns (uint256)",
    "setFlowCaps(address vault, (bytes32 id, (uint128 maxIn, uint128 maxOut) caps)[] config)",
    f"reallocateTo(address vault, ({PARAMETERS} marketParams, uint128 amount)[] withdrawals,"
    f" {PARAMETERS} supplyMarketParams)",
    *(f"error {name}()" for name in ("DepositMarketInWithdrawals", "EmptyWithdrawals", "InconsistentWithdrawals")),
    *(f"error {name}()" for name in ("IncorrectFee", "MaxSettableFlowCapExceeded", "NotAdminNorVaultOwner")),
    *(f"error {name}(bytes32 id)" for name in ("MarketNotEnabled", "MaxInflowExceeded", "MaxOutflowExceeded")),
    *(f"error {name}(bytes32 id)" for name in ("NotEnoughSupply", "WithdrawZero")),
]
