"""Supply and borrow on the real Aave V3 contracts, offline, and see what a price move does.

python examples/borrow_on_aave.py
"""

from mayavi import Fork, ether
from mayavi.errors import CallReverted

ALICE = "0x00000000000000000000000000000000000a11ce"

fork = Fork.replica("ethereum")
fork.deal("WETH", ALICE, ether(1))
pool = fork.contract(
    "AaveV3.Pool",
    [
        "supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)",
        "borrow(address asset, uint256 amount, uint256 rateMode, uint16 referralCode, address onBehalfOf)",
        "getUserAccountData(address user) view returns (uint256 collateral, uint256 debt, uint256 available,"
        " uint256 threshold, uint256 ltv, uint256 healthFactor)",
    ],
)
weth, usdc = fork.address_of("WETH"), fork.address_of("USDC")

fork.contract("WETH", ["approve(address spender, uint256 amount)"]).approve(pool.address, ether(1), sender=ALICE)
pool.supply(weth, ether(1), ALICE, 0, sender=ALICE)
pool.borrow(usdc, 1_700 * 10**6, 2, 0, ALICE, sender=ALICE)
print(f"health factor {pool.getUserAccountData(ALICE).healthFactor / 1e18:.4f}")

with fork.snapshot():  # what follows is undone at the end
    try:
        pool.borrow(usdc, 1_000 * 10**6, 2, 0, ALICE, sender=ALICE)
    except CallReverted as error:
        print(f"one thousand more: {error.reason}")

fork.mine(blocks=2_600_000)  # about a year
print(f"a year later {pool.getUserAccountData(ALICE).healthFactor / 1e18:.4f}")
