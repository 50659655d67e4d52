"""What actions on Aave V3 cost, against figures of a real node.

The figures were measured on a Shanghai node: the same Aave code, two reserves, Aave's mock tokens and aggregators. Ours
are written in Vyper and dispatch and store differently, which makes up to 5 %. On the whole replica the same actions
cost other amounts for a reason of their own: the market is not empty, so many slots that were zero here are not.
"""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.protocols import AaveV3, Erc20
from mayavi.worlds.aave import deploy_aave
from mayavi.worlds.deployment import DEPLOYER, Deployment, named_account
from mayavi.worlds.feeds import deploy_feeds
from mayavi.worlds.table import load_table
from mayavi.worlds.tokens import deploy_tokens, fund
from tests.protocols.aave_reference import WAD, move_price

MEASURED = {
    "first supply of WETH": 236_178,
    "first borrow": 257_765,
    "partial repay": 192_353,
    "liquidation for WETH": 373_795,
    "liquidation for aWETH": 336_104,
}


@pytest.fixture(scope="module")
def gas_used() -> dict[str, int]:
    """The same steps, an hour apart: a lender, a borrower, and a liquidator who comes twice."""
    table = load_table("ethereum")
    fork = Fork.empty(chain_id=31_337, hardfork="shanghai")
    fork.set_block(number=1, timestamp=table.block.timestamp, gas_limit=30_000_000)
    deployment = Deployment(fork, real_addresses=False)
    symbols, feeds = ("WETH", "USDC"), ("ETH/USD", "USDC/USD")
    deploy_tokens(deployment, {symbol: table.tokens[symbol] for symbol in symbols})
    deploy_feeds(deployment, {name: table.feeds[name] for name in feeds}, timestamp=table.block.timestamp)
    treasury = named_account("treasury")
    deploy_aave(deployment, table.aave, table.feeds, admin=DEPLOYER, treasury=treasury, symbols=symbols)
    fork.labels = deployment.checksummed_labels()
    market = AaveV3(fork)
    lender, borrower, liquidator = (market.account(named_account(name)) for name in ("alice", "bob", "carol"))
    for account, symbol, amount in (
        (lender, "USDC", 10**12),
        (borrower, "WETH", 10 * WAD),
        (liquidator, "USDC", 10**10),
    ):
        fund(deployment, symbol, table.tokens[symbol], account.address, amount)
    for account in (lender, borrower, liquidator):
        for symbol in symbols:
            Erc20(fork, symbol).approve(market.pool.address, 2**256 - 1, sender=account.address)

    lender.supply("USDC", 10**12)
    used = {}
    for what in MEASURED:
        fork.mine(seconds=3_600)
        if what == "liquidation for WETH":
            move_price(market, "WETH", (borrower.liquidation_price_usd_e8("WETH") or 0) * 99 // 100)
        receipt = {
            "first supply of WETH": lambda: borrower.supply("WETH", 10 * WAD),
            "first borrow": lambda: borrower.borrow("USDC", 10_000 * 10**6),
            "partial repay": lambda: borrower.repay("USDC", 1_000 * 10**6),
            "liquidation for WETH": lambda: liquidator.liquidate(borrower, "WETH", "USDC", 500 * 10**6).receipt,
            "liquidation for aWETH": lambda: (
                liquidator.liquidate(borrower, "WETH", "USDC", 500 * 10**6, receive_a_token=True).receipt
            ),
        }[what]()
        used[what] = receipt.gas_used
    return used


@pytest.mark.parametrize("what", MEASURED)
def test_it_costs_what_it_costs_on_a_node(gas_used: dict[str, int], what: str) -> None:
    assert gas_used[what] == pytest.approx(MEASURED[what], rel=0.05)
