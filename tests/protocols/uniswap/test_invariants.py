"""Invariants of a Uniswap V3 pool under random operations: no tokens appear or vanish."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mayavi import Fork
from mayavi.errors import CallReverted, InsufficientBalance
from mayavi.protocols import UniswapV3
from mayavi.protocols.uniswap.position import Pair, UniswapV3Position
from tests.states import state_of

ALICE = "0x00000000000000000000000000000000000a11ce"
RICHES = {"WETH": 200_000 * 10**18, "USDC": 500_000_000 * 10**6}
DIRECTIONS = st.sampled_from([("WETH", "USDC", 500), ("USDC", "WETH", 500)])
SHARES = st.integers(1, 10**6)  # in millionths


@cache
def _replica() -> Fork:
    return Fork.replica("ethereum")


class OneTrader(RuleBasedStateMachine):
    """Alice alone acts on a pool with background liquidity: she swaps and adds and removes liquidity."""

    @initialize()
    def open(self) -> None:
        self.fork = _replica().copy()
        self.uniswap = UniswapV3(self.fork)
        self.pool = self.uniswap.pool("WETH", "USDC", 500)
        for token, amount in RICHES.items():
            self.fork.deal(token, ALICE, amount)
        market = self.uniswap.positions_of("Mayavi.Market")
        self.market = [position for position in market if position.pool.address == self.pool.address]
        self.mine: list[UniswapV3Position] = []
        self.root = self.pool.sqrt_price_x96

    def holdings(self) -> Pair:
        return Pair(self.pool.token0.balance_of(ALICE), self.pool.token1.balance_of(ALICE))

    def part_of(self, token: str, millionths: int) -> int:
        return RICHES[token] // 20 * millionths // 10**6 + 1

    @rule(route=DIRECTIONS, share=SHARES)
    def sell(self, route: tuple[str, str, int], share: int) -> None:
        amount = self.part_of(route[0], share)
        quote = self.uniswap.quote_exact_input(route, amount)
        assert self.uniswap.swap_exact_input(route, amount, sender=ALICE).amount_out == quote.amount_out

    @rule(route=DIRECTIONS, share=SHARES)
    def buy(self, route: tuple[str, str, int], share: int) -> None:
        amount = self.part_of(route[1], share // 10)
        try:
            quote = self.uniswap.quote_exact_output(route, amount)
        except CallReverted:  # the pool has less than that left
            return
        assert self.uniswap.swap_exact_output(route, amount, sender=ALICE).amount_in == quote.amount_in

    @rule(route=DIRECTIONS, share=SHARES)
    def go_and_come_back(self, route: tuple[str, str, int], share: int) -> None:
        before = self.holdings()
        amount = self.part_of(route[0], share)
        bought = self.uniswap.swap_exact_input(route, amount, sender=ALICE).amount_out
        if bought:
            back = self.uniswap.swap_exact_input((route[1], route[0], 500), bought, sender=ALICE).amount_out
            assert back <= amount
        if not self.mine:
            assert sum(now > then for now, then in zip(self.holdings(), before, strict=True)) == 0

    @rule(below=st.integers(1, 400), width=st.integers(1, 600), share=SHARES)
    def provide(self, below: int, width: int, share: int) -> None:
        lower = (self.pool.tick // 10 - below + 100) * 10
        amounts: dict[str | bytes, int] = {token: self.part_of(token, share) for token in RICHES}
        with suppress(CallReverted):  # liquidity that rounds to zero is refused
            self.mine.append(self.uniswap.mint(self.pool, lower, lower + width * 10, amounts, sender=ALICE).position)

    @precondition(lambda self: self.mine)
    @rule(data=st.data(), share=SHARES)
    def take_out(self, data: st.DataObject, share: int) -> None:
        position = data.draw(st.sampled_from(self.mine))
        if taken := position.liquidity * share // 10**6:
            expected = position.amounts if share == 10**6 else None
            changed = position.decrease(taken)
            assert expected is None or changed[1:3] == expected

    @precondition(lambda self: self.mine)
    @rule(data=st.data())
    def collect(self, data: st.DataObject) -> None:
        position = data.draw(st.sampled_from(self.mine))
        owed, before = position.owed, self.holdings()
        if any(owed):
            assert position.collect()[:2] == owed
            assert self.holdings() == (before.amount0 + owed.amount0, before.amount1 + owed.amount1)

    @precondition(lambda self: self.mine)
    @rule(data=st.data())
    def burn(self, data: st.DataObject) -> None:
        position = data.draw(st.sampled_from(self.mine))
        position.burn()
        self.mine.remove(position)

    @rule(route=DIRECTIONS, share=SHARES, limit=st.sampled_from(["min_amount_out", "deadline"]))
    def ask_too_much_of_the_router(self, route: tuple[str, str, int], share: int, limit: str) -> None:
        amount, before = self.part_of(route[0], share), state_of(self.fork)
        options = {limit: 2**200 if limit == "min_amount_out" else self.fork.timestamp - 1}
        with pytest.raises(CallReverted):
            self.uniswap.swap_exact_input(route, amount, sender=ALICE, **options)
        assert state_of(self.fork) == before

    @rule(route=DIRECTIONS)
    def spend_or_buy_more_than_there_is(self, route: tuple[str, str, int]) -> None:
        before = state_of(self.fork)
        with pytest.raises(InsufficientBalance):
            self.uniswap.swap_exact_input(route, 2**120, sender=ALICE)
        with pytest.raises(CallReverted):
            self.uniswap.swap_exact_output(route, 2**120, sender=ALICE)
        assert state_of(self.fork) == before

    @rule(blocks=st.integers(1, 1_000))
    def wait(self, blocks: int) -> None:
        self.fork.mine(blocks)

    @invariant()
    def the_pool_can_pay_everybody(self) -> None:
        claims = [pair for each in (*self.market, *self.mine) for pair in (each.amounts, each.owed)]
        for side, token in enumerate((self.pool.token0, self.pool.token1)):
            assert sum(pair[side] for pair in claims) <= token.balance_of(self.pool.address)

    @invariant()
    def liquidity_is_what_the_ticks_say(self) -> None:
        ticks = self.pool.ticks()
        assert sum(each.liquidity_net for each in ticks) == 0
        assert sum(each.liquidity_net for each in ticks if each.tick <= self.pool.tick) == self.pool.liquidity

    def teardown(self) -> None:
        """Alice removes everything and restores the price: she has gained of neither token."""
        if not hasattr(self, "pool"):
            return
        for position in self.mine:
            position.burn()
        root = self.pool.sqrt_price_x96
        if root != self.root:
            # WETH is token1: selling it raises the root of the price.
            route = ("WETH", "USDC", 500) if root < self.root else ("USDC", "WETH", 500)
            held = self.holdings()[1 if route[0] == "WETH" else 0]
            self.uniswap.swap_exact_input(route, held, sender=ALICE, sqrt_price_limit_x96=self.root)
        assert self.pool.sqrt_price_x96 == self.root
        assert self.holdings().amount0 <= RICHES["USDC"]
        assert self.holdings().amount1 <= RICHES["WETH"]


OneTrader.TestCase.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
TestOneTrader = pytest.mark.slow(OneTrader.TestCase)
