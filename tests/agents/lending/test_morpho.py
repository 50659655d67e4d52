"""Morpho markets through the common interface: health, loans, quotes and liquidations with bad debt."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.agents.lending.morpho import MorphoLending
from mayavi.agents.lending.open_market import lending_market
from mayavi.errors import BadArgument, CallReverted, StateError, UnknownName
from mayavi.evm.units import WAD
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.morpho.creation import create_market
from tests.protocols.morpho.worlds import ALICE, BOB, CAROL, DAVE, USDC, move_price, open_blue, pass_time

NAME = "Morpho.wstETH/USDC.86"


def opened(factors: dict[bytes, int]) -> MorphoLending:
    """A market with a million dollars of Dave's; accounts with 10 wstETH at health factors in thousandths."""
    lending = lending_market(open_blue().fork, NAME)
    assert isinstance(lending, MorphoLending)
    fork = lending.fork
    fork.deal("USDC", DAVE, 10**6 * USDC)
    lending.market.account(DAVE).supply(10**6 * USDC)
    pass_time(fork, 777)
    for holder, factor in factors.items():
        fork.deal("wstETH", holder, 10 * WAD)
        account = lending.account(holder)
        account.supply("wstETH", 10 * WAD)
        account.borrow("USDC", lending.loan_of("USDC", account.health().debt_value_at(factor * WAD // 1_000)))
    return lending


def test_many_accounts_read_at_once_are_what_each_says_alone() -> None:
    lending = opened({ALICE: 1_200, BOB: 1_700})
    pass_time(lending.fork, 10**6)
    read = lending.healths([ALICE, BOB, CAROL])
    assert [read[row] for row in range(3)] == [lending.account(each).health() for each in (ALICE, BOB, CAROL)]
    assert read[2].health_factor_wad == NO_DEBT
    assert lending.account(ALICE).supplied("wstETH") == 10 * WAD
    assert lending.account(ALICE).supplied("USDC") == lending.account(CAROL).debt("USDC") == 0


@pytest.mark.parametrize("factor", [1_001, 1_150, 3_333])
def test_a_loan_leaves_the_health_factor(factor: int) -> None:
    lending = opened({BOB: 1_500, ALICE: factor})
    account = lending.account(ALICE)
    assert account.health().health_factor_wad >= factor * WAD // 1_000
    account.borrow("USDC", 3) if factor > 1_001 else None
    assert account.health().health_factor_wad == pytest.approx(factor * WAD // 1_000, rel=1e-6)


@pytest.mark.parametrize("fall", ["0.9", "0.8", "0.5"])
@pytest.mark.parametrize("funds", [None, 3_000 * USDC])
def test_a_quote_is_what_the_contract_does(fall: str, funds: int | None) -> None:
    lending = opened({ALICE: 1_010})
    pass_time(lending.fork, 12)
    move_price(lending.fork, "wstETH", Decimal(fall))
    lending.fork.deal("USDC", CAROL, 10**6 * USDC)
    limits = None if funds is None else {"USDC": funds}
    (quote,) = lending.quote_liquidations([ALICE], [0], ["wstETH"], ["USDC"], limits)
    debt = lending.account(ALICE).debt("USDC")
    done = lending.liquidate(CAROL, quote)
    assert (done.covered, done.paid, done.seized) == (quote.cover, quote.pays, quote.seized)
    assert funds is None or quote.pays <= funds
    if funds is None and quote.seized == 10 * WAD:
        assert done.bad_debt == pytest.approx(debt - quote.cover, abs=1)
        assert lending.account(ALICE).health().debt_value_e8 == 0
    else:
        assert done.bad_debt == 0


def test_the_second_liquidator_hears_that_the_position_is_healthy() -> None:
    lending = opened({ALICE: 1_010})
    move_price(lending.fork, "wstETH", Decimal("0.5"))
    lending.fork.deal("USDC", CAROL, 10**6 * USDC)
    (quote,) = lending.quote_liquidations([ALICE], [0], ["wstETH"], ["USDC"])
    lending.liquidate(CAROL, quote)
    with pytest.raises(CallReverted, match="position is healthy"):
        lending.liquidate(CAROL, quote)
    assert lending.quote_liquidations([ALICE], [0], ["wstETH"], ["USDC"]) == []
    assert lending.quote_liquidations([], [], ["wstETH"], ["USDC"]) == []


def test_collateral_is_supplied_for_many() -> None:
    lending = opened({})
    lending.fork.deal("wstETH", DAVE, 10 * WAD)
    lending.supply_for("wstETH", [WAD, 2 * WAD], [ALICE, BOB], DAVE)
    assert [lending.account(each).supplied("wstETH") for each in (ALICE, BOB)] == [WAD, 2 * WAD]


def test_other_assets_and_markets_are_refused() -> None:
    lending = opened({})
    for act in (
        lambda: lending.account(ALICE).supply("WBTC", 1),
        lambda: lending.account(ALICE).borrow("wstETH", 1),
        lambda: lending.price_e8("WBTC"),
    ):
        with pytest.raises(BadArgument, match=r"wstETH/USDC\.86 (takes as collateral|lends)"):
            act()
    with pytest.raises(UnknownName, match="unknown Morpho market"):
        lending_market(lending.fork, "Morpho.wstETH/USDC.87")
    with pytest.raises(UnknownName) as caught:
        lending_market(lending.fork, "Morfo")
    assert NAME in (caught.value.hint or "")
    bitcoin = create_market(lending.fork, "wstETH/WBTC.86")
    with pytest.raises(StateError, match="lends WBTC, whose value in dollars"):
        MorphoLending(bitcoin)


def test_markets_that_lend_wrapped_ether_count_in_it() -> None:
    market = create_market(open_blue().fork, "wstETH/WETH.94.5")
    lending = MorphoLending(market)
    assert lending.quote == "ETH"
    assert lending.price_e8("WETH") == 10**8
    assert lending.price_e8("wstETH") == pytest.approx(1.15 * 10**8, rel=0.02)
    assert lending.decimals("wstETH") == lending.decimals("WETH") == 18
