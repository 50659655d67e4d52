"""What Aave V3.6 has and V3.0 has not: deficits, virtual balances, eMode bitmaps, position managers, errors."""

from __future__ import annotations

import re

import pytest

from mayavi import Fork
from mayavi.agents.lending.aave import AaveLending
from mayavi.errors import ActionRefused, BadArgument, CallReverted
from mayavi.evm.abi.interface import Error
from mayavi.evm.abi.reverts import decode_revert
from mayavi.protocols import AaveAccount, AaveConfigurator, AaveV3, Erc20, SparkLend
from mayavi.protocols.aave.reserve import Configuration
from mayavi.protocols.aave.rules.generation import Generation
from mayavi.worlds.aave_v36 import source_packages
from tests.protocols.aave.market_v36 import TREASURY, UMBRELLA, USD, market_v36_fork
from tests.protocols.aave.reference import ALICE, BOB, CAROL, WAD, give_and_supply, move_price

USDC = 10**6


@pytest.fixture
def market() -> AaveV3:
    """Open the market with a lender of every asset, and a debt in every reserve."""
    found = AaveV3(market_v36_fork())
    lender = found.account(CAROL)
    for symbol, amount in (("WETH", 5_000), ("USDC", 10**7), ("wstETH", 5_000), ("GHO", 10**6)):
        give_and_supply(lender, symbol, amount * 10 ** found.token(symbol).decimals)
    for symbol, amount in (("WETH", 1_000), ("USDC", 2 * 10**6), ("GHO", 10**5)):
        lender.borrow(symbol, amount * 10 ** found.token(symbol).decimals)
    found.fork.mine(1, 30 * 86_400)
    return found


@pytest.fixture
def alice(market: AaveV3) -> AaveAccount:
    """Alice with 10 WETH that owes 18,000 USDC."""
    found = market.account(ALICE)
    give_and_supply(found, "WETH", 10 * WAD)
    found.borrow("USDC", 18_000 * USDC)
    return found


@pytest.fixture
def bob(market: AaveV3) -> AaveAccount:
    market.fork.deal("USDC", BOB, 10**6 * USDC)
    return market.account(BOB)


def test_the_revision_says_which_generation(market: AaveV3) -> None:
    assert (market.generation.version, market.generation.revision) == ("3.6", 10)
    older = AaveV3(Fork.replica("ethereum"))
    assert (older.generation.version, older.deficit("WETH"), older.deficits()) == ("3.0", None, {})
    assert older.reserve("WETH").deficit is None
    assert SparkLend(older.fork).generation.version == "3.0"
    assert [Generation(each).version for each in (2, 4, 5, 6, 7, 8, 9, 11, 12)] == [
        *("3.0", "3.1", "3.2", "3.2", "3.3", "3.4", "3.5", "3.7", "3.7+"),
    ]


@pytest.mark.parametrize(
    ("feature", "since"),
    [("virtual_balance", 4), ("emode_bitmaps", 5), ("deficits", 7), ("position_managers", 8), ("ltvzero_bitmaps", 10)],
)
def test_what_a_version_brought_later_revisions_have(feature: str, since: int) -> None:
    assert [revision for revision in range(1, 13) if getattr(Generation(revision), feature)] == list(range(since, 13))


def test_small_debts_close_at_once_since_v33() -> None:
    assert [revision for revision in range(1, 13) if Generation(revision).rules.by_value] == list(range(7, 13))


def test_what_v37_dropped_is_absent() -> None:
    word = 8_000 | 1 << 61 | 1 << 62 | 5 << 168 | 1_000 << 212
    kept, dropped = Configuration.of(word, Generation(10)), Configuration.of(word, Generation(11))
    assert (kept.siloed, kept.borrowable_in_isolation, kept.debt_ceiling_usd_e2, kept.isolated) == (
        *(True, True, 1_000, True),
    )
    assert (dropped.siloed, dropped.borrowable_in_isolation, dropped.debt_ceiling_usd_e2, dropped.isolated) == (
        *(False, False, None, False),
    )
    assert (Configuration.of(word, Generation(1)).emode, kept.emode) == (5, 0)


def test_tokens_sent_to_the_pool_are_no_liquidity(market: AaveV3) -> None:
    before = market.reserve("USDC")
    market.fork.deal("USDC", BOB, 10**6 * USDC)
    market.token("USDC").transfer(before.a_token, 10**6 * USDC, sender=BOB)
    assert market.reserve("USDC").available == before.available
    assert Erc20(market.fork, "USDC").balance_of(before.a_token) == before.available + 10**6 * USDC


