"""What is refused, by name and with nothing changed, on every chain's replica."""

from __future__ import annotations

import pytest

from mayavi import Fork, checksum
from mayavi.errors import (
    ActionRefused,
    BadAddress,
    BadInteger,
    CallReverted,
    InsufficientBalance,
    NoCode,
    UnknownName,
)
from mayavi.evm.sent import Sent
from mayavi.protocols import AaveAccount, AaveV3
from tests.protocols.aave.reference import (
    ALICE,
    BOB,
    CAROL,
    WAD,
    later,
    named,
)


def test_what_fails_leaves_everything_as_it_was(borrower: AaveAccount) -> None:
    market, fork = borrower.market, borrower.market.fork
    fork.deal("WETH", ALICE, WAD)
    before = fork.digest()
    # V3.6 looks at the health factor first.
    first = "35 HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD: the account's health"
    refused = first if later(market) else "36 COLLATERAL_CANNOT_COVER_NEW_BORROW: the debt would exceed"
    with pytest.raises(CallReverted, match=named(refused)) as caught:
        borrower.borrow("USDC", 100_000 * 10**6)
    assert str(caught.value.hint).endswith("USDC more can be borrowed now; borrow less or supply more")
    with pytest.raises(
        CallReverted, match=named("35 HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD: the account's health")
    ):
        borrower.withdraw("WETH")
    with pytest.raises(CallReverted, match=named("43 UNDERLYING_BALANCE_ZERO")):
        borrower.set_collateral("USDC")
    with pytest.raises(CallReverted, match=named("32 NOT_ENOUGH_AVAILABLE_USER_BALANCE")):
        borrower.withdraw("WETH", 5 * WAD)
    with pytest.raises(CallReverted, match=named("45 HEALTH_FACTOR_NOT_BELOW_THRESHOLD")):
        market.account(BOB).liquidate(borrower, "WETH", "WETH")
    assert fork.digest() == before


def test_where_nothing_is_supplied_no_withdrawal_is_sent(alice: AaveAccount) -> None:
    sent: list[Sent] = []
    stop = alice.market.fork.watch(sent.append)
    with pytest.raises(ActionRefused, match="has supplied no WETH: there is nothing to withdraw"):
        alice.withdraw("WETH")
    stop()
    assert not sent


def test_too_little_of_a_token_is_told_with_both_amounts(borrower: AaveAccount) -> None:
    fork, who = borrower.market.fork, borrower.market.fork.name(ALICE)
    fork.deal("USDC", ALICE, 1_250_000)
    before = fork.digest()
    with pytest.raises(InsufficientBalance) as caught:
        borrower.repay("USDC", 2_000_000)
    assert str(caught.value) == f"{who} has 1.25 USDC, but 2 USDC are needed"
    with pytest.raises(InsufficientBalance, match=r"has 0 WETH, but 2 WETH are needed"):
        borrower.supply("WETH", 2 * WAD)
    assert fork.digest() == before


def test_an_unknown_asset_offers_the_near_ones_of_this_market(market: AaveV3, alice: AaveAccount) -> None:
    with pytest.raises(UnknownName, match="unknown asset of Aave V3 'WETHH'") as caught:
        alice.supply("WETHH", 1)
    assert "did you mean 'WETH'" in str(caught.value.hint)
    for stranger in ("AaveV3.Pool", "AaveV3.aUSDC", BOB):
        with pytest.raises(UnknownName, match="unknown asset of Aave V3") as caught:
            market.reserve(stranger)
        assert "there are: " in str(caught.value.hint)
        assert "AaveV3." not in str(caught.value.hint)


def test_an_asset_without_a_label_is_found_by_the_symbol_it_gives_itself(market: AaveV3) -> None:
    usdc = market.fork.labels.pop("USDC")
    assert market.address_of("USDC") == market.address_of(usdc)
    assert market.reserve("USDC").symbol == "USDC"


def test_a_market_that_is_not_there_is_refused(fork: Fork) -> None:
    fork.labels["AaveV3.Pool"] = checksum(CAROL)
    with pytest.raises(NoCode, match=r"no contract stands at AaveV3\.Pool"):
        AaveV3(fork)
    del fork.labels["AaveV3.Pool"]
    with pytest.raises(UnknownName, match=f"no Aave V3 market is known on chain {fork.chain_id}"):
        AaveV3(fork)


def test_arguments_are_checked_before_anything_is_sent(market: AaveV3, alice: AaveAccount) -> None:
    with pytest.raises(BadInteger, match="not an integer"):
        alice.supply("WETH", 1.5)  # type: ignore[arg-type]
    with pytest.raises(BadInteger):
        alice.borrow("USDC", -1)
    with pytest.raises(BadAddress):
        market.account("0x1234")
    with pytest.raises(UnknownName):
        market.account("nobody")
