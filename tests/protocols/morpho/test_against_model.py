"""Thousands of random operations on Morpho's bytecode and on an independent model: equal to the unit after each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from mayavi import Fork
from mayavi.errors import CallReverted
from mayavi.evm.address import to_address
from mayavi.protocols import Erc20, PriceFeed
from mayavi.protocols.dollar_feed import dollar_feed
from mayavi.protocols.morpho.creation import create_market
from mayavi.protocols.morpho.market import MorphoMarket
from mayavi.worlds.tables.morpho import OWNER
from tests.protocols.morpho.model import CurveRate, Market, RefusedError, power
from tests.protocols.morpho.worlds import open_blue

USERS = [bytes([number]) * 20 for number in (0x11, 0x22, 0x33, 0x44, 0x55)]
LIQUIDATOR, RECIPIENT = bytes([0x99]) * 20, bytes([0xFE]) * 20
MARKETS = ["wstETH/USDC.86", "WBTC/USDC.86", "sDAI/USDC.96.5", "wstETH/WETH.94.5"]
OPERATIONS = 3_000


class Pair:
    """A market of the contract and its model, driven together."""

    def __init__(self, name: str, seed: int) -> None:
        self.rng = random.Random(f"{name} {seed}")
        blue = open_blue()
        self.fork: Fork = blue.fork
        self.market: MorphoMarket = blue.market(name) if name in blue.markets else create_market(self.fork, name)
        self.blue, self.contract = blue, blue.contract
        collateral = name.partition("/")[0]
        self.feed = PriceFeed(self.fork, dollar_feed(self.fork, collateral))
        self.first_answer = self.feed.answer
        owner = to_address(OWNER)
        self.model = Market(self.market.lltv_wad, self.fork.timestamp, self.market.price_e36)
        if seed % 2:
            self.contract.setFeeRecipient(RECIPIENT, sender=owner)
            self.contract.setFee(self.market.parameters, 10**17, sender=owner)
            self.model.fee, self.model.fee_recipient = 10**17, RECIPIENT
        for user in (*USERS, LIQUIDATOR):
            for token in (self.market.loan, self.market.collateral):
                self.fork.deal(token.address, user, 10**15 * 10**token.decimals)
                token.approve(blue.address, 2**255, sender=user)
        self.counts: Counter[str] = Counter()
        self.unit = int(10**self.market.loan.decimals)

    def amount(self) -> int:
        """An amount of the loan token, from a single unit to millions."""
        return max(1, int(self.unit * 10 ** self.rng.uniform(-6, 6)))

    def collateral_for(self, value: int) -> int:
        return max(1, value * 10**36 // max(1, self.model.price))

    # -- operations ---------------------------------------------------------------------------------------------------

    def both(self, kind: str, act: Callable[[], object], expect: Callable[[], object]) -> None:
        """Do one operation on both sides, and compare what they return or why they refuse."""
        before = self.model.copied()
        try:
            expected: object = expect()
        except RefusedError as refusal:
            self.model = before
            with pytest.raises(CallReverted, match=str(refusal)):
                act()
            self.counts[f"{kind}: {refusal}"] += 1
            return
        assert act() == expected, kind
        self.counts[kind] += 1

    def pair_of(self, function: str, *arguments: object, sender: bytes) -> tuple[int, int]:
        receipt = self.contract[function](self.market.parameters, *arguments, sender=sender)
        return int.from_bytes(receipt.output[:32]), int.from_bytes(receipt.output[32:64])

    def lend(self, user: bytes) -> None:
        assets, shares = (self.amount(), 0) if self.rng.random() < 0.7 else (0, self.amount() * 10**6)
        self.both(
            "supply",
            lambda: self.pair_of("supply", assets, shares, user, b"", sender=user),
            lambda: self.model.supply(user, assets, shares),
        )

    def take_back(self, user: bytes) -> None:
        owned = self.model.of(user).supply_shares
        assets, shares = (self.amount(), 0) if self.rng.random() < 0.5 else (0, self.part(owned))
        self.both(
            "withdraw",
            lambda: self.pair_of("withdraw", assets, shares, user, user, sender=user),
            lambda: self.model.withdraw(user, assets, shares),
        )

    def borrow(self, user: bytes) -> None:
        position = self.model.of(user)
        limit = position.collateral * self.model.price // 10**36 * self.model.lltv // 10**18
        free = max(1, limit - self.model.owed(user))
        assets, shares = (self.part(free), 0) if self.rng.random() < 0.8 else (0, self.part(free) * 10**6)
        self.both(
            "borrow",
            lambda: self.pair_of("borrow", assets, shares, user, user, sender=user),
            lambda: self.model.borrow(user, assets, shares),
        )

    def repay(self, user: bytes) -> None:
        owes = self.model.of(user).borrow_shares
        assets, shares = (self.part(self.model.owed(user)), 0) if self.rng.random() < 0.6 else (0, self.part(owes))
        self.both(
            "repay",
            lambda: self.pair_of("repay", assets, shares, user, b"", sender=user),
            lambda: self.model.repay(user, assets, shares),
        )

    def put_up(self, user: bytes) -> None:
        amount = self.collateral_for(self.amount())
        self.both(
            "supply collateral",
            lambda: self.send("supplyCollateral", amount, user, b"", sender=user),
            lambda: self.model.supply_collateral(user, amount),
        )

    def take_out(self, user: bytes) -> None:
        amount = self.part(self.model.of(user).collateral)
        self.both(
            "withdraw collateral",
            lambda: self.send("withdrawCollateral", amount, user, user, sender=user),
            lambda: self.model.withdraw_collateral(user, amount),
        )

    def liquidate(self, user: bytes) -> None:
        position = self.model.of(user)
        seized, shares = (
            (0, self.part(position.borrow_shares))
            if self.rng.random() < 0.5
            else (
                position.collateral if self.rng.random() < 0.5 else self.part(position.collateral),
                0,
            )
        )
        if not seized and not shares:
            return
        self.both(
            "liquidate",
            lambda: self.pair_of("liquidate", user, seized, shares, b"", sender=LIQUIDATOR),
            lambda: self.model.liquidate(user, seized, shares),
        )

    def wait(self, user: bytes) -> None:
        del user
        seconds = int(10 ** self.rng.uniform(0, 6.5))
        self.model.now += seconds
        self.fork.set_block(timestamp=self.model.now)
        self.counts["time"] += 1

    def move_price(self, user: bytes) -> None:
        del user
        answer = max(1, int(self.first_answer * self.rng.uniform(0.4, 1.3)))
        self.feed.move(answer)
        self.model.price = self.market.price_e36
        self.counts["price"] += 1

    def accrue(self, user: bytes) -> None:
        self.both("accrue", lambda: self.send("accrueInterest", sender=user), lambda: self.model.accrue())

    def send(self, function: str, *arguments: object, sender: bytes) -> None:
        self.contract[function](self.market.parameters, *arguments, sender=sender)

    def part(self, whole: int) -> int:
        """A part of an amount, sometimes a little more than all of it."""
        return max(1, int(whole * self.rng.choice([0.01, 0.2, 0.5, 0.9, 1.0, 1.0, 1.1])))

    # -- comparison ---------------------------------------------------------------------------------------------------

    def compare(self) -> None:
        model, market = self.model, self.market
        stored = market.stored_state()
        totals = model.supplied, model.supply_shares, model.borrowed, model.borrow_shares, model.updated, model.fee
        assert stored == totals
        assert market.rates().at_target_per_second_wad == model.irm.at_target
        for user in (*USERS, RECIPIENT):
            own = model.of(user)
            position = own.supply_shares, own.borrow_shares, own.collateral
            assert tuple(self.contract.position(market.id, user)) == position

    def run(self, operations: int) -> None:
        kinds = [self.lend, self.take_back, self.borrow, self.repay, self.put_up, self.take_out, self.liquidate]
        weights = [4, 2, 5, 3, 4, 2, 4]
        for _ in range(operations):
            act = self.rng.choices([*kinds, self.wait, self.move_price, self.accrue], [*weights, 3, 2, 1])[0]
            act(self.rng.choice(USERS))
            self.compare()


@pytest.mark.slow(5)
@pytest.mark.parametrize("name", MARKETS)
def test_the_contract_equals_the_model_after_every_operation(name: str) -> None:
    pair = Pair(name, seed=MARKETS.index(name))
    pair.run(OPERATIONS)
    done = pair.counts
    kinds = ["supply", "withdraw", "borrow", "repay", "supply collateral", "withdraw collateral", "liquidate"]
    assert all(done[kind] > 20 for kind in kinds), done
    refusals = ["insufficient collateral", "insufficient liquidity", "position is healthy", "panic 0x11"]
    assert all(any(reason in kind for kind in done) for reason in refusals), done
    assert pair.model.bad_debt > 0


def test_a_few_operations_equal_the_model() -> None:
    pair = Pair("wstETH/USDC.86", seed=7)
    pair.run(150)


def test_a_model_with_another_rounding_is_caught() -> None:
    pair = Pair("wstETH/USDC.86", seed=3)
    pair.model.owed = lambda user: 0  # type: ignore[method-assign]
    with pytest.raises((AssertionError, CallReverted, pytest.fail.Exception)):
        pair.run(400)


def test_the_adapter_accrues_as_the_contract_will() -> None:
    pair = Pair("wstETH/USDC.86", seed=11)
    for _ in range(200):
        pair.run(1)
        expected = pair.market.state()
        pair.accrue(USERS[0])
        assert pair.market.stored_state() == expected


def test_the_curve_adapts_over_its_whole_range() -> None:
    pair = Pair("wstETH/USDC.86", seed=2)
    irm, market = pair.fork.contract(pair.market.parameters.irm, _IRM), pair.market
    rng = random.Random(5)
    for _ in range(1_000):
        before = CurveRate(pair.model.irm.at_target)
        supplied = int(10 ** rng.uniform(0, 30))
        borrowed = int(supplied * rng.choice([0, rng.random(), 0.9, 1, 1 + rng.random()]))
        seconds = int(10 ** rng.uniform(0, 8.5))
        state = (supplied, 0, borrowed, 0, pair.fork.timestamp - seconds, 0)
        if state[4] < 0:
            continue
        expected = before.charge(supplied, borrowed, seconds)
        assert irm.borrowRateView(market.parameters, state) == expected


def test_the_power_series_is_close_to_the_exponential() -> None:
    import math

    for exponent in (-3.0, -0.5, 0.0, 0.3, 1.0, 12.0):
        assert power(int(exponent * 10**18)) / 10**18 == pytest.approx(math.exp(exponent), rel=0.01)


def test_tokens_of_the_contract_cover_what_it_owes() -> None:
    pair = Pair("WBTC/USDC.86", seed=4)
    pair.run(300)
    state = pair.market.stored_state()
    held = Erc20(pair.fork, "USDC").balance_of(pair.blue.address)
    assert held >= state.liquidity
    assert pair.market.collateral.balance_of(pair.blue.address) == sum(pair.model.of(user).collateral for user in USERS)


_IRM = [
    "borrowRateView((address,address,address,address,uint256) p,"
    " (uint128,uint128,uint128,uint128,uint128,uint128) m) view returns (uint256)"
]
