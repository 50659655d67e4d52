"""A borrower opens at a health factor, keeps its band, sells collateral without cash, and exits in a panic."""

from __future__ import annotations

import pytest

from mayavi.agents import BorrowerAgent, KeepsBand, Panics, Passive
from mayavi.agents.base import Agent, Intent, StepResult, World
from mayavi.agents.lending.borrower import OUTSIDE
from mayavi.agents.lending.open_market import lending_market
from mayavi.errors import BadArgument, UnknownName
from mayavi.evm.units import WAD
from mayavi.protocols import AaveV3, Erc20, PriceFeed
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.uniswap.route import RouteLike
from tests.agents.stage import DIRECT, ETH_FEED, MARKETS, WETH, Stage, details, of, replica

TARGET = 15 * WAD // 10


def borrower(**options: object) -> BorrowerAgent:
    given = {
        "collateral": "WETH",
        "collateral_amount": 10 * WETH,
        "debt": "USDC",
        "target": "1.5",
        "behaviour": KeepsBand("1.3", 2),
        "route": DIRECT,
    }
    return BorrowerAgent("alice", **{**given, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
def test_it_opens_at_its_target_keeps_its_band_and_tells_the_health_factor(
    chain: str, market: str, debt: str, route: RouteLike
) -> None:
    alice = borrower(market=market, debt=debt, route=route)
    stage = Stage(replica(chain), [alice])
    account = alice.loan.lending.account(alice.address)
    assert 0 <= account.health().health_factor_wad - TARGET < 10**9
    assert account.supplied("WETH") in (10 * WETH, 10 * WETH - 1)
    assert Erc20(stage.fork, debt).balance_of(alice.address) == account.debt(debt)

    row = of(stage.step(), "alice")
    assert row.kind == "rest"
    assert "health factor 1.5" in details(row)["note"]

    row = of(stage.after("-0.2"), "alice")
    facts = details(row)
    assert (row.kind, row.status) == ("repay", "success")
    assert facts["repaid"] == facts["amount"]
    assert facts["health_factor_wad"] < 1_300 * WAD // 1_000
    assert 0 <= facts["health_factor_after_wad"] - TARGET < 10**9
    # Time has passed since: interest, and nothing else, has moved it.
    assert facts["health_factor_after_wad"] >= account.health().health_factor_wad > TARGET - 10**12

    row = of(stage.after("0.5"), "alice")
    facts = details(row)
    assert (row.kind, row.status) == ("borrow", "success")
    assert facts["health_factor_wad"] > 2 * WAD
    assert abs(facts["health_factor_after_wad"] - TARGET) < 10**9


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
def test_without_cash_it_sells_collateral_and_comes_back_to_its_target(
    chain: str, market: str, debt: str, route: RouteLike
) -> None:
    alice = borrower(market=market, debt=debt, route=route, cash_share=0)
    stage = Stage(replica(chain), [alice])
    token = Erc20(stage.fork, debt)
    assert token.balance_of(alice.address) == 0
    assert token.balance_of(stage.world.address(OUTSIDE)) == alice.loan.lending.account(alice.address).debt(debt)
    before = alice.loan.lending.account(alice.address).supplied("WETH")
    row = of(stage.after("-0.2"), "alice")
    facts = details(row)
    assert (row.kind, row.status) == ("deleverage", "success")
    assert abs(facts["health_factor_after_wad"] - TARGET) < TARGET // 10_000
    after = alice.loan.lending.account(alice.address).supplied("WETH")
    assert before - after == pytest.approx(facts["sold"], rel=1e-6)  # interest of a block aside
    assert Erc20(stage.fork, "WETH").balance_of(alice.address) == 0


def test_cash_goes_first_and_the_rest_is_sold() -> None:
    alice = borrower(cash_share="0.1")
    stage = Stage(replica(), [alice])
    cash = Erc20(stage.fork, "USDC").balance_of(alice.address)
    row = of(stage.after("-0.2"), "alice")
    facts = details(row)
    assert facts["cash"] == cash
    assert facts["repaid"] > cash
    assert facts["sold"] > 0


def test_cash_of_its_own_comes_on_top_of_what_it_keeps_of_the_loan() -> None:
    alice = borrower(cash=5 * 10**6, cash_share="0.5")
    stage = Stage(replica(), [alice])
    loan = alice.loan.lending.account(alice.address).debt("USDC")
    kept = loan * 500_000 // 10**6
    assert Erc20(stage.fork, "USDC").balance_of(alice.address) == kept + 5 * 10**6
    assert Erc20(stage.fork, "USDC").balance_of(stage.world.address(OUTSIDE)) == loan - kept


def test_who_does_not_deleverage_pays_what_it_has_and_then_waits() -> None:
    alice = borrower(cash_share="0.05", behaviour=KeepsBand("1.3", 2, deleverages=False))
    stage = Stage(replica(), [alice])
    cash = Erc20(stage.fork, "USDC").balance_of(alice.address)
    row = of(stage.after("-0.2"), "alice")
    assert (row.kind, details(row)["repaid"]) == ("repay", cash)
    row = of(stage.step(), "alice")
    assert row.kind == "rest"
    assert "nothing to do it with" in details(row)["note"]


@pytest.mark.parametrize(("chain", "market", "debt", "route"), MARKETS)
@pytest.mark.parametrize("sells", [False, True])
def test_panic_repays_everything_and_leaves(chain: str, market: str, debt: str, route: RouteLike, sells: bool) -> None:
    alice = borrower(market=market, debt=debt, route=route, cash_share=0, behaviour=Panics(on_drop="0.1", sells=sells))
    stage = Stage(replica(chain), [alice])
    assert of(stage.after("-0.09"), "alice").kind == "rest"
    row = of(stage.after("-0.02"), "alice")
    facts = details(row)
    assert (row.kind, row.status, facts["debt_left"]) == ("exit", "success", 0)
    assert facts["health_factor_after_wad"] == NO_DEBT
    account = alice.loan.lending.account(alice.address)
    assert account.debt(debt) == account.supplied("WETH") == 0
    held = Erc20(stage.fork, "WETH").balance_of(alice.address)
    assert held == (0 if sells else facts["withdrawn"])
    assert facts["sold"] + (0 if sells else held) == pytest.approx(10 * WETH, rel=1e-8)  # and interest of a block
    if sells:
        assert Erc20(stage.fork, debt).balance_of(alice.address) >= facts["received"] > 0
    assert details(of(stage.step(), "alice"))["note"] == "no debt"


def test_a_borrower_that_was_liquidated_to_nothing_does_not_pay_for_it() -> None:
    alice = borrower()
    fork = replica()
    stage = Stage(fork, [alice])
    keeper = bytes([0xEE]) * 20
    fork.deal("USDC", keeper, 10**12)
    PriceFeed(fork, ETH_FEED).move_by("-0.6")
    AaveV3(fork).account(keeper).liquidate(alice.address, "WETH", "USDC")
    assert AaveV3(fork).account(alice.address).supplied("WETH") == 0
    row = of(stage.step(), "alice")
    assert row.kind == "rest"


def test_an_exit_that_is_impossible_fails_and_changes_nothing() -> None:
    alice = borrower(cash_share=0, behaviour=Panics(below="1.4"))
    stage = Stage(replica(), [alice])
    account = alice.loan.lending.account(alice.address)
    PriceFeed(stage.fork, ETH_FEED).move_by("-0.35")
    owed, supplied = account.debt("USDC"), account.supplied("WETH")
    row = of(stage.step(), "alice")
    assert (row.kind, row.status) == ("exit", "failed")
    assert "no WETH can be withdrawn at a health factor of 0.97" in row.reason
    assert account.debt("USDC") >= owed
    assert account.supplied("WETH") >= supplied
    # It does not try the same every step; when the price comes back it does.
    assert [(each.kind, each.status) for each in stage.steps(3)] == [("rest", "success")] * 3
    PriceFeed(stage.fork, ETH_FEED).move_by("0.1")
    row = of(stage.step(), "alice")
    assert (row.kind, row.status) == ("exit", "success")
    assert account.debt("USDC") == 0


def test_who_cannot_withdraw_still_repays_with_the_cash_there_is() -> None:
    alice = borrower(cash_share="0.01", behaviour=Panics(below="1.4"))
    stage = Stage(replica(), [alice])
    account = alice.loan.lending.account(alice.address)
    PriceFeed(stage.fork, ETH_FEED).move_by("-0.4")
    cash = alice.loan.cash(alice.address)
    row = of(stage.step(), "alice")
    assert (row.kind, row.status) == ("exit", "success")
    assert (details(row)["repaid"], details(row)["sold"]) == (cash, 0)
    assert account.debt("USDC") > 0


class _Seller(Agent):
    """Seller that drains the pool earlier in the same block."""

    def step(self, world: World, step_idx: int) -> StepResult:
        def run() -> None:
            world.fork.deal("WETH", world.address(self.name), 5_000 * WETH)
            from mayavi.protocols import UniswapV3

            UniswapV3(world.fork).swap_exact_input(DIRECT, 5_000 * WETH, sender=world.address(self.name))

        return StepResult((Intent("dump", run, priority_fee_wei=1),))


def test_what_others_do_in_the_same_block_is_reckoned_with_when_it_is_carried_out() -> None:
    alice = borrower(cash_share=0)
    stage = Stage(replica(), [alice, _Seller("seller")], ordering="priority_fee")
    rows = stage.after("-0.2")
    facts = details(of(rows, "alice"))
    assert [row.agent for row in rows] == ["seller", "alice"]
    assert abs(facts["health_factor_after_wad"] - TARGET) < TARGET // 10_000


def test_a_target_the_market_does_not_lend_at_becomes_the_lowest_it_does() -> None:
    alice = borrower(target="1.001", behaviour=Passive())
    stage = Stage(replica(), [alice])
    account = AaveV3(stage.fork).account(alice.address)
    data = account.data()
    assert data.available_usd_e8 < 10**4
    assert data.health_factor_wad == pytest.approx(8300 * WAD // 8050, rel=1e-9)


def test_unknown_names_and_impossible_numbers_are_refused() -> None:
    with pytest.raises(BadArgument, match="health factor of 1 is not a valid target"):
        borrower(target=1)
    with pytest.raises(UnknownName, match="DOGE"):
        Stage(replica(), [borrower(collateral="DOGE")])
    with pytest.raises(BadArgument, match="position needs WETH"):
        Stage(replica(), [borrower(collateral_amount=0)])
    with pytest.raises(BadArgument, match="share of cash of 2"):
        borrower(cash_share=2)


def test_the_worked_example_needs_no_behaviour() -> None:
    alice = BorrowerAgent("alice", collateral="WETH", collateral_amount=WETH, debt="USDC", target=1.5)
    stage = Stage(replica(), [alice])
    assert [row.kind for row in stage.steps(4)] == ["rest"] * 4
    market = lending_market(stage.fork, "AaveV3")
    assert market.account(alice.address).debt("USDC") > 1_400 * 10**6
