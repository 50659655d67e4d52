"""Let a thousand borrowers repay different amounts in one call: a `Program` on the rows of a `Fleet`.

python examples/many_at_once.py
"""

import numpy as np

from mayavi import Fleet, Fork, Function, Program, Template, ether, to_address

ALICE = to_address("0x00000000000000000000000000000000000a11ce")
APPROVE = Function.parse("approve(address spender, uint256 amount)")
SUPPLY = Function.parse("supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)")
BORROW = Function.parse(
    "borrow(address asset, uint256 amount, uint256 rateMode, uint16 referralCode, address onBehalfOf)"
)
REPAY = Function.parse("repay(address asset, uint256 amount, uint256 rateMode, address onBehalfOf)")
ACCOUNT = Function.parse("getUserAccountData(address user)")

fork = Fork.replica("ethereum")
pool, weth, usdc = (fork.address_of(name) for name in ("AaveV3.Pool", "WETH", "USDC"))
fork.deal("WETH", ALICE, ether(1))
for token in (weth, usdc):
    fork.send(token, APPROVE.encode(pool, 2**256 - 1), sender=ALICE)
fork.send(pool, SUPPLY.encode(weth, ether(1), ALICE, 0), sender=ALICE)
fork.send(pool, BORROW.encode(usdc, 1_700 * 10**6, 2, 0, ALICE), sender=ALICE)

# The step of every row: wait a day, repay the row's amount, read the account. The amount is the second word of the
# call data, so its hole is at byte 4 + 32.
program = Program()
amount = program.input("amount")
program.advance(7_200, 86_400)
repaid, *_ = program.call(Template(pool, REPAY.encode(usdc, 0, 2, ALICE), {36: amount}, sender=ALICE))
*_, account = program.call(Template(pool, ACCOUNT.encode(ALICE)), returns=6, commit=False)
program.output("repaid", repaid)
program.output("health factor", account[5])

fleet = Fleet(fork, rows=1_000)
amounts = np.random.default_rng(7).integers(1, 1_700, 1_000) * 10**6
for day in range(3):
    result = fleet.run(program, amount=amounts if day == 0 else np.full(1_000, 10**6), threads=2)
    health = result["health factor"].float64(scale=1e18)
    print(
        f"day {day + 1}: health factor {health.min():.4f} to {health.max():.4f}, repaid {set(result['repaid'].ints())}"
    )
print(f"{max(fleet.memory()):,} bytes a row at most; row 0 alone:", fleet.fork(0))
