"""Tokens: checked before spending, approved exactly, restored on failure."""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.errors import (
    ActionRefused,
    BadInteger,
    CallReverted,
    InsufficientAllowance,
    InsufficientBalance,
    NoCode,
    StateError,
    UnknownName,
)
from mayavi.evm.sent import Sent
from mayavi.protocols.tokens import Erc20, require_balance, send_spending, send_spending_up_to, spending
from tests.states import state_of

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")


@pytest.fixture(scope="module")
def world() -> Fork:
    return Fork.replica("ethereum")


@pytest.fixture
def fork(world: Fork) -> Fork:
    return world.copy()


def test_a_token_knows_its_name_and_decimals(fork: Fork) -> None:
    usdc = Erc20(fork, "USDC")
    assert (usdc.symbol, usdc.decimals, usdc.text(1_700_250_000)) == ("USDC", 6, "1,700.25 USDC")
    assert usdc.address == fork.address_of("USDC")


def test_the_contract_of_a_token_has_the_standard_s_name_and_symbol(fork: Fork) -> None:
    weth = Erc20(fork, "WETH")
    assert (weth.contract.name(), weth.contract.symbol()) == ("Wrapped Ether", "WETH")
    assert fork.contract("WETH", ["name() view returns (string)"]).name() == "Wrapped Ether"


def test_a_token_without_a_label_is_called_by_its_own_symbol(fork: Fork) -> None:
    address = fork.address_of("USDC")
    del fork.labels["USDC"]
    assert Erc20(fork, address).symbol == "USDC"


@pytest.mark.parametrize("output", ["", "4d4b5200"], ids=["nothing", "bytes32"])
def test_a_symbol_that_is_no_text_is_read_as_far_as_it_goes(fork: Fork, output: str) -> None:
    address = bytes.fromhex("00000000000000000000000000000000000c0de0")
    word = output.ljust(64, "0")
    fork.set_code(address, bytes.fromhex("7f" + word + "60005260206000f3"))
    assert Erc20(fork, address).symbol == ("MKR" if output else "0x00000000000000000000000000000000000c0De0")


def test_what_is_missing_is_told_with_token_and_both_amounts(fork: Fork) -> None:
    fork.deal("USDC", ALICE, 1_500_000)
    with pytest.raises(InsufficientBalance) as caught:
        require_balance(fork, "USDC", ALICE, 2_000_000)
    assert str(caught.value) == f"{fork.name(ALICE)} has 1.5 USDC, but 2 USDC are needed"
    assert caught.value.hint == '`fork.deal("USDC", holder, 2000000)` gives an account exactly so much'


def test_an_allowance_that_is_missing_is_told_with_token_and_both_amounts(fork: Fork) -> None:
    usdc = Erc20(fork, "USDC")
    fork.deal("USDC", ALICE, 5_000_000)
    usdc.approve(BOB, 1_000_000, sender=ALICE)
    with pytest.raises(InsufficientAllowance, match=r"may take 1 USDC from 0x.*, but 2 USDC are needed"):
        usdc.transfer_from(ALICE, BOB, 2_000_000, sender=BOB)
    usdc.transfer_from(ALICE, BOB, 1_000_000, sender=BOB)
    usdc.transfer(ALICE, 400_000, sender=BOB)
    assert (usdc.balance_of(ALICE), usdc.balance_of(BOB)) == (4_400_000, 600_000)


@pytest.mark.parametrize("symbol", ["USDC", "USDT", "WETH"])
def test_an_allowance_is_changed_whatever_the_token_asks_for(fork: Fork, symbol: str) -> None:
    token = Erc20(fork, symbol)
    for amount in (5, 7, 7, 0, 2**256 - 1):
        token.approve(BOB, amount, sender=ALICE)
        assert token.allowance(ALICE, BOB) == amount


def test_spending_approves_what_is_needed_and_takes_back_the_rest(fork: Fork) -> None:
    fork.deal("USDT", ALICE, 100)
    usdt = Erc20(fork, "USDT")
    usdt.approve(BOB, 3, sender=ALICE)
    with spending(fork, "USDT", BOB, 60, ALICE):
        assert usdt.allowance(ALICE, BOB) == 60
        usdt.transfer_from(ALICE, BOB, 20, sender=BOB)
    assert (usdt.allowance(ALICE, BOB), usdt.balance_of(BOB)) == (0, 20)


def test_spending_leaves_an_allowance_that_reaches_alone(fork: Fork) -> None:
    fork.deal("USDC", ALICE, 100)
    usdc = Erc20(fork, "USDC")
    usdc.approve(BOB, 90, sender=ALICE)
    with spending(fork, "USDC", BOB, 60, ALICE):
        usdc.transfer_from(ALICE, BOB, 60, sender=BOB)
    assert usdc.allowance(ALICE, BOB) == 30


def supply(fork: Fork, amount: int, taken: int) -> bool:
    """Supply `taken` with `amount` approved, in one go; whether that was possible."""
    pool = fork.contract("AaveV3.Pool", ["supply(address,uint256,address,uint16)"])
    usdc = fork.address_of("USDC")
    data = pool.supply.encode(usdc, taken, ALICE, 0)
    return send_spending(fork, usdc, amount, pool.address, data, ALICE) is not None