def test_modes_list_collateral_and_debts_apart(market: AaveV3) -> None:
    first, second = market.emodes()
    assert (first.assets, first.borrowable, first.ltvzero) == (("WETH", "wstETH"), ("WETH",), ("WETH",))
    assert (second.label, second.assets, second.borrowable) == ("wstETH stablecoins", ("wstETH",), ("USDC", "GHO"))
    assert [market.borrowing_power_bps("WETH", mode) for mode in (0, 1, 2)] == [8_000, 0, 8_000]
    AaveConfigurator(market).set_emode(2, {"ltv_bps": 7_950})
    assert market.emode(2).ltv_bps == 7_950


def test_debt_without_collateral_is_a_deficit_until_it_is_covered(
    market: AaveV3, alice: AaveAccount, bob: AaveAccount
) -> None:
    alice.borrow("GHO", 500 * WAD)
    move_price(market, "WETH", 1_000 * USD)
    owed, other = alice.debt("USDC"), alice.debt("GHO")
    done = bob.liquidate(alice, "WETH", "USDC")
    assert done.covered < owed
    assert market.deficits() == {"USDC": owed - done.covered, "GHO": other}
    assert (alice.debt("USDC"), alice.debt("GHO"), alice.health_factor) == (0, 0, alice.health_factor)
    created = market.pool.events(done.receipt, "DeficitCreated")
    assert {each.args.amount for each in created} == {owed - done.covered, other}
    umbrella = market.account(UMBRELLA)
    assert market.umbrella == UMBRELLA
    with pytest.raises(CallReverted, match="CallerNotUmbrella"):
        bob.eliminate_deficit("USDC", 1)
    give_and_supply(umbrella, "USDC", 10**5 * USDC)
    held = umbrella.supplied("USDC")
    umbrella.eliminate_deficit("USDC", 1_000 * USDC)
    assert market.deficit("USDC") == owed - done.covered - 1_000 * USDC
    umbrella.eliminate_deficit("USDC")
    assert market.deficits() == {"GHO": other}
    assert abs(held - umbrella.supplied("USDC") - (owed - done.covered)) <= 2
    with pytest.raises(ActionRefused, match="USDC has no deficit"):
        umbrella.eliminate_deficit("USDC")


def test_a_position_manager_chooses_collateral_and_mode(market: AaveV3, bob: AaveAccount) -> None:
    alice = market.account(ALICE)
    give_and_supply(alice, "wstETH", WAD)
    with pytest.raises(CallReverted, match="CallerNotPositionManager"):
        bob.set_emode_of(alice, 2)
    alice.approve_position_manager(bob)
    assert bob.is_position_manager_of(alice)
    bob.set_emode_of(alice, 2)
    bob.set_collateral_of(alice, "wstETH", False)
    assert (alice.emode, alice.data().collateral_usd_e8) == (2, 0)
    alice.approve_position_manager(bob, False)
    assert not bob.is_position_manager_of(alice)


def test_a_multicall_is_one_transaction_or_none(market: AaveV3) -> None:
    alice, pool = market.account(ALICE), market.pool
    give_and_supply(alice, "wstETH", 10 * WAD)
    loan = pool.borrow.encode(market.address_of("USDC"), 100 * USDC, 2, 0, ALICE)
    alice.multicall([pool.setUserEMode.encode(2), loan])
    assert (alice.emode, alice.debt("USDC")) == (2, 100 * USDC + 1)
    before = market.fork.digest()
    with pytest.raises(CallReverted, match="InvalidDebtInEmode"):
        alice.multicall([loan, pool.setUserEMode.encode(1)])
    assert market.fork.digest() == before
    with pytest.raises(BadArgument, match="not a list of calldata"):
        alice.multicall(loan)


def test_older_pools_refuse_by_version() -> None:
    older = AaveV3(Fork.replica("ethereum")).account(ALICE)
    for act in (
        lambda: older.eliminate_deficit("USDC"),
        lambda: older.approve_position_manager(BOB),
        lambda: older.multicall([b"1234"]),
    ):
        with pytest.raises(BadArgument, match=r"its code is of version 3\.0"):
            act()
    assert not older.is_position_manager_of(BOB)


