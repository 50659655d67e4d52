"""Get quotes from Uniswap V3's own QuoterV2, swap, and trace a quote.

python examples/quote_on_uniswap.py
"""

from mayavi import Fork, ether
from mayavi.protocols import UniswapV3

alice = "0x00000000000000000000000000000000000a11ce"
route = ("WETH", "USDC", 500)

fork = Fork.replica("ethereum")
uniswap = UniswapV3(fork)
pool = uniswap.pool(*route)
print(f"WETH costs {pool.price('WETH'):,.2f} USDC in {pool!r}")

for quote in uniswap.quote_exact_inputs(route, [ether(1), ether(100), ether(10_000)]):
    price = quote.amount_out * 10**12 / quote.amount_in
    print(f"{quote.amount_in // ether(1):>6,} WETH at {price:,.2f} USDC each, {quote.ticks_crossed[0]} ticks crossed")

fork.deal("WETH", alice, ether(10_000))
swap = uniswap.swap_exact_input(route, ether(10_000), sender=alice)
print(f"sold for {swap.amount_out / 1e6:,.2f} USDC with {swap.receipt.gas_used:,} gas")
print(f"WETH costs {pool.price('WETH'):,.2f} USDC now")

asked = (fork.address_of("WETH"), fork.address_of("USDC"), ether(1), 500, 0)
tree = fork.trace(uniswap.quoter.address, uniswap.quoter.quoteExactInputSingle.encode(asked))
print(tree.render(fork.name))
