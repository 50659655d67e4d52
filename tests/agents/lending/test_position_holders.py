"""Accounts with given positions: opened to the unit, above the market's limit too, and acting with several assets."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mayavi.agents import KeepsBand, LiquidatorAgent, MixedBorrowers, OpeningPosition, Panics, PositionHolders
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD
from mayavi.protocols import AaveV3, CompoundV3, Erc20, PriceFeed, SparkLend
from tests.agents.stage import DIRECT, OVER_USDC, WETH, Stage, details, of, replica

USDC, DAI = 10**6, 10**18
ROUTES = {
    ("WETH", "USDC"): DIRECT,
    ("WETH", "DAI"): OVER_USDC,
    ("WBTC", "USDC"): ("WBTC", 3000, "WETH", 500, "USDC"),
}
MIXED = OpeningPosition(
    "carol", {"WETH": 20 * WETH, "WBTC": 10**8}, {"USDC": 30_000 * USDC, "DAI": 20_000 * DAI}, lines={"WETH": 4}
)


def held(market: AaveV3, address: bytes, assets: Mapping[str, int]) -> dict[str, int]:
    account = market.account(address)
    return {asset: account.supplied(asset) for asset in assets}


def owed(market: AaveV3, address: bytes, assets: Mapping[str, int]) -> dict[str, int]:
    account = market.account(address)
    return {asset: account.debt(asset) for asset in assets}


@pytest.mark.parametrize("kind", [AaveV3, SparkLend])
def test_positions_are_opened_to_the_unit_with_their_mode(kind: type[AaveV3]) -> None:
    positions = [
        OpeningPosition("alice", {"WETH": 10 * WETH}, {"DAI": 15_000 * DAI}),
        OpeningPosition("bob", {"wstETH": 50 * WETH}, {"WETH": 48 * WETH}, emode=1),
        OpeningPosition("carol", {"WETH": 3 * WETH, "wstETH": WETH}, {"DAI": 1_000 * DAI, "WETH": WETH // 2}),
        OpeningPosition("dave", {"WETH": WETH}, {}),
    ]
    book = PositionHolders("book", positions=positions, market=kind.prefix)
    market = kind(Stage(replica(), [book]).fork)
    assert book.accounts == ("book-alice", "book-bob", "book-carol", "book-dave")
    for address, position in zip(book.addresses, positions, strict=True):
        for asset, amount in held(market, address, position.collateral).items():
            assert abs(amount - position.collateral[asset]) <= 1  # Aave stores shares, rounded
        for asset, amount in owed(market, address, position.debt).items():
            assert abs(amount - position.debt[asset]) <= 1
            assert Erc20(market.fork, asset).balance_of(address) == 0  # spent
        assert market.account(address).emode == position.emode
    assert book.beyond_limit == []


@pytest.mark.parametrize(("chain", "market"), [("ethereum", "AaveV3"), ("polygon", "AaveV3"), ("ethereum", "Spark")])
def test_debts_above_the_limit_are_opened_and_every_price_is_as_before(chain: str, market: str) -> None:
    fork = replica(chain)
    opened = (SparkLend if market == "Spark" else AaveV3)(fork)
    price, own = opened.price_usd_e8("WETH"), opened.reserve("WETH").configuration
    share = (own.ltv_bps + own.liquidation_threshold_bps) // 2  # above the loan to value, healthy
    debt = price * share // 10_000 * DAI // opened.price_usd_e8("DAI")
    position = OpeningPosition("high", {"WETH": WETH}, {"DAI": debt})
    with pytest.raises(BadArgument, match=r"account 'high' cannot borrow .* DAI: 36 COLLATERAL_CANNOT_COVER"):
        Stage(fork.copy(), [PositionHolders("book", positions=[position], market=market)])
    prices = {asset: opened.price_usd_e8(asset) for asset in opened.symbols}
    book = PositionHolders("book", positions=[position], market=market, opens_beyond_limit=True)
    Stage(fork, [book])
    assert book.beyond_limit == list(book.addresses)
    assert {asset: opened.price_usd_e8(asset) for asset in opened.symbols} == prices
    data = opened.account(book.addresses[0]).data()
    assert data.available_usd_e8 == 0
    expected = own.liquidation_threshold_bps * WAD // share
    assert abs(data.health_factor_wad - expected) < expected // 10_000


def test_unhealthy_accounts_are_refused_with_a_list_or_opened() -> None:
    positions = [
        OpeningPosition("well", {"WETH": 10 * WETH}, {"USDC": 10_000 * USDC}),
        OpeningPosition("ill", {"WETH": WETH}, {"USDC": 2_300 * USDC}),
        OpeningPosition("lost", {"WETH": WETH}, {"USDC": 4_000 * USDC}),
    ]
    refused = PositionHolders("book", positions=positions, opens_beyond_limit=True, source="'book.csv'")
    message = r"'book.csv': 2 of 3 accounts start with a health factor below 1: 'ill' 0.9249, 'lost' 0.5318\n"
    with pytest.raises(BadArgument, match=message) as caught:
        Stage(replica(), [refused])
    assert "`allow_unhealthy: true` accepts them" in str(caught.value.hint)
    book = PositionHolders("book", positions=positions, allow_unhealthy=True)
    bot = LiquidatorAgent(
        "bot",
        watch=book.accounts,
        collaterals=["WETH"],
        debts=["USDC"],
        routes={"WETH": DIRECT},
        capital={"USDC": 10**12},
    )
    stage = Stage(replica(), [book, bot])
    market = AaveV3(stage.fork)
    assert [market.account(each).liquidatable for each in book.addresses] == [False, True, True]
    assert market.account(book.addresses[2]).debt("USDC") in (4_000 * USDC, 4_000 * USDC + 1)
    taken = {details(row)["borrower"] for row in stage.step() if row.kind == "liquidate" and row.status == "success"}
    assert taken == {"book-ill", "book-lost"}


def test_many_unhealthy_accounts_are_counted_beyond_the_list() -> None:
    positions = [OpeningPosition(f"n{number}", {"WETH": WETH}, {"USDC": 2_300 * USDC}) for number in range(23)]
    with pytest.raises(BadArgument, match=r"23 of 23 accounts .* and 3 more"):
        Stage(replica(), [PositionHolders("book", positions=positions, opens_beyond_limit=True)])


def test_on_compound_the_base_feed_answers_as_before_and_the_account_can_be_absorbed() -> None:
    fork = replica()
    market = CompoundV3(fork)
    feed = PriceFeed(fork, market.contract.baseTokenPriceFeed())
    answer = feed.answer
    positions = [
        OpeningPosition("well", {"WETH": 10 * WETH, "WBTC": 10**8}, {"USDC": 20_000 * USDC}),
        OpeningPosition("ill", {"WETH": WETH}, {"USDC": 2_500 * USDC}),
    ]
    book = PositionHolders("book", positions=positions, market="cUSDCv3", allow_unhealthy=True)
    Stage(fork, [book])
    assert feed.answer == answer
    first, second = (market.account(each) for each in book.addresses)
    assert (first.collateral("WETH"), first.collateral("WBTC")) == (10 * WETH, 10**8)
    assert abs(first.debt - 20_000 * USDC) <= 1
    assert (first.liquidatable, second.liquidatable) == (False, True)
    assert book.beyond_limit == [second.address]


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (
            OpeningPosition("a", {"WETH": 10**25}, {}, source="'b.csv'", lines={"WETH": 7}),
            r"'b.csv', line 7: account 'a' cannot supply 10,000,000 WETH: 51 SUPPLY_CAP_EXCEEDED",
        ),
        (
            OpeningPosition("a", {"WETH": WETH}, {"USDC": 10**16}),
            r"account 'a' cannot borrow 10,000,000,000 USDC: 50 BORROW_CAP_EXCEEDED",
        ),
        (
            OpeningPosition("a", {"WETH": WETH}, {"USDC": USDC}, emode=1),
            r"account 'a' cannot borrow 1 USDC: 58 INCONSISTENT_EMODE_CATEGORY",
        ),
        (
            OpeningPosition("a", {"WETH": WETH, "CRV": WETH}, {}),
            r"cannot use WETH as collateral: 62 USER_IN_ISOLATION_MODE_OR_LTV_ZERO: .*isolation mode with CRV",
        ),
        (OpeningPosition("a", {"USDC": 1_000 * USDC}, {"USDC": 990 * USDC}), r"cannot borrow 990 USDC: 36 COLLATERAL"),
    ],
)
def test_what_the_market_refuses_names_the_account_and_the_amount(position: OpeningPosition, message: str) -> None:
    with pytest.raises(BadArgument, match=message) as caught:
        Stage(replica(), [PositionHolders("book", positions=[position], allow_unhealthy=True)])
    if "CAP_EXCEEDED" in message:
        assert "there is room for" in str(caught.value.hint)
        assert "`parameters` can raise the cap" in str(caught.value.hint)


def test_isolated_collateral_alone_is_enabled() -> None:
    position = OpeningPosition("a", {"CRV": 10_000 * WETH}, {"USDC": 100 * USDC})
    book = PositionHolders("book", positions=[position])
    market = AaveV3(Stage(replica(), [book]).fork)
    assert market.account(book.addresses[0]).data().collateral_usd_e8 > 0


# -- behaviours -------------------------------------------------------------------------------------------------------


def test_a_band_repays_the_largest_debt_from_cash_and_no_more_than_needed() -> None:
    book = PositionHolders("book", positions=[MIXED], behaviours=[(KeepsBand("1.4"), 1)], routes=ROUTES, cash_share=1)
    stage = Stage(replica(), [book])
    market = AaveV3(stage.fork)
    start = market.account(book.addresses[0]).data().health_factor_wad
    row = of(stage.after("-0.20"), "book")
    facts = details(row)
    assert (row.kind, row.status, row.account) == ("repay", "success", "book-carol")
    assert "repaid_DAI" not in facts
    assert 0 < facts["repaid_USDC"] < 30_000 * USDC
    assert 0 <= facts["health_factor_after_wad"] - start < start // 1_000
    assert owed(market, book.addresses[0], {"DAI": 0})["DAI"] >= 20_000 * DAI


def test_a_band_without_cash_sells_its_most_valuable_collateral() -> None:
    book = PositionHolders("book", positions=[MIXED], behaviours=[(KeepsBand("1.46", "3"), 1)], routes=ROUTES)
    stage = Stage(replica(), [book])
    assert of(stage.after("-0.05"), "book").kind == "rest"
    facts = details(row := of(stage.after("-0.03"), "book"))
    assert (row.kind, row.status) == ("deleverage", "success")
    assert facts["sold_WETH"] > 0
    assert "sold_WBTC" not in facts
    assert facts["repaid_USDC"] > 0
    target = facts["health_factor_after_wad"]
    assert target > facts["health_factor_wad"]
    assert abs(target - book.targets_wad[0]) < book.targets_wad[0] // 500


def test_a_band_borrows_more_of_every_debt_in_proportion() -> None:
    book = PositionHolders("book", positions=[MIXED], behaviours=[(KeepsBand("1.1", "1.3"), 1)], routes=ROUTES)
    stage = Stage(replica(), [book])
    facts = details(row := of(stage.after("0.30"), "book"))
    assert (row.kind, row.status) == ("borrow", "success")
    ratio = facts["borrowed_USDC"] * 10**12 / facts["borrowed_DAI"]
    assert ratio == pytest.approx(1.5, rel=1e-3)
    assert facts["health_factor_after_wad"] >= 13 * WAD // 10
    assert facts["health_factor_after_wad"] < 14 * WAD // 10


def test_panic_ends_with_no_debt_and_no_collateral() -> None:
    book = PositionHolders(
        "book",
        positions=[MIXED],
        behaviours=[(Panics(below="1.2", sells=True), 1)],
        routes={**ROUTES, ("WBTC", "DAI"): ("WBTC", 3000, "WETH", 500, "USDC", 100, "DAI")},
    )
    stage = Stage(replica(), [book])
    assert of(stage.after("-0.10"), "book").kind == "rest"
    row = of(stage.after("-0.40"), "book")
    facts, market = details(row), AaveV3(stage.fork)
    assert (row.kind, row.status) == ("exit", "success")
    assert owed(market, book.addresses[0], MIXED.debt) == {"USDC": 0, "DAI": 0}
    assert held(market, book.addresses[0], MIXED.collateral) == {"WETH": 0, "WBTC": 0}
    assert {"repaid_USDC", "repaid_DAI", "sold_WETH"} <= set(facts)


def test_an_account_that_can_neither_pay_nor_sell_is_tried_once() -> None:
    book = PositionHolders("book", positions=[MIXED], behaviours=[(KeepsBand("1.1"), 1)], routes=ROUTES)
    stage = Stage(replica(), [book])
    first = of(stage.after("-0.65"), "book")
    assert (first.kind, first.status) == ("deleverage", "failed")
    assert of(stage.step(), "book").kind == "rest"


def test_a_fall_of_the_whole_basket_can_be_the_reason_to_leave() -> None:
    book = PositionHolders(
        "book", positions=[MIXED], behaviours=[(Panics(on_drop="0.05"), 1)], routes=ROUTES, cash_share=1
    )
    stage = Stage(replica(), [book])
    value = 20 * 2562.92
    basket = value / (value + 42_808)  # share of WETH; WBTC does not move
    assert of(stage.after("-0.05"), "book").kind == "rest"  # times the share, less than 5 %
    assert 0.05 * basket < 0.05 < 0.0975 * basket
    assert of(stage.after("-0.05"), "book").kind == "exit"


# -- borrowers with a mix ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "market", "debt"),
    [
        ("ethereum", "AaveV3", {"USDC": "0.7", "DAI": "0.3"}),
        ("ethereum", "Spark", {"DAI": 1}),
        ("polygon", "AaveV3", {"USDT": "0.5", "DAI": "0.5"}),
        ("ethereum", "cUSDCv3", {"USDC": 1}),
    ],
)
def test_a_mix_has_its_shares_and_its_health_factor(chain: str, market: str, debt: dict[str, str]) -> None:
    collateral = {"WETH": "0.6", ("wstETH" if market == "Spark" else "WBTC"): "0.4"}
    crowd = MixedBorrowers("crowd", members=5, collateral=collateral, debt=debt, size=25_000, target=1.4, market=market)
    Stage(replica(chain), [crowd])
    lending = crowd.loan.lending
    for row, (address, position) in enumerate(zip(crowd.addresses, crowd.positions, strict=True)):
        account = lending.account(address)
        for asset, share in collateral.items():
            value = crowd.loan.value_e8(asset, account.supplied(asset))
            assert value / 10**8 == pytest.approx(25_000 * float(share), rel=1e-6)
        values = {asset: crowd.loan.value_e8(asset, account.debt(asset)) for asset in debt}
        for asset, share in debt.items():
            assert values[asset] / sum(values.values()) == pytest.approx(float(share), rel=1e-6)
        factor = lending.healths(crowd.addresses)[row].health_factor_wad
        assert 0 <= factor - 14 * WAD // 10 < 10**13
        assert set(position.debt) == set(debt)


def test_a_mix_beyond_the_limit_starts_there_and_says_so() -> None:
    crowd = MixedBorrowers(
        "crowd", members=2, collateral={"WETH": "0.5", "WBTC": "0.5"}, debt={"USDC": 1}, size=10_000, target=1.001
    )
    Stage(replica(), [crowd])
    assert len(crowd.loan.at_limit) == 2
    factor = crowd.loan.lending.healths(crowd.addresses)[0].health_factor_wad
    assert abs(factor - crowd.loan.at_limit[crowd.addresses[0]]) < 10**13
    assert factor > WAD


def test_a_mode_raises_what_a_mix_can_borrow() -> None:
    fork = replica()
    options = {"collateral": {"wstETH": 1}, "debt": {"WETH": 1}, "size": 10_000, "target": 1.05}
    inside = MixedBorrowers("inside", members=1, emode=1, **options)  # type: ignore[arg-type]
    outside = MixedBorrowers("outside", members=1, **options)  # type: ignore[arg-type]
    Stage(fork, [inside, outside])
    assert not inside.loan.at_limit
    assert inside.positions[0].debt["WETH"] > outside.positions[0].debt["WETH"]


def test_members_do_not_depend_on_their_number() -> None:
    from mayavi.markets.distributions import LogNormal, Uniform

    def crowd(members: int) -> MixedBorrowers:
        made = MixedBorrowers(
            "crowd",
            members=members,
            collateral={"WETH": "0.5", "WBTC": "0.5"},
            debt={"USDC": 1},
            size=LogNormal(20_000, 1),
            target=Uniform(1.2, 2),
        )
        Stage(replica(), [made], seed=3)
        return made

    few, many = crowd(3), crowd(6)
    assert few.positions == many.positions[:3]
    with pytest.raises(BadArgument, match=r"draws a target of 0\.9000"):
        Stage(
            replica(),
            [MixedBorrowers("x", members=1, collateral={"WETH": 1}, debt={"USDC": 1}, size=1_000, target=0.9)],
        )
