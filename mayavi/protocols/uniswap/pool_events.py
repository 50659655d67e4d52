"""Events of a Uniswap V3 pool, and the views that describe it."""

from __future__ import annotations

POOL_EVENTS = [
    "event Initialize(uint160 sqrtPriceX96, int24 tick)",
    "event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper,"
    " uint128 amount, uint256 amount0, uint256 amount1)",
    "event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount,"
    " uint256 amount0, uint256 amount1)",
    "event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1,"
    " uint160 sqrtPriceX96, uint128 liquidity, int24 tick)",
]
POOL_VIEWS = [
    "token0() view returns (address)",
    "token1() view returns (address)",
    "fee() view returns (uint24)",
    "tickSpacing() view returns (int24)",
]
