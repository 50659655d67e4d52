"""Markets and accounts of Morpho Blue: names, ids, actions and refusals."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi import Fork
from mayavi.errors import ActionRefused, BadArgument, CallReverted, InsufficientBalance, UnknownName
from mayavi.evm.address import ZERO_ADDRESS, to_address
from mayavi.evm.units import WAD
from mayavi.protocols import Erc20, MorphoBlue, add_morpho
from mayavi.protocols.morpho.creation import MARKETS, create_market, create_vault
from mayavi.protocols.morpho.market import MorphoMarket
from mayavi.worlds.tables.morpho import BLUE, ORACLES
from mayavi.worlds.tables.morpho_market import MarketName, MarketParameters
from tests.protocols.morpho.worlds import ALICE, BOB, CAROL, DAY, USDC, move_price, open_blue, pass_time
from tests.states import state_of

REAL_IDS = {
    "wstETH/USDC.86": "b323495f7e4148be5643a4ea4a8221eef163e4bccfdedc2a6f4696baacbc86cc",
    "WBTC/USDC.86": "3a85e619751152991742810df6ec69ce473daef99e28a64ab2340d7b7ccfee49",
}
"""Ids on Ethereum, as Morpho's own pages address these markets."""


@pytest.fixture
def market() -> MorphoMarket:
    """wstETH/USDC with a million of Alice's dollars; Bob has 10 wstETH as collateral and owes 18,000."""
    found = open_blue().market("wstETH/USDC.86")
    fork = found.fork
    fork.deal("USDC", ALICE, 2_000_000 * USDC)
    fork.deal("wstETH", BOB, 100 * WAD)
    fork.deal("USDC", CAROL, 1_000_000 * USDC)
    found.account(ALICE).supply(1_000_000 * USDC)
    found.account(BOB).supply_collateral(10 * WAD)
    found.account(BOB).borrow(18_000 * USDC)
    return found


def test_ids_are_those_of_ethereum() -> None:
    blue = open_blue()
    assert blue.address == to_address(BLUE)
    assert blue.markets == list(MARKETS)
    for name, identifier in REAL_IDS.items():
        assert blue.market(name).id.hex() == identifier
        by_id = blue.market(f"0x{identifier}")
        assert by_id == blue.market(name) == blue.market(by_id.parameters)
        assert by_id.name == name


def test_every_recorded_market_can_be_created() -> None:
    blue = open_blue()
    for name in ORACLES:
        market = blue.market(name) if name in blue.markets else create_market(blue.fork, name)
        assert market.name == name
        assert market.parameters.oracle == to_address(ORACLES[name])
        assert market.price > 0
    assert len(blue.markets) == len(ORACLES)


def test_a_market_of_another_lltv_is_created_by_the_owner_and_anybody() -> None:
    blue = open_blue()
    market = create_market(blue.fork, "DAI/USDC.90.25")
    assert market.lltv_wad == 9025 * 10**14
    assert market.name == "DAI/USDC.90.25"
    assert market.price == pytest.approx(Decimal(1), abs=Decimal("0.01"))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("0x" + "11" * 32, "Morpho has no market with the id 0x1111"),
        ("0x1234", "'0x1234' is not a market id"),
        (b"short", "is not a market id"),
        ("wstETH/USDC.87", "unknown Morpho market 'wstETH/USDC.87'"),
        (MarketParameters(bytes(20), bytes(20), bytes(20), bytes(20), 1), "no market has these parameters"),
    ],
)
def test_an_unknown_market_is_refused(wanted: str | bytes | MarketParameters, message: str) -> None:
    with pytest.raises((UnknownName, BadArgument)) as caught:
        open_blue().market(wanted)
    assert message in caught.value.message
    assert caught.value.hint