def test_approval_and_transaction_in_one_go_are_those_of_spending(fork: Fork) -> None:
    other, seen, expected = fork.copy(), list[Sent](), list[Sent]()
    for each, sent in ((fork, seen), (other, expected)):
        each.deal("USDC", ALICE, 100)
        each.watch(sent.append)
    pool = other.contract("AaveV3.Pool", ["supply(address,uint256,address,uint16)"])
    assert supply(fork, 60, 60)
    with spending(other, "USDC", pool.address, 60, ALICE):
        pool.supply(other.address_of("USDC"), 60, ALICE, 0, sender=ALICE)
    assert seen == expected
    assert len(seen) == 2
    assert state_of(fork) == state_of(other)


@pytest.mark.parametrize(
    ("held", "approved", "amount", "taken"),
    [(59, 0, 60, 60), (100, 1, 60, 60), (100, 0, 60, 20), (100, 0, 60, 61), (100, 0, 0, 0), (100, 0, 2**256, 60)],
    ids=["too-little", "approved-before", "approved-after", "refused", "nothing", "no-word"],
)
def test_what_needs_more_steps_is_left_to_spending(
    fork: Fork, held: int, approved: int, amount: int, taken: int
) -> None:
    fork.deal("USDC", ALICE, held)
    Erc20(fork, "USDC").approve("AaveV3.Pool", approved, sender=ALICE)
    before = state_of(fork)
    assert not supply(fork, amount, taken)
    assert state_of(fork) == before


def test_what_is_not_taken_in_one_go_is_revoked_as_by_spending(fork: Fork) -> None:
    other, seen, expected = fork.copy(), list[Sent](), list[Sent]()
    for each, sent in ((fork, seen), (other, expected)):
        each.deal("USDC", ALICE, 100)
        each.watch(sent.append)
    pool, usdc = other.contract("AaveV3.Pool", ["supply(address,uint256,address,uint16)"]), fork.address_of("USDC")
    data = pool.supply.encode(usdc, 20, ALICE, 0)
    assert send_spending_up_to(fork, usdc, 60, pool.address, data, ALICE) is not None
    with spending(other, "USDC", pool.address, 60, ALICE):
        pool.supply(usdc, 20, ALICE, 0, sender=ALICE)
    assert (len(seen), Erc20(fork, usdc).allowance(ALICE, pool.address)) == (3, 0)
    assert seen == expected
    assert state_of(fork) == state_of(other)


def test_more_than_the_balance_is_not_spent_in_one_go_even_if_less_is_taken(fork: Fork) -> None:
    fork.deal("USDC", ALICE, 59)
    before = state_of(fork)
    pool, usdc = fork.contract("AaveV3.Pool", ["supply(address,uint256,address,uint16)"]), fork.address_of("USDC")
    data = pool.supply.encode(usdc, 20, ALICE, 0)
    assert send_spending_up_to(fork, usdc, 60, pool.address, data, ALICE) is None
    assert state_of(fork) == before


def test_what_fails_inside_leaves_no_trace(fork: Fork) -> None:
    fork.deal("USDC", ALICE, 100)
    before = fork.digest()
    pool = fork.contract("AaveV3.Pool", ["supply(address,uint256,address,uint16)"])
    with pytest.raises(CallReverted), spending(fork, "USDC", "AaveV3.Pool", 60, ALICE):
        pool.supply(fork.address_of("USDC"), 0, ALICE, 0, sender=ALICE)
    assert fork.digest() == before


def test_amounts_are_integers(fork: Fork) -> None:
    with pytest.raises(BadInteger, match="not an integer"):
        Erc20(fork, "USDC").approve(BOB, 1.5, sender=ALICE)  # type: ignore[arg-type]


def test_a_token_that_returns_false_is_an_error(fork: Fork) -> None:
    address = bytes.fromhex("00000000000000000000000000000000000c0de1")
    fork.set_code(address, bytes.fromhex("60006000526020" + "6000f3"))
    with pytest.raises(ActionRefused, match=r"transfer of 0x.* returned false"):
        Erc20(fork, address).transfer(BOB, 0, sender=ALICE)


def test_nobody_is_no_token_and_an_unknown_name_offers_near_ones(fork: Fork) -> None:
    with pytest.raises(NoCode, match="no contract stands there"):
        Erc20(fork, BOB).balance_of(ALICE)
    with pytest.raises(UnknownName) as caught:
        Erc20(fork, "WETHH")
    assert "'WETH'" in str(caught.value.hint)


@pytest.mark.parametrize("token", ["AaveV3.aWETH", "AaveV3.variableDebtWETH", "AaveV3.aAAVE", "CompoundV3.cUSDCv3"])
def test_a_balance_that_bears_interest_is_never_dealt_even_while_none_has_accrued(token: str) -> None:
    fork = Fork.replica("ethereum")
    before = fork.digest()
    with pytest.raises(StateError, match="not plain storage"):
        fork.deal(token, "0x" + "a1" * 20, 10**18)
    assert fork.digest() == before


def test_a_star_import_brings_every_adapter() -> None:
    names: dict[str, object] = {}
    exec("from mayavi.protocols import *", names)
    assert {"AaveV3", "SparkLend", "CompoundV3", "CurveStableSwap", "UniswapV3", "PriceFeed"} <= set(names)
