"""Dealing a token leaves it consistent: balance, supply, and nothing at all when it cannot be done."""

from __future__ import annotations

import pytest

from mayavi import Fork, ether
from mayavi.errors import BadInteger, StateError, UsageError
from mayavi.evm.fork.token_balance import balance_slot

ALICE = "0x00000000000000000000000000000000000a11ce"
TOKEN = ["balanceOf(address) view returns (uint256)", "totalSupply() view returns (uint256)"]


@pytest.fixture
def fork() -> Fork:
    return Fork.replica("ethereum")


@pytest.mark.parametrize("name", ["WETH", "USDC", "USDT", "DAI", "AAVE"])
def test_balance_and_supply_move_together(fork: Fork, name: str) -> None:
    token = fork.contract(name, TOKEN)
    supply = token.totalSupply()
    fork.deal(name, ALICE, 1_000)
    assert (token.balanceOf(ALICE), token.totalSupply()) == (1_000, supply + 1_000)
    fork.deal(name, ALICE, 10)
    assert (token.balanceOf(ALICE), token.totalSupply()) == (10, supply + 10)


def test_dealt_weth_is_backed_by_ether(fork: Fork) -> None:
    fork.deal("WETH", ALICE, ether(2))
    fork.contract("WETH", ["withdraw(uint256)"]).withdraw(ether(2), sender=ALICE)
    assert fork.balance(ALICE) == ether(2)


def test_the_native_coin_has_a_name_too(fork: Fork) -> None:
    fork.deal("ETH", ALICE, 7)
    assert fork.balance(ALICE) == 7


def test_what_cannot_be_dealt_changes_nothing(fork: Fork) -> None:
    before = fork.digest()
    with pytest.raises(BadInteger, match="would not fit into its total supply"):
        fork.deal("WETH", ALICE, 2**256 - 1)
    with pytest.raises(UsageError, match=r"AaveV3\.Pool is not a token"):
        fork.deal("AaveV3.Pool", ALICE, 1)
    with pytest.raises(BadInteger):
        fork.deal("WETH", ALICE, -1)
    assert fork.digest() == before


@pytest.mark.parametrize("name", ["WETH", "USDC", "USDT"])
def test_the_slot_of_a_balance_holds_it(fork: Fork, name: str) -> None:
    token, alice = fork.address_of(name), fork.address_of(ALICE)
    before = fork.digest()
    place = balance_slot(fork, token, alice)
    assert fork.digest() == before
    fork.deal(name, ALICE, 1_234)
    assert fork.storage(*place) == 1_234


def test_a_balance_that_bears_interest_has_no_slot(fork: Fork) -> None:
    with pytest.raises(StateError, match="not plain storage"):
        balance_slot(fork, fork.address_of("AaveV3.aWETH"), fork.address_of(ALICE))
