"""Flash loans, on every chain's replica."""

from __future__ import annotations

import pytest

from mayavi.errors import (
    BadArgument,
    CallReverted,
    InsufficientBalance,
)
from mayavi.protocols import AaveAccount, AaveV3, Erc20
from mayavi.protocols.aave.account import EVERYTHING
from mayavi.protocols.aave.flash_loan import flash_borrower
from tests.protocols.aave.reference import (
    BOB,
    CAROL,
    WAD,
    govern,
    named,
    percent_mul,
)


def test_a_flash_loan_costs_the_premium_and_no_more(market: AaveV3, bob: AaveAccount) -> None:
    before, amount = market.reserve("USDC"), 100_000 * 10**6
    premium = percent_mul(amount, market.flash_loan_premiums.total_bps)
    assert premium > 0
    market.fork.deal("USDC", BOB, premium + 5)
    loan = bob.flash_loan("USDC", amount)
    assert loan.premium == premium
    assert bob.balance("USDC") == 5
    assert market.reserve("USDC").available == before.available + premium
    assert Erc20(market.fork, "USDC").allowance(BOB, flash_borrower(market.fork)) == 0
    loan = bob.flash_loan("USDC", 1_000)  # a loan so small that its premium rounds to nothing or one
    assert loan.premium <= 1


def test_a_flash_loan_works_while_it_is_there(market: AaveV3, bob: AaveAccount) -> None:
    """The borrowing contract makes the calls: it supplies the loan, withdraws it and sends leftover tokens."""
    fork, pool, weth = market.fork, market.pool, market.fork.address_of("WETH")
    place, amount = flash_borrower(fork), 10 * WAD
    fork.deal("WETH", BOB, WAD)
    fork.deal("USDC", place, 7)
    loan = bob.flash_loan(
        "WETH",
        amount,
        [
            ("WETH", Erc20(fork, "WETH").contract.approve.encode(pool.address, amount)),
            (pool.address, pool.supply.encode(weth, amount, place, 0)),
            (pool.address, pool.withdraw.encode(weth, EVERYTHING, place)),
        ],
        sweep=["USDC"],
    )
    assert bob.balance("WETH") == WAD - loan.premium
    assert bob.balance("USDC") == 7
    assert market.account(place).supplied("WETH") == 0
    assert [Erc20(fork, token).balance_of(place) for token in ("WETH", "USDC")] == [0, 0]


def test_a_flash_loan_that_cannot_be_paid_back_never_happened(market: AaveV3, bob: AaveAccount) -> None:
    fork = market.fork
    before = fork.digest()
    with pytest.raises(InsufficientBalance, match="has 0 USDC, but 50 USDC are needed"):
        bob.flash_loan("USDC", 100_000 * 10**6)
    away = Erc20(fork, "USDC").contract.transfer.encode(CAROL, 10**6)
    with pytest.raises(
        CallReverted, match=r"the calls left 99,999 USDC to pay back 100,000 USDC .* 51 USDC are missing"
    ):
        bob.flash_loan("USDC", 100_000 * 10**6, [("USDC", away)])
    with pytest.raises(BadArgument, match="up to 16 calls"):
        bob.flash_loan("USDC", 10**6, [("USDC", away)] * 17)
    assert fork.digest() == before
    govern(market, "setReserveFlashLoaning(address,bool)", market.address_of("USDC"), False)
    fork.deal("USDC", BOB, 10**9)
    with pytest.raises(CallReverted, match=named("91 FLASHLOAN_DISABLED")):
        bob.flash_loan("USDC", 10**6)
