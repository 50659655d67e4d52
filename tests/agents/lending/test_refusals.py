"""A market that refuses to open a position: the error names agent, account, asset, amount, cap and room."""

from __future__ import annotations

import re

import pytest

from mayavi.agents import BorrowerAgent, BorrowerPopulation
from mayavi.errors import CallReverted
from mayavi.protocols import AaveV3, CompoundV3
from tests.agents.stage import WETH, Stage, replica


def crowd(each: int, market: str, members: int = 3, **options: object) -> BorrowerPopulation:
    given = {"collateral": "WETH", "collateral_amount": each, "debt": "USDC", "target": 2.5, "market": market}
    return BorrowerPopulation("crowd", members=members, **{**given, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("market", ["AaveV3", "cUSDCv3"])
def test_a_supply_beyond_the_cap_names_agent_account_amount_cap_and_room(market: str) -> None:
    fork = replica()
    if market == "AaveV3":
        reserve = AaveV3(fork).reserve("WETH")
        cap, used = int(reserve.configuration.supply_cap or 0), reserve.supplied
    else:
        asset = CompoundV3(fork, market).asset("WETH")
        cap, used = asset.supply_cap, asset.supplied
    each = (cap - used) * 2 // 3 // WETH  # the second of three does not fit
    with pytest.raises(CallReverted, match=r"S(upplyCapExceeded\(\)|UPPLY_CAP_EXCEEDED)") as caught:
        Stage(fork, [crowd(each, market)])
    message, hint = caught.value.message, str(caught.value.hint)
    assert str(caught.value) == message
    assert message.startswith(f"agent 'crowd' cannot prepare: a supply of {each:,} WETH for crowd-1 reverted: ")
    assert f"{each:,} WETH do not fit under the supply cap of {cap // WETH:,} WETH, of which " in message
    room = re.search(r"there is room for ([\d,.]+) WETH now", hint)
    assert room is not None
    assert float(room[1].replace(",", "")) == pytest.approx((cap - used) / WETH - each, abs=0.01)
    assert hint.endswith(f"the 3 accounts supply {3 * each:,} WETH together")


def test_a_single_borrower_is_named_too() -> None:
    alone = BorrowerAgent("alice", collateral="WETH", collateral_amount=10**7 * WETH, debt="USDC", target=2)
    with pytest.raises(CallReverted) as caught:
        Stage(replica(), [alone])
    assert caught.value.message.startswith(
        "agent 'alice' cannot prepare: a supply of 10,000,000 WETH for alice reverted: 51 SUPPLY_CAP_EXCEEDED: "
    )
    assert "together" not in str(caught.value.hint)


def test_a_loan_that_the_pool_cannot_pay_names_agent_and_account() -> None:
    fork = replica()
    there = AaveV3(fork).reserve("USDC").available
    each = there // 10**6 // 1_500
    with pytest.raises(CallReverted, match="the rest is lent out") as caught:
        Stage(fork, [crowd(each, "AaveV3", target=1.2)])
    assert caught.value.message.startswith("agent 'crowd' cannot prepare: a loan of ")
    assert " USDC to crowd-" in caught.value.message
    assert str(caught.value.hint).endswith("smaller accounts and higher health factors borrow less")


def test_compound_says_how_much_a_single_supply_lacks() -> None:
    market = CompoundV3(replica(), "cUSDCv3")
    asset = market.asset("WETH")
    room = asset.supply_cap - asset.supplied
    alice = market.account("0x00000000000000000000000000000000000a11ce")
    market.fork.deal("WETH", alice.address, room + WETH)
    with pytest.raises(CallReverted, match="SupplyCapExceeded") as caught:
        alice.supply("WETH", room + WETH)
    assert f"{(room + WETH) // WETH:,} WETH do not fit under the supply cap of" in caught.value.message
    assert str(caught.value.hint).startswith(f"there is room for {room // WETH:,}")