def test_wrong_parameters_are_refused_with_morphos_reason() -> None:
    blue = open_blue()
    known = blue.market("wstETH/USDC.86").parameters
    for wrong, reason in [
        (known._replace(lltv_wad=WAD // 3), "LLTV not enabled"),
        (known._replace(irm=bytes([7]) * 20), "IRM not enabled"),
        (known, "market already created"),
    ]:
        with pytest.raises(CallReverted, match=reason) as caught:
            blue.create_market(wrong, sender=ALICE)
        assert caught.value.hint
    for name in ("wstETH", "wstETH/USDC", "wstETH/USDC.x", "wstETH/USDC.860"):
        with pytest.raises(BadArgument, match="is not the name of a Morpho market"):
            create_market(blue.fork, name)
    with pytest.raises(BadArgument, match="already"):
        create_market(blue.fork, "wstETH/USDC.86")
    with pytest.raises(UnknownName):
        create_market(blue.fork, "nothing/USDC.86")


def test_names_are_parsed_and_written() -> None:
    assert MarketName.parse("sDAI/USDC.96.5") == ("sDAI", "USDC", 965 * 10**15)
    assert str(MarketName("sDAI", "USDC", 965 * 10**15)) == "sDAI/USDC.96.5"
    assert MarketName.parse("Blue") is None


def test_a_chain_without_morpho_says_how_to_put_it_there() -> None:
    fork = open_blue().fork.copy()
    fork.labels.clear()
    fork.set_code(BLUE, b"")
    with pytest.raises(UnknownName, match="there is no Morpho") as caught:
        MorphoBlue(fork)
    assert "add_morpho" in (caught.value.hint or "")


def test_a_loan_and_its_health(market: MorphoMarket) -> None:
    data, price = market.account(BOB).data(), market.price_e36
    value = 10 * WAD * price // 10**36
    assert (data.collateral, data.debt, data.collateral_value) == (10 * WAD, 18_000 * USDC, value)
    assert data.debt_limit == value * 86 // 100
    assert data.ltv_wad == 18_000 * USDC * WAD // value
    assert not data.liquidatable
    assert Erc20(market.fork, "USDC").balance_of(BOB) == 18_000 * USDC


def test_interest_accrues_to_suppliers(market: MorphoMarket) -> None:
    before = market.account(ALICE).supplied
    pass_time(market.fork, 30 * DAY)
    earned, owed = market.account(ALICE).supplied - before, market.account(BOB).debt - 18_000 * USDC
    assert 0 < owed - earned <= 2
    assert market.rates().supply_rate < market.rates().borrow_rate
    expected = market.state()
    market.accrue(sender=CAROL)
    assert market.stored_state() == expected


def test_a_debt_is_repaid_by_assets_by_shares_and_in_full(market: MorphoMarket) -> None:
    bob = market.account(BOB)
    pass_time(market.fork, DAY)
    bob.repay(1_000 * USDC)
    shares = bob.data().borrow_shares
    bob.repay(shares=shares // 2)
    assert bob.data().borrow_shares == shares - shares // 2
    market.fork.deal("USDC", BOB, 100_000 * USDC)
    bob.repay(50_000 * USDC)
    assert bob.data().borrow_shares == bob.debt == 0
    assert Erc20(market.fork, "USDC").allowance(BOB, market.blue.address) == 0
    bob.withdraw_collateral()
    assert bob.collateral == 0
    market.account(ALICE).withdraw()
    assert market.account(ALICE).data().supply_shares == 0
    with pytest.raises(ActionRefused, match="owes nothing"):
        bob.repay()


def test_refusals_name_the_market_and_the_figures(market: MorphoMarket) -> None:
    bob, alice = market.account(BOB), market.account(ALICE)
    before = state_of(market.fork)
    with pytest.raises(CallReverted, match=r"borrow in wstETH/USDC\.86 reverted: insufficient collateral") as caught:
        bob.borrow(20_000 * USDC)
    assert "its collateral carries 25,437.07467 USDC of debt" in (caught.value.hint or "")
    with pytest.raises(CallReverted, match="insufficient collateral"):
        bob.withdraw_collateral(9 * WAD)
    with pytest.raises(CallReverted, match="insufficient liquidity") as caught:
        alice.withdraw()
    assert "982,000 USDC" in (caught.value.hint or "")
    with pytest.raises(CallReverted, match="panic 0x11") as caught:
        alice.withdraw(5_000_000 * USDC)
    assert "more is taken" in (caught.value.hint or "")
    with pytest.raises(CallReverted, match="position is healthy") as caught:
        market.account(CAROL).liquidate(BOB)
    assert "86.00 % is allowed" in (caught.value.hint or "")
    with pytest.raises(InsufficientBalance):
        market.account(CAROL).supply_collateral(WAD)
    with pytest.raises(ActionRefused):
        bob.borrow(0)
    assert state_of(market.fork) == before


def test_the_liquidation_price_is_exact(market: MorphoMarket) -> None:
    bob = market.account(BOB)
    limit = bob.liquidation_price_e36()
    assert limit is not None
    for price, expected in ((limit, True), (limit + 1, False)):
        value = 10 * WAD * price // 10**36
        assert (value * 86 // 100 < bob.debt) is expected
    assert market.account(ALICE).liquidation_price_e36() is None


def test_a_liquidator_takes_collateral_for_the_debt_it_repays(market: MorphoMarket) -> None:
    move_price(market.fork, "wstETH", Decimal("0.65"))
    bob, carol = market.account(BOB), market.account(CAROL)
    assert bob.liquidatable
    shares = bob.data().borrow_shares
    done = carol.liquidate(BOB, repaid_shares=shares // 4)
    assert done.repaid == 4_500 * USDC
    assert done.seized == 4_500 * USDC * market.incentive_factor_wad // WAD * 10**36 // market.price_e36
    assert done.bad_debt == 0
    second = carol.liquidate(BOB, seized=WAD)
    assert second.seized == WAD
    assert Erc20(market.fork, "wstETH").balance_of(CAROL) == done.seized + WAD
    with pytest.raises(ActionRefused, match="is given seized collateral and repaid shares"):
        carol.liquidate(BOB, seized=1, repaid_shares=1)


def test_bad_debt_is_lost_by_the_suppliers(market: MorphoMarket) -> None:
    move_price(market.fork, "wstETH", Decimal("0.5"))
    before, price = market.state(), market.price_e36
    done = market.account(CAROL).liquidate(BOB)
    incentive = market.incentive_factor_wad
    worth = -(-10 * WAD * price // 10**36)
    assert done.seized == 10 * WAD
    assert done.repaid == pytest.approx(worth * WAD // incentive, abs=2)
    assert done.bad_debt == 18_000 * USDC - done.repaid
    after = market.state()
    assert after.borrow_assets == after.borrow_shares == 0
    assert after.supply_assets == before.supply_assets - done.bad_debt
    assert market.account(ALICE).supplied == pytest.approx(1_000_000 * USDC - done.bad_debt, abs=1)
    assert market.account(BOB).data().debt == 0


def test_incentives_follow_the_lltv() -> None:
    blue = open_blue()
    expected = {"wstETH/USDC.86": "1.0438", "sDAI/USDC.96.5": "1.0106"}
    for name, factor in expected.items():
        assert Decimal(blue.market(name).incentive_factor_wad) / WAD == pytest.approx(
            Decimal(factor), abs=Decimal("1e-4")
        )


def test_many_accounts_are_read_together(market: MorphoMarket) -> None:
    found = market.account_data([ALICE, BOB, CAROL])
    assert found.rows == tuple(market.account(each).data() for each in (ALICE, BOB, CAROL))
    assert found.debt_value_e8.ints() == [0, 18_000 * 10**8, 0]
    assert not found.liquidatable.any()
    assert len(market.account_data([])) == 0


def test_authorisations_let_another_account_act(market: MorphoMarket) -> None:
    blue = market.blue
    with pytest.raises(CallReverted, match="unauthorized"):
        blue.contract.borrow(market.parameters, USDC, 0, BOB, CAROL, sender=CAROL)
    blue.authorise(CAROL, sender=BOB)
    assert blue.is_authorised(BOB, CAROL)
    blue.contract.borrow(market.parameters, USDC, 0, BOB, CAROL, sender=CAROL)
    assert market.account(BOB).debt == 18_001 * USDC
    blue.authorise(CAROL, allowed=False, sender=BOB)
    assert not blue.is_authorised(BOB, CAROL)


def test_a_flash_loan_is_free_and_has_to_be_paid_back(market: MorphoMarket) -> None:
    blue, usdc = market.blue, Erc20(market.fork, "USDC")
    before = usdc.balance_of(CAROL)
    blue.flash_loan("USDC", 500_000 * USDC, [("USDC", usdc.contract.approve.encode(BOB, 1))], sender=CAROL)
    assert usdc.balance_of(CAROL) == before
    spent = [("USDC", usdc.contract.transfer.encode(ALICE, 300 * USDC))]
    blue.flash_loan("USDC", 500_000 * USDC, spent, sender=CAROL)
    assert usdc.balance_of(CAROL) == before - 300 * USDC
    state = state_of(market.fork)
    with pytest.raises(CallReverted, match="a flash loan of 500,000 USDC from Morpho"):
        blue.flash_loan("USDC", 500_000 * USDC, spent, sender=bytes([9]) * 20)
    assert state_of(market.fork) == state


def test_the_idle_market_has_no_interest() -> None:
    blue = open_blue()
    idle = blue.create_market(MarketParameters.idle(blue.fork.address_of("USDC")), sender=ALICE)
    blue.fork.deal("USDC", ALICE, USDC)
    idle.account(ALICE).supply(USDC)
    pass_time(blue.fork, DAY)
    assert idle.name == "USDC.idle"
    assert idle.parameters.oracle == ZERO_ADDRESS
    assert idle.account(ALICE).supplied == USDC
    assert idle.rates().borrow_per_second_wad == 0


@pytest.mark.parametrize("chain", ["base", "arbitrum"])
def test_morpho_can_be_put_on_another_chain(chain: str) -> None:
    fork = Fork.replica(chain).copy()
    market = create_market(fork, "WETH/USDC.86")
    fork.deal("USDC", ALICE, 10_000 * USDC)
    fork.deal("WETH", BOB, WAD)
    market.account(ALICE).supply(10_000 * USDC)
    market.account(BOB).supply_collateral(WAD)
    market.account(BOB).borrow(1_000 * USDC)
    vault = create_vault(fork, "vault", {"WETH/USDC.86": 10**6 * USDC})
    fork.deal("USDC", ALICE, 5_000 * USDC)
    vault.deposit(5_000 * USDC, sender=ALICE)
    assert market.account(BOB).debt == 1_000 * USDC
    assert vault.allocation() == {"WETH/USDC.86": 5_000 * USDC}


def test_a_chain_without_the_tokens_gets_no_half_of_morpho() -> None:
    fork = Fork.replica("base").copy()
    labels = set(fork.labels)
    with pytest.raises(UnknownName, match="need WBTC, sDAI, which base lacks") as caught:
        add_morpho(fork)
    assert "create_market" in str(caught.value.hint)
    assert set(fork.labels) == labels
