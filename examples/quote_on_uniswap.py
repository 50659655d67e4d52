"""Ask Uniswap V3's own QuoterV2 what a sale would bring, and trace one to see what it costs.

python examples/quote_on_uniswap.py
"""

from mayavi import Fork, ether

fork = Fork.replica("ethereum")
quoter = fork.contract(
    "UniswapV3.QuoterV2",
    [
        "quoteExactInputSingle((address tokenIn, address tokenOut, uint256 amountIn, uint24 fee, uint160 limit) params)"
        " view returns (uint256 amountOut, uint160 sqrtPriceAfter, uint32 ticksCrossed, uint256 gasEstimate)"
    ],
)
weth, usdc = fork.address_of("WETH"), fork.address_of("USDC")

for amount in (1, 100, 10_000):
    quote = quoter.quoteExactInputSingle((weth, usdc, ether(amount), 500, 0))
    price = quote.amountOut / 1e6 / amount
    print(f"{amount:>6,} WETH at {price:,.2f} USDC each, {quote.ticksCrossed} ticks crossed")

tree = fork.trace(quoter.address, quoter.quoteExactInputSingle.encode((weth, usdc, ether(1), 500, 0)))
print(tree.render(fork.name))
