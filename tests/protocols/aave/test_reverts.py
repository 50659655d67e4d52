"""Error messages of Aave's adapter: the cause in each case, and the alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mayavi import Fork, checksum
from mayavi.errors import (
    ActionRefused,
    BadArgument,
    CallReverted,
    ExecutionError,
    InsufficientBalance,
    MayaviError,
    NoCode,
    UsageError,
)
from mayavi.protocols import AaveAccount, AaveV3, Erc20, PriceFeed, SparkLend
from tests.protocols.aave.reference import ALICE, BOB, CAROL, WAD, give_and_supply, govern, move_price


@pytest.fixture(scope="module")
def world() -> Fork:
    return Fork.replica("ethereum")


@pytest.fixture
def market(world: Fork) -> AaveV3:
    return AaveV3(world.copy())


@pytest.fixture
def alice(market: AaveV3) -> AaveAccount:
    """Alice with 1 WETH supplied and 1,000 USDC borrowed."""
    account = market.account(ALICE)
    give_and_supply(account, "WETH", WAD)
    account.borrow("USDC", 1_000 * 10**6)
    return account


@pytest.fixture
def bob(market: AaveV3) -> AaveAccount:
    return market.account(BOB)


def refused(market: AaveV3, action: Callable[[], Any], kind: type[MayaviError] = CallReverted) -> tuple[str, str]:
    """Return message and hint; check that nothing has changed."""
    before = market.fork.digest()
    with pytest.raises(kind) as caught:
        action()
    assert market.fork.digest() == before
    return str(caught.value), str(caught.value.hint)


# -- what is given -----------------------------------------------------------------------------------------------------


def test_an_account_of_another_fork_is_refused_and_a_copy_is_another_fork(
    market: AaveV3, alice: AaveAccount, bob: AaveAccount
) -> None:
    elsewhere = AaveV3(market.fork.copy()).account(ALICE)
    market.fork.deal("USDC", BOB, 10**10)
    message, hint = refused(market, lambda: bob.liquidate(elsewhere, "WETH", "USDC"), UsageError)
    assert "belongs to another fork" in message
    assert "market.account(" in hint
    refused(market, lambda: market.account_data([alice, elsewhere]), UsageError)
    # An account of another market on the same fork is an address here: what counts is its debt on this market.
    move_price(market, "WETH", alice.liquidation_price_usd_e8("WETH") or 0)
    assert bob.liquidate(SparkLend(market.fork).account(ALICE), "WETH", "USDC").covered == 500 * 10**6


def test_accounts_are_equal_on_the_same_market_of_the_same_fork(market: AaveV3, alice: AaveAccount) -> None:
    again = AaveV3(market.fork).account(ALICE)
    assert alice == again
    assert len({alice, again}) == 1
    others = market.account(BOB), AaveV3(market.fork.copy()).account(ALICE), SparkLend(market.fork).account(ALICE)
    assert alice not in others
    assert alice != ALICE


def test_a_market_on_something_else_is_refused_at_once(market: AaveV3) -> None:
    with pytest.raises(UsageError, match="'ethereum' is not a fork") as caught:
        AaveV3("ethereum")  # type: ignore[arg-type]
    assert 'fork = Fork.replica("ethereum")' in str(caught.value.hint)
    with pytest.raises(NoCode, match="no contract stands at 0xB0b0"):
        AaveV3(market.fork, BOB)
    for stranger in ("USDC", "WETH", "AaveV3.Oracle", "AaveV3.DataProvider", "AaveV3.aUSDC"):
        with pytest.raises(UsageError, match=f"{stranger} is not a pool of Aave V3"):
            AaveV3(market.fork, stranger)
    assert AaveV3(market.fork, market.fork.labels["AaveV3.Pool"]).reserve("USDC") == market.reserve("USDC")


def test_one_account_is_no_list_of_accounts(market: AaveV3, alice: AaveAccount) -> None:
    for one in ("0x" + ALICE.hex(), ALICE, alice):
        with pytest.raises(BadArgument, match="takes a list of accounts") as caught:
            market.account_data(one)  # type: ignore[arg-type]
        assert "account_data([…])" in str(caught.value.hint)
    assert market.account_data([alice, "0x" + BOB.hex()])[0] == alice.data()


def test_nothing_to_do_is_refused_before_anything_is_sent(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    for action in (
        lambda: alice.supply("WETH", 0),
        lambda: alice.borrow("USDC", 0),
        lambda: alice.repay("USDC", 0),
        lambda: alice.withdraw("WETH", 0),
        lambda: bob.liquidate(alice, "WETH", "USDC", 0),
        lambda: bob.flash_loan("USDC", 0),
    ):
        assert "of 0 does nothing" in refused(market, action, ActionRefused)[0]
    for amount in (None, 5):
        assert "owes no WETH" in refused(market, lambda each=amount: alice.repay("WETH", each), ActionRefused)[0]
        assert "supplied no DAI" in refused(market, lambda each=amount: alice.withdraw("DAI", each), ActionRefused)[0]


def test_markets_accounts_and_reserves_show_what_they_are(market: AaveV3, alice: AaveAccount) -> None:
    pool = market.fork.labels["AaveV3.Pool"]
    assert repr(market) == f"<AaveV3 at {pool} on chain 1>"
    assert repr(SparkLend(market.fork)).startswith("<SparkLend at 0x")
    assert repr(alice) == "<AaveAccount 0xA11Ce00000000000000000000000000000000000 on Aave V3, chain 1>"
    shown = repr(market.reserve("USDC"))
    assert f"address={market.fork.labels['USDC']}, " in shown
    assert "b'" not in shown + repr(market.emodes())
    assert market.symbols[0] == market.reserves()[0].symbol


def test_who_can_be_liquidated_is_told_one_by_one_and_at_once(market: AaveV3, alice: AaveAccount) -> None:
    assert not alice.liquidatable
    move_price(market, "WETH", alice.liquidation_price_usd_e8("WETH") or 0)
    assert alice.liquidatable
    found = market.account_data([ALICE, BOB]).liquidatable
    assert found.dtype == bool
    assert found.tolist() == [True, False]  # without debt the health factor is the largest integer


def test_a_health_factor_of_zero_prints_as_zero(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    move_price(market, "WETH", 100 * 10**8)
    market.fork.deal("USDC", BOB, 10**10)
    bob.liquidate(alice, "WETH", "USDC")
    assert str(alice.health_factor) == "0"
    message, hint = refused(market, lambda: bob.liquidate(alice, "WETH", "USDC"))
    assert "46 COLLATERAL_CANNOT_BE_LIQUIDATED: the account does not use WETH as collateral" in message
    assert "bad debt" in hint


# -- one code, several causes ------------------------------------------------------------------------------------------


def test_the_three_causes_of_58_are_told_apart(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    message, hint = refused(market, lambda: alice.set_emode(77))
    assert message.endswith("58 INCONSISTENT_EMODE_CATEGORY: eMode category 77 does not exist")
    assert hint == "there are: 1 (ETH correlated)"
    message, hint = refused(market, lambda: alice.set_emode(1))
    assert message.endswith("the account owes USDC, outside eMode 1 (ETH correlated)")
    assert "repay that first" in hint
    give_and_supply(bob, "WETH", WAD)
    bob.set_emode(1)
    message, hint = refused(market, lambda: bob.borrow("USDC", 10**6))
    assert message.endswith("USDC is not in eMode 1 (ETH correlated), which the account has chosen")
    assert "wstETH" in hint
    assert "eMode 0" in hint


def test_isolated_collateral_is_enabled_by_hand_and_the_error_says_so(market: AaveV3, bob: AaveAccount) -> None:
    give_and_supply(bob, "CRV", 1_000 * WAD)
    message, hint = refused(market, lambda: bob.borrow("USDC", 10**6))
    assert "34 COLLATERAL_BALANCE_IS_ZERO: the account has supplied CRV, but uses nothing as collateral" in message
    assert hint == '`set_collateral("CRV")` makes it collateral'
    bob.set_collateral("CRV")
    message, hint = refused(market, lambda: bob.borrow("WETH", 1))
    assert "in isolation mode with CRV, where WETH cannot be borrowed" in message
    assert "USDC" in hint
    give_and_supply(bob, "WETH", WAD)
    message, _ = refused(market, lambda: bob.set_collateral("WETH"))
    assert "the account is in isolation mode with CRV" in message
    # More collateral would be wrong advice here.
    assert "set_collateral" not in refused(market, lambda: bob.borrow("USDC", 10**9))[1]
    govern(market, "setDebtCeiling(address,uint256)", market.address_of("CRV"), 12_345)
    message, hint = refused(market, lambda: bob.borrow("USDC", 124 * 10**6))
    assert "53 DEBT_CEILING_EXCEEDED: the debt ceiling of CRV" in message
    assert "room for 123.45 dollars" in hint


def test_isolated_collateral_beside_another_is_refused_with_the_other(market: AaveV3, alice: AaveAccount) -> None:
    give_and_supply(alice, "CRV", 1_000 * WAD)
    message, _ = refused(market, lambda: alice.set_collateral("CRV"))
    assert "CRV is isolated and has to be the only collateral, but the account uses WETH too" in message


def test_what_can_be_had_now_is_told_and_can_be_had(market: AaveV3, alice: AaveAccount) -> None:
    _, hint = refused(market, lambda: alice.borrow("USDC", 10**10))
    assert hint.startswith("at most 1,063.20")
    with market.fork.snapshot():
        alice.borrow("USDC", 1_063 * 10**6)
    _, hint = refused(market, lambda: alice.withdraw("WETH"))
    assert hint.startswith("at most 0.529")
    with market.fork.snapshot():
        alice.withdraw("WETH", 529 * WAD // 1_000)
    _, hint = refused(market, lambda: alice.withdraw("WETH", 2 * WAD))
    assert hint.startswith("there are 1 WETH")
    give_and_supply(alice, "DAI", 1_000 * WAD)
    alice.set_collateral("DAI", False)
    assert '`set_collateral("DAI")` would add DAI' in refused(market, lambda: alice.borrow("USDC", 10**10))[1]


def test_a_pool_without_cash_says_how_much_it_has(market: AaveV3, bob: AaveAccount) -> None:
    give_and_supply(bob, "WETH", 200_000 * WAD)
    there = market.token("USDC").text(market.reserve("USDC").available)
    govern(market, "setBorrowCap(address,uint256)", market.address_of("USDC"), 0)
    wanted = market.reserve("USDC").available + 1
    for action in (lambda: bob.borrow("USDC", wanted), lambda: bob.flash_loan("USDC", wanted)):
        assert f"the pool has {there}, the rest is lent out" in refused(market, action)[0]


# -- the balance hides nothing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("funds", [0, 10**10])
def test_with_or_without_money_the_real_reason_is_told(
    market: AaveV3, alice: AaveAccount, bob: AaveAccount, funds: int
) -> None:
    market.fork.deal("USDC", BOB, funds)
    message, hint = refused(market, lambda: bob.liquidate(alice, "WETH", "USDC"))
    assert "45 HEALTH_FACTOR_NOT_BELOW_THRESHOLD: health factor 2.1273: nothing to liquidate" in message
    assert hint == "its health factor has to fall below 1 first"
    assert "no debt: nothing to liquidate" in refused(market, lambda: bob.liquidate(CAROL, "WETH", "USDC"))[0]
    with market.fork.snapshot():
        govern(market, "setReserveFlashLoaning(address,bool)", market.address_of("USDC"), False)
        assert "91 FLASHLOAN_DISABLED" in refused(market, lambda: bob.flash_loan("USDC", 10**9))[0]
    with market.fork.snapshot():
        govern(market, "setReserveFreeze(address,bool)", market.address_of("USDC"), True)
        assert "28 RESERVE_FROZEN" in refused(market, lambda: bob.supply("USDC", 10**9))[0]
    with market.fork.snapshot():
        move_price(market, "WETH", alice.liquidation_price_usd_e8("WETH") or 0)
        message, hint = refused(market, lambda: bob.liquidate(alice, "WBTC", "USDC"))
        assert "the account does not use WBTC as collateral" in message
        assert hint == "it uses WETH"
        message, hint = refused(market, lambda: bob.liquidate(alice, "WETH", "DAI"))
        assert "the account owes no DAI" in message
        assert hint == "it owes USDC"
    govern(market, "setReservePause(address,bool)", market.address_of("USDC"), True)
    for action in (
        lambda: bob.flash_loan("USDC", 10**9),
        lambda: bob.supply("USDC", 10**9),
        lambda: bob.liquidate(alice, "WETH", "USDC"),
    ):
        assert "29 RESERVE_PAUSED" in refused(market, action)[0]


def test_a_liquidator_needs_what_would_be_taken_and_no_more(
    market: AaveV3, alice: AaveAccount, bob: AaveAccount
) -> None:
    move_price(market, "WETH", alice.liquidation_price_usd_e8("WETH") or 0)
    for cover in (None, 1_000 * 10**6):
        message, _ = refused(market, lambda each=cover: bob.liquidate(alice, "WETH", "USDC", each), InsufficientBalance)
        assert message.endswith("has 0 USDC, but 500 USDC are needed")
    market.fork.deal("USDC", BOB, 500 * 10**6)
    assert bob.liquidate(alice, "WETH", "USDC", 1_000 * 10**6).covered == 500 * 10**6
    assert Erc20(market.fork, "USDC").allowance(BOB, market.pool.address) == 0


def test_an_amount_beyond_everything_is_a_matter_of_balance(market: AaveV3, bob: AaveAccount) -> None:
    govern(market, "setSupplyCap(address,uint256)", market.address_of("WETH"), 0)
    refused(market, lambda: bob.supply("WETH", 2**255), InsufficientBalance)


# -- flash loans -------------------------------------------------------------------------------------------------------


def test_a_call_to_where_no_contract_stands_is_refused(market: AaveV3, bob: AaveAccount) -> None:
    market.fork.deal("USDC", BOB, 10**9)
    ping = Erc20(market.fork, "USDC").contract.approve.encode(BOB, 1)
    for data in (b"", ping):
        calls = [("USDC", ping), (CAROL, data)]
        message, _ = refused(market, lambda each=calls: bob.flash_loan("USDC", 10**9, each), NoCode)
        assert f"call 2 of the flash loan goes to {checksum(CAROL)}, where no contract stands" in message
    identity = (4).to_bytes(20, "big")
    assert bob.flash_loan("USDC", 10**9, [(identity, b"echo")]).premium == 500_000


@pytest.mark.parametrize("calls", [["foo"], "foo", [("USDC",)], ["ab"], [("USDC", b"", b"")], 5, [b"\0\0"]])
def test_calls_of_another_form_are_refused_with_the_form(market: AaveV3, bob: AaveAccount, calls: Any) -> None:
    _, hint = refused(market, lambda: bob.flash_loan("USDC", 10**9, calls), BadArgument)
    assert hint.startswith("calls are pairs of target and calldata")


def test_one_token_to_sweep_is_no_list(market: AaveV3, bob: AaveAccount) -> None:
    assert refused(market, lambda: bob.flash_loan("USDC", 1, sweep="USDC"), BadArgument)[1] == "give a list: ['USDC']"


@pytest.mark.parametrize("funds", [0, 1_000 * 10**6])
def test_what_is_missing_of_loan_and_premium_is_told(market: AaveV3, bob: AaveAccount, funds: int) -> None:
    market.fork.deal("USDC", BOB, funds)
    away = Erc20(market.fork, "USDC").contract.transfer.encode(CAROL, 10**6)
    message, hint = refused(market, lambda: bob.flash_loan("USDC", 10**9, [("USDC", away)]))
    left = "the calls left 999 USDC to pay back 1,000 USDC and the premium of 0.5 USDC: 1.5 USDC are missing"
    assert message.endswith(left)
    assert hint.endswith("1,000 USDC" if funds else "0 USDC")


def test_a_call_that_fails_is_named(market: AaveV3, bob: AaveAccount) -> None:
    token = Erc20(market.fork, "USDC").contract
    calls = [("USDC", token.approve.encode(CAROL, 1)), ("USDC", token.transfer.encode(CAROL, 10**15))]
    message, _ = refused(market, lambda: bob.flash_loan("USDC", 10**9, calls))
    assert message.endswith("call 2 of 2, to USDC, failed: transfer: amount exceeds balance")


# -- no price ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [0, -1])
def test_a_price_that_is_not_above_zero_is_named_wherever_it_is_needed(
    market: AaveV3, alice: AaveAccount, bob: AaveAccount, answer: int
) -> None:
    feed = PriceFeed(market.fork, "Chainlink.ETH/USD")
    feed.move(answer)
    for read in (
        alice.data,
        alice.position,
        lambda: alice.health_factor,
        lambda: alice.liquidatable,
        lambda: alice.liquidation_price_usd_e8("WETH"),
        lambda: market.account_data([BOB, ALICE]),
        lambda: market.reserve("WETH"),
        market.reserves,
        lambda: market.price_usd_e8("WETH"),
        lambda: alice.borrow("USDC", 1),
        lambda: bob.liquidate(alice, "WETH", "USDC"),
    ):
        message, hint = refused(market, read, ExecutionError)
        assert "the oracle has no price above zero for WETH (Chainlink.ETH/USD)" in message
        assert 'PriceFeed(fork, "Chainlink.ETH/USD").set_price(' in hint
    assert "wstETH" not in refused(market, alice.data)[0]
    assert bob.data().debt_usd_e8 == 0
    assert market.reserve("USDC").price_usd_e8 > 0
    feed.set_price("2000")
    assert alice.health_factor > 1
