"""Every token is accounted for to the wei, and gains in dollars are what prices did, less gas."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mayavi import Fork, ether, gwei
from mayavi.agents.base import Agent, Intent, StepResult, World
from mayavi.errors import ActionRefused, SimulationError
from mayavi.protocols import AaveV3, CompoundV3, CurveStableSwap, PriceFeed, UniswapV3
from mayavi.protocols.tokens import Erc20
from mayavi.sim.accounting import NATIVE, Books
from mayavi.sim.claims import aave_claims, compound_claims, curve_claims
from tests.sim.small_world import Racer, Scripted, ran, scheduled, wish

TOKENS = ["WETH", "USDC", "DAI", "USDT"]
UNITS = {"WETH": 10**18, "USDC": 10**6, "DAI": 10**18, "USDT": 10**6}


class Wanderer(Agent):
    """Does something at random on Aave, Compound, Uniswap or Curve each step; a good part of it fails."""

    def prepare(self, world: World) -> None:
        fork, self.me = world.fork, world.address(self.name)
        for symbol, amount in (("WETH", 100), ("USDC", 200_000), ("DAI", 200_000), ("USDT", 200_000)):
            fork.deal(symbol, self.me, amount * UNITS[symbol])
        self.aave = AaveV3(fork).account(self.me)
        self.comet = CompoundV3(fork).account(self.me)
        self.curve, self.uniswap = CurveStableSwap(fork), UniswapV3(fork)
        self.weth = fork.contract("WETH", ["deposit()", "withdraw(uint256)"])

    def step(self, world: World, step_idx: int) -> StepResult:
        rng, me = world.rng(self.name), self.me
        share = int(rng.integers(1, 60))
        base = {symbol: share * UNITS[symbol] * (1 if symbol == "WETH" else 1_000) for symbol in TOKENS}
        choices = [
            lambda: self.aave.supply("WETH", base["WETH"]),
            lambda: self.aave.borrow("USDC", base["USDC"]),
            lambda: self.aave.repay("USDC"),
            lambda: self.aave.withdraw("WETH", base["WETH"]),
            lambda: self.comet.supply("WETH", base["WETH"]),
            lambda: self.comet.borrow(base["USDC"]),
            lambda: self.comet.supply("USDC", base["USDC"]),
            lambda: self.uniswap.swap_exact_input(("WETH", "USDC", 500), base["WETH"], sender=me),
            lambda: self.uniswap.swap_exact_input(("USDC", "WETH", 500), base["USDC"], sender=me),
            lambda: self.curve.exchange("USDC", "DAI", base["USDC"], sender=me),
            lambda: self.curve.exchange("DAI", "USDT", base["DAI"], sender=me),
            lambda: self.curve.add_liquidity({"USDC": base["USDC"], "USDT": base["USDT"]}, sender=me),
            lambda: self.curve.remove_liquidity_one_coin(self.curve.lp_token.balance_of(me) // 2, "DAI", sender=me),
            lambda: self.weth.withdraw(base["WETH"] // 10, sender=me),
            lambda: self.weth.deposit(sender=me, value=base["WETH"] // 10),
        ]
        chosen = [choices[index] for index in rng.integers(0, len(choices), 2)]
        return StepResult(tuple(Intent("act", lambda act=act: act() and None) for act in chosen))


class Mover(Agent):
    """Moves the price of ETH a little each step."""

    def step(self, world: World, step_idx: int) -> StepResult:
        by = float(world.rng(self.name).integers(-50, 60)) / 1_000
        return self.does("move", lambda: PriceFeed(world.fork, "Chainlink.ETH/USD").move_by(by) and None)


def price(fork: Fork, token: bytes) -> int:
    return AaveV3(fork).price_usd_e8(token)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_random_life_on_every_protocol_loses_not_a_wei(fork: Fork, seed: int) -> None:
    claims = [*aave_claims(AaveV3(fork), TOKENS), *compound_claims(CompoundV3(fork), ["WETH"])]
    claims += curve_claims(CurveStableSwap(fork))
    books = Books(TOKENS, claims=claims)
    agents: list[Agent] = [Wanderer(f"wanderer {number}") for number in range(4)]
    recorder, end = ran(
        fork,
        [*agents, Mover("mover")],
        steps=15,
        seed=seed,
        hooks=[books],
        step_blocks=100,
        base_fee_wei=gwei(30),
        priority_fee_wei=gwei(1),
    )
    statuses = {status: sum(row.status == status for row in recorder.actions) for status in ("success", "failed")}
    assert end.status == "finished"
    assert not [row.reason for row in recorder.actions if row.status == "raised"]
    assert min(statuses.values()) > 15  # a life with ups and downs

    balances = {each.token: each for each in books.verify()}
    assert set(balances) == {*TOKENS, NATIVE}
    assert balances["USDC"].supply_change == balances["DAI"].supply_change == 0
    assert balances["WETH"].supply_change != 0  # wrapped and unwrapped
    assert balances[NATIVE].gained == -books.world.burned_wei < 0

    pnl = books.pnl(price, native="WETH")
    assert pnl.balanced
    assert pnl.total == pnl.price_gain - pnl.gas + pnl.minted
    assert pnl.gas == Fraction(books.world.burned_wei * price(fork, fork.address_of("WETH")), 10**26) > 0
    assert pnl.price_gain != 0
    # What was wrapped left the native coin: together with it nothing is minted.
    assert pnl.minted == (balances["WETH"].supply_change) * Fraction(price(fork, fork.address_of("WETH")), 10**26)
    assert set(pnl.by_name) >= {"wanderer 0", "AaveV3", "CompoundV3.cUSDCv3", "Curve.3pool"}


def test_a_transfer_that_was_undone_is_no_flow(fork: Fork) -> None:
    def script(world: World, step_idx: int) -> StepResult:
        usdc, me, purse = Erc20(world.fork, "USDC"), world.address("payer"), world.address("purse")

        def changes_its_mind() -> None:
            usdc.transfer(purse, 40 * 10**6, sender=me)
            raise ActionRefused("the payer changes its mind")

        pays = Intent("pay", lambda: usdc.transfer(purse, 7 * 10**6, sender=me) and None)
        return StepResult((Intent("regret", changes_its_mind), pays))

    def prepare(world: World) -> None:
        world.fork.deal("USDC", world.address("payer"), 100 * 10**6)

    books = Books(["USDC"])
    recorder, _ = ran(fork, [Scripted("payer", script, prepare)], steps=2, hooks=[books])
    assert sorted(row.status for row in recorder.actions) == ["failed", "failed", "success", "success"]
    assert books.verify()[0].conserved
    assert Erc20(fork, "USDC").balance_of(books.world.address("purse")) == 14 * 10**6


def test_gains_without_trades_are_what_prices_did_to_holdings(fork: Fork) -> None:
    def shock(world: World, step_idx: int) -> StepResult:
        return wish("move", lambda: PriceFeed(world.fork, "Chainlink.ETH/USD").move_by(-0.25) and None)

    holder = Scripted(
        "holder",
        lambda world, step_idx: StepResult(),
        lambda world: world.fork.deal("WETH", world.address("holder"), ether(8)),
    )
    books = Books(["WETH"])
    before = price(fork, fork.address_of("WETH"))
    ran(fork, [holder, Scripted("shock", shock)], steps=1, hooks=[books])
    pnl = books.pnl(price)
    after = price(fork, fork.address_of("WETH"))
    assert pnl.by_name["holder"] == 8 * Fraction(after - before, 10**8)
    assert pnl.total == pnl.price_gain
    assert (pnl.gas, pnl.minted) == (0, 0)


def test_a_deposit_is_still_the_depositors_and_a_debt_counts_against_it(fork: Fork) -> None:
    def script(world: World, step_idx: int) -> StepResult:
        account = AaveV3(world.fork).account(world.address("me"))

        def act() -> None:
            account.supply("WETH", ether(10))
            account.borrow("USDC", 5_000 * 10**6)

        return wish("loan", act)

    agents = [Scripted("me", script, lambda world: world.fork.deal("WETH", world.address("me"), ether(10)))]
    books = Books(["WETH", "USDC"], claims=aave_claims(AaveV3(fork), ["WETH", "USDC"]))
    ran(fork, agents, steps=1, hooks=[books], block_seconds=0)
    pnl = books.pnl(price)
    assert abs(pnl.by_name["me"]) < Fraction(1, 10**5)  # roundings of the pool, no more
    wallet = Books(["WETH", "USDC"])
    wallet.world, wallet.tokens, wallet.start = books.world, books.tokens, books.start
    assert wallet.pnl(price).by_name["me"] < -20_000  # the wallet alone has ten WETH less and 5,000 USDC more


def test_a_balance_written_during_a_step_is_found(fork: Fork) -> None:
    def cheat(world: World, step_idx: int) -> StepResult:
        return wish("mint", lambda: world.fork.deal("USDC", world.address("cheat"), 5))

    books = Books(["USDC"])
    ran(fork, [Scripted("cheat", cheat)], steps=1, hooks=[books])
    with pytest.raises(SimulationError, match="cheat gained 5 of USDC without a transfer"):
        books.verify()


def test_a_slot_overwritten_during_a_step_is_found(fork: Fork) -> None:
    def script(world: World, step_idx: int) -> StepResult:
        usdc = Erc20(world.fork, "USDC")

        def steal() -> None:
            slots = dict(world.fork.touched(usdc.address, usdc.contract.balanceOf.encode(world.address("victim"))))
            for slot in slots[usdc.address]:
                if world.fork.storage(usdc.address, slot) == 7:
                    world.fork.set_storage(usdc.address, slot, 6)

        return wish("steal", steal)

    books = Books(["USDC"])
    agents = [Scripted("victim", script, lambda world: world.fork.deal("USDC", world.address("victim"), 7))]
    ran(fork, agents, steps=1, hooks=[books])
    with pytest.raises(SimulationError, match="USDC is not conserved: holders gained -1, the supply 0"):
        books.verify()
    pnl = books.pnl(price)
    assert not pnl.balanced  # the identity is no tautology: a unit that is gone is missing in dollars too
    missing = pnl.total - (pnl.price_gain - pnl.gas + pnl.minted)
    assert missing == -Fraction(price(fork, fork.address_of("USDC")), 10**14)


def test_gas_that_was_not_counted_as_burned_is_missing_in_dollars(fork: Fork) -> None:
    books = Books(["USDC"])
    ran(fork, [Racer("a")], steps=1, hooks=[books], base_fee_wei=gwei(30))
    assert books.pnl(price, native="WETH").balanced
    books.world.burned_wei -= 1
    assert not books.pnl(price, native="WETH").balanced


def test_what_was_undone_is_not_in_the_books(fork: Fork) -> None:
    books = Books(["USDC"])
    scheduler = scheduled(fork, [Racer("a"), Racer("b")], hooks=[books])
    scheduler.tick()
    scheduler.tick()
    usdc = Erc20(fork, "USDC")
    moved = [flow.amount for flow in books._flows if flow.token == usdc.address]
    assert moved == [Racer.PRIZE]
    assert all(each.conserved for each in books.verify())
