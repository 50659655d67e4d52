"""Gas of actions on Aave V3.6, within 1 % of figures measured on the same code with our tokens.

The record leaves the state of the market open. Here a lender has supplied every asset, balances and allowances are
exact, and time passes where the record's figures say that indexes moved.
"""

from __future__ import annotations

import pytest

from mayavi.protocols import AaveAccount, AaveV3
from mayavi.worlds.deploy.deployment import named_account
from tests.protocols.aave.market_v36 import RESERVES, UMBRELLA, USD, market_v36_fork
from tests.protocols.aave.reference import WAD, give_and_supply, move_price

MEASURED = {
    "first supply": 164_692,
    "second supply": 117_995,
    "first borrow": 250_448,
    "second borrow": 203_811,
    "partial repay": 139_819,
    "partial withdraw": 198_647,
    "eMode": 137_184,
    "flash loan": 196_320,
    "liquidation of half": 321_034,
    "full liquidation": 316_774,
    "liquidation for aTokens": 285_890,
    "liquidation with a deficit": 317_225,
    "covered deficit": 109_788,
}
USDC = 10**6


def opened() -> AaveV3:
    """Open the market, with a lender of every asset."""
    market = AaveV3(market_v36_fork())
    for symbol, terms in RESERVES.items():
        give_and_supply(market.account(named_account("lender")), symbol, 10**4 * 10**terms.decimals)
    give_and_supply(market.account(named_account("lender")), "USDC", 10**7 * USDC)
    return market


def account(market: AaveV3, name: str) -> AaveAccount:
    return market.account(named_account(name))


def indebted(market: AaveV3, name: str) -> AaveAccount:
    """Return an account with 10 WETH that owes 18,000 USDC."""
    found = account(market, name)
    give_and_supply(found, "WETH", 10 * WAD)
    found.borrow("USDC", 18_000 * USDC)
    return found


def actions() -> dict[str, int]:
    market = opened()
    fork, bob = market.fork, account(market, "bob")
    fork.deal("WETH", bob.address, 11 * WAD)
    used = {
        "first supply": bob.supply("WETH", 10 * WAD).gas_used,
        "second supply": bob.supply("WETH", WAD).gas_used,
        "first borrow": bob.borrow("USDC", 9_000 * USDC).gas_used,
    }
    fork.mine(1, 3_600)
    used["second borrow"] = bob.borrow("USDC", 1_000 * USDC).gas_used
    fork.mine(1, 3_600)
    used["partial repay"] = bob.repay("USDC", 1_000 * USDC).gas_used
    used["partial withdraw"] = bob.withdraw("WETH", WAD).gas_used
    carol = account(market, "carol")
    give_and_supply(carol, "wstETH", WAD)
    carol.borrow("USDC", 100 * USDC)
    used["eMode"] = carol.set_emode(2).gas_used
    fork.deal("WETH", bob.address, WAD)
    used["flash loan"] = bob.flash_loan("WETH", WAD).receipt.gas_used
    return used


def liquidations() -> dict[str, int]:
    used = {}
    for what, price, as_a_token in (
        ("liquidation of half", 2_150, False),
        ("liquidation for aTokens", 2_000, True),
        ("full liquidation", 2_000, False),
        ("liquidation with a deficit", 1_500, False),
    ):
        market = opened()
        bob, keeper, umbrella = indebted(market, "bob"), account(market, "keeper"), market.account(UMBRELLA)
        market.fork.mine(1, 3_600)
        move_price(market, "WETH", price * USD)
        market.fork.deal("USDC", keeper.address, 20_000 * USDC)
        receipt = keeper.liquidate(bob, "WETH", "USDC", receive_a_token=as_a_token).receipt
        used[what] = receipt.gas_used
        if market.deficits():
            give_and_supply(umbrella, "USDC", 10**5 * USDC)
            used["covered deficit"] = umbrella.eliminate_deficit("USDC").gas_used
    return used


@pytest.fixture(scope="module")
def gas_used() -> dict[str, int]:
    return actions() | liquidations()


@pytest.mark.parametrize("what", MEASURED)
def test_it_costs_what_was_measured(gas_used: dict[str, int], what: str) -> None:
    assert gas_used[what] == pytest.approx(MEASURED[what], rel=0.01)
