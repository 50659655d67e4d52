"""Supply and borrow on the real Aave V3 contracts, offline, and print the liquidation price.

python examples/borrow_on_aave.py
"""

from mayavi import Fork, ether, format_units
from mayavi.errors import CallReverted
from mayavi.protocols import AaveV3

fork = Fork.replica("ethereum")
market = AaveV3(fork)
alice = market.account("0x00000000000000000000000000000000000a11ce")

fork.deal("WETH", alice.address, ether(1))
alice.supply("WETH", ether(1))
alice.borrow("USDC", 1_700 * 10**6)
print(f"health factor {alice.health_factor:.4f}")
print(f"liquidated when WETH costs ${format_units(alice.liquidation_price_usd_e8('WETH') or 0, 8, 2)}")

try:
    alice.borrow("USDC", 1_000 * 10**6)  # a failed action changes nothing
except CallReverted as error:
    print(f"one thousand more: {error.reason}")

fork.mine(blocks=2_600_000)  # about a year
usdc = market.reserve("USDC")
print(f"a year later {alice.health_factor:.4f}, after a year at {usdc.variable_borrow_rate:.2%}")

fork.deal("USDC", alice.address, alice.debt("USDC"))
alice.repay("USDC")  # without an amount: the whole debt
alice.withdraw("WETH")
print(f"and out again with {format_units(alice.balance('WETH'), 18, 6)} WETH, owing {alice.debt('USDC')}")