def test_the_premium_of_a_flash_loan_goes_to_the_treasury(market: AaveV3, bob: AaveAccount) -> None:
    assert market.flash_loan_premiums == (5, 10_000)
    market.account(CAROL).repay("USDC", 1 * USDC)  # the reserve is up to date
    before, index = market.reserve("USDC"), market.reserve("USDC").normalised_income_ray
    loan = bob.flash_loan("USDC", 10**5 * USDC)
    after = market.reserve("USDC")
    assert loan.premium == 50 * USDC
    assert after.accrued_to_treasury_scaled - before.accrued_to_treasury_scaled == loan.premium * 10**27 // index
    assert (after.supplied, after.available) == (before.supplied, before.available + loan.premium)
    assert Erc20(market.fork, after.a_token).balance_of(TREASURY) == 0


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda alice, _: alice.borrow("USDC", 10**8 * USDC), r"InvalidAmount\(\): 100,000,000 USDC are more than all"),
        (lambda alice, _: alice.borrow("USDC", 9 * 10**6 * USDC), r"the pool has 7,98\d,\d+.*, the rest is lent out"),
        (
            lambda alice, _: alice.market.pool.supply(alice.market.address_of("WETH"), 0, ALICE, 0, sender=ALICE),
            "above",
        ),
        (lambda alice, _: (alice.borrow("WETH", 9**9), alice.set_emode(2)), "the account owes WETH, outside eMode 2"),
        (lambda alice, _: alice.set_emode(1), r"InvalidCollateralInEmode\(.*: the account uses WETH as collateral"),
        (lambda alice, _: alice.borrow("WETH", 100 * WAD), r"health factor would be below 1"),
        (lambda alice, _: alice.set_emode(77), r"InconsistentEModeCategory\(\): eMode category 77 does not exist"),
        (lambda alice, bob: bob.liquidate(alice, "WETH", "USDC"), r"health factor 1\.\d+: nothing to liquidate"),
        (lambda alice, _: alice.liquidate(alice, "WETH", "USDC"), r"SelfLiquidation\(\)"),
    ],
)
def test_refusals_say_what_happened(act: object, words: str, alice: AaveAccount, bob: AaveAccount) -> None:
    with pytest.raises(CallReverted, match=words):
        act(alice, bob)  # type: ignore[operator]


def test_dust_is_refused_with_amounts_that_would_do(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    move_price(market, "WETH", 2_000 * USD)  # far below 1: all of the debt may be repaid
    with pytest.raises(CallReverted, match=r"MustNotLeaveDust\(\): repaying 17,500 USDC would leave less") as caught:
        bob.liquidate(alice, "WETH", "USDC", 17_500 * USDC)
    hint = str(caught.value.hint)
    whole, part = (int(each.replace(",", "").replace(".", "")) for each in re.findall(r"([\d,.]+) USDC", hint))
    assert whole == alice.debt("USDC")
    with market.fork.snapshot():
        assert bob.liquidate(alice, "WETH", "USDC", part).covered == part
    with pytest.raises(CallReverted, match="MustNotLeaveDust"):
        bob.liquidate(alice, "WETH", "USDC", part + 1)
    assert bob.liquidate(alice, "WETH", "USDC", whole).covered == whole


@pytest.mark.parametrize("funds", [2_000, 9_000, 17_200, 17_500, 30_000])
def test_liquidators_choose_amounts_that_the_pool_accepts(
    market: AaveV3, alice: AaveAccount, bob: AaveAccount, funds: int
) -> None:
    lending = AaveLending(market)
    for price in (2_150, 2_000, 1_500):
        with market.fork.snapshot():
            move_price(market, "WETH", price * USD)
            factor = alice.data().health_factor_wad
            (quote,) = lending.quote_liquidations([ALICE], [factor], ["WETH"], ["USDC"], {"USDC": funds * USDC})
            done = lending.liquidate(BOB, quote)
            assert (done.paid, done.seized) == (quote.pays, quote.seized)


def test_every_error_of_the_code_has_words() -> None:
    path = source_packages().root / "node_modules" / "@aave-dao/aave-v3-origin/src/contracts/protocol/libraries/helpers"
    texts = re.findall(r"^  error (\w+\([^)]*\));", (path / "Errors.sol").read_text(), re.MULTILINE)
    assert len(texts) == 92
    for text in texts:
        error = Error.parse(text)
        reason = decode_revert(error.selector + bytes(32 * text.count(" ")))
        assert reason.name == text.partition("(")[0]
        assert ": " in reason.message, text
