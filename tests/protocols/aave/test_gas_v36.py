"""Gas of actions on Aave V3.6, within 1 % of reference figures for the same code with our tokens.

A lender has supplied every asset. Balances and allowances are exact: an action that spends all of a balance clears its
slot, and gets a refund.
"""

from __future__ import annotations

import pytest

from mayavi.protocols import AaveAccount, AaveV3
from mayavi.worlds.deploy.deployment import named_account
from tests.protocols.aave.market_v36 import RESERVES, UMBRELLA, USD, market_v36_fork
from tests.protocols.aave.reference import WAD, give_and_supply, move_price

MEASURED = {
    "first supply": (164_692, "of an account: its aToken balance and its configuration are new"),
    "second supply": (117_995, "in the same second, of all that is left of the token"),
    "first borrow": (250_448, "of an account: its debt token balance and its balance of the asset are new"),
    "second borrow": (203_811, "an hour later"),
    "partial repay": (139_819, "an hour later"),
    "partial withdraw": (198_647, "with a debt, in the second of the repayment; the account has no more of the token"),
    "eMode": (137_184, "into a mode, with a collateral and a debt"),
    "flash loan": (196_320, "of WETH, to the adapter's borrower"),
    "liquidation of half": (321_034, "an hour after the loan, by a liquidator who holds no WETH"),
    "liquidation of half at once": (313_924, "the same in the second of the loan: no interest is due"),
    "full liquidation": (316_774, "an hour after the loan"),
    "liquidation for aTokens": (285_890, "an hour after the loan"),
    "liquidation with a deficit": (
        317_225,
        "an hour after the loan; all collateral goes, the rest of the debt is burnt",
    ),
    "second liquidation with a deficit": (278_734, "of the reserve's last debt, by the same liquidator, at once"),
    "covered deficit": (109_788, "all of it, by the account registered as Umbrella"),
}
"""Gas by action, and the condition under which it is met."""

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


def liquidations_at_once() -> dict[str, int]:
    """Liquidate in the second of the loans."""
    used, market = {}, opened()
    bob, last, keeper = indebted(market, "bob"), indebted(market, "last"), account(market, "keeper")
    market.fork.deal("USDC", keeper.address, 10**6 * USDC)
    with market.fork.dry_run():
        move_price(market, "WETH", 2_150 * USD)
        used["liquidation of half at once"] = keeper.liquidate(bob, "WETH", "USDC").receipt.gas_used
    move_price(market, "WETH", 1_500 * USD)
    keeper.liquidate(bob, "WETH", "USDC")
    used["second liquidation with a deficit"] = keeper.liquidate(last, "WETH", "USDC").receipt.gas_used
    return used


@pytest.fixture(scope="module")
def gas_used() -> dict[str, int]:
    return actions() | liquidations() | liquidations_at_once()


@pytest.mark.parametrize("what", MEASURED)
def test_it_costs_what_was_measured(gas_used: dict[str, int], what: str) -> None:
    figure, condition = MEASURED[what]
    assert gas_used[what] == pytest.approx(figure, rel=0.01), condition
