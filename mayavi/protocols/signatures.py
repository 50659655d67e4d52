"""Public signatures of widely used contracts that no installed package describes."""

from __future__ import annotations

TOKENS = [
    "transfer(address to, uint256 amount) returns (bool)",
    "transferFrom(address from, address to, uint256 amount) returns (bool)",
    "approve(address spender, uint256 amount) returns (bool)",
    "balanceOf(address owner) view returns (uint256)",
    "allowance(address owner, address spender) view returns (uint256)",
    "totalSupply() view returns (uint256)",
    "decimals() view returns (uint8)",
    "symbol() view returns (string)",
    "name() view returns (string)",
    "permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)",
    "deposit() payable",
    "withdraw(uint256 amount)",
    "event Transfer(address indexed from, address indexed to, uint256 value)",
    "event Approval(address indexed owner, address indexed spender, uint256 value)",
    "event Deposit(address indexed dst, uint256 wad)",
    "event Withdrawal(address indexed src, uint256 wad)",
]
UNISWAP_V2 = [
    "swap(uint256 amount0Out, uint256 amount1Out, address to, bytes data)",
    "getReserves() view returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast)",
    "token0() view returns (address)",
    "token1() view returns (address)",
    "sync()",
    "skim(address to)",
    "getAmountsOut(uint256 amountIn, address[] path) view returns (uint256[] amounts)",
    "swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)"
    " returns (uint256[] amounts)",
    "swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)"
    " returns (uint256[] amounts)",
    "swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline) payable"
    " returns (uint256[] amounts)",
    "swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline) payable"
    " returns (uint256[] amounts)",
    "swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)"
    " returns (uint256[] amounts)",
    "swapTokensForExactETH(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)"
    " returns (uint256[] amounts)",
    "swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256 amountIn, uint256 amountOutMin, address[] path,"
    " address to, uint256 deadline)",
    "swapExactETHForTokensSupportingFeeOnTransferTokens(uint256 amountOutMin, address[] path, address to,"
    " uint256 deadline) payable",
    "swapExactTokensForETHSupportingFeeOnTransferTokens(uint256 amountIn, uint256 amountOutMin, address[] path,"
    " address to, uint256 deadline)",
    "event Sync(uint112 reserve0, uint112 reserve1)",
    "event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out,"
    " uint256 amount1Out, address indexed to)",
]
UNISWAP_ROUTERS = [
    "execute(bytes commands, bytes[] inputs, uint256 deadline) payable",
    "execute(bytes commands, bytes[] inputs) payable",
    "multicall(uint256 deadline, bytes[] data) payable returns (bytes[])",
    "multicall(bytes[] data) payable returns (bytes[] results)",
    "transferFrom(address from, address to, uint160 amount, address token)",
    "permit(address owner, ((address token, uint160 amount, uint48 expiration, uint48 nonce) details,"
    " address spender, uint256 sigDeadline) permitSingle, bytes signature)",
    "sellEthForTokenToUniswapV3(bytes encodedPath, uint256 minBuyAmount, address recipient) payable"
    " returns (uint256 buyAmount)",
    "uniswapV3SwapCallback(int256 amount0Delta, int256 amount1Delta, bytes data)",
]
CURVE = [
    "exchange(int128 i, int128 j, uint256 dx, uint256 min_dy) returns (uint256)",
    "exchange(uint256 i, uint256 j, uint256 dx, uint256 min_dy) payable returns (uint256)",
    "exchange(uint256 i, uint256 j, uint256 dx, uint256 min_dy, bool use_eth) payable returns (uint256)",
    "exchange_underlying(int128 i, int128 j, uint256 dx, uint256 min_dy)",
    "exchange_multiple(address[9] _route, uint256[3][4] _swap_params, uint256 _amount, uint256 _expected,"
    " address[4] _pools) payable returns (uint256)",
    "exchange_multiple(address[9] _route, uint256[3][4] _swap_params, uint256 _amount, uint256 _expected,"
    " address[4] _pools, address _receiver) payable returns (uint256)",
    "get_dy(uint256 i, uint256 j, uint256 dx) view returns (uint256)",
    "newton_D(uint256 ANN, uint256 gamma, uint256[3] x) view returns (uint256)",
    "newton_y(uint256 ANN, uint256 gamma, uint256[3] x, uint256 D, uint256 i) view returns (uint256)",
    "reduction_coefficient(uint256[3] x, uint256 fee_gamma) view returns (uint256)",
    "halfpow(uint256 power, uint256 precision) view returns (uint256)",
    "geometric_mean(uint256[3] unsorted_x) view returns (uint256)",
    "event TokenExchange(address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id,"
    " uint256 tokens_bought)",
    "event ExchangeMultiple(address indexed buyer, address indexed receiver, address[9] route,"
    " uint256[3][4] swap_params, address[4] pools, uint256 amount_sold, uint256 amount_bought)",
    "event TokenExchange(address indexed buyer, uint256 sold_id, uint256 tokens_sold, uint256 bought_id,"
    " uint256 tokens_bought)",
]
COMPOUND = [
    "allow(address manager, bool isAllowed)",
    "allowBySig(address owner, address manager, bool isAllowed, uint256 nonce, uint256 expiry, uint8 v, bytes32 r,"
    " bytes32 s)",
    "supply(address asset, uint256 amount)",
    "supplyTo(address dst, address asset, uint256 amount)",
    "supplyFrom(address from, address dst, address asset, uint256 amount)",
    "withdraw(address asset, uint256 amount)",
    "withdrawTo(address to, address asset, uint256 amount)",
    "withdrawFrom(address src, address to, address asset, uint256 amount)",
    "absorb(address absorber, address[] accounts)",
    "buyCollateral(address asset, uint256 minAmount, uint256 baseAmount, address recipient)",
    "accrueAccount(address account)",
    "event Supply(address indexed from, address indexed dst, uint256 amount)",
    "event Withdraw(address indexed src, address indexed to, uint256 amount)",
    "event SupplyCollateral(address indexed from, address indexed dst, address indexed asset, uint256 amount)",
    "event WithdrawCollateral(address indexed src, address indexed to, address indexed asset, uint256 amount)",
    "event AbsorbDebt(address indexed absorber, address indexed borrower, uint256 basePaidOut, uint256 usdValue)",
]
OTHERS = [
    "latestAnswer() view returns (int256)",
    "latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt,"
    " uint80 answeredInRound)",
    "safeTransferFrom(address from, address to, uint256 tokenId)",
    "setApprovalForAll(address operator, bool approved)",
    "ownerOf(uint256 tokenId) view returns (address)",
    "implementation() view returns (address)",
    "event ApprovalForAll(address indexed owner, address indexed operator, bool approved)",
]
EVERYTHING = [*TOKENS, *UNISWAP_V2, *UNISWAP_ROUTERS, *CURVE, *COMPOUND, *OTHERS]
