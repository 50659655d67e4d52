"""Episodes of the market replayed as simulations with `WorldState`, `Scheduler` and scripted agents.

Agents read the chain through adapters and act by transactions. The programs of the environment are not used. A
simulation starts from the state of a row of the environment.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from mayavi.agents.base import Agent, Details, StepResult, World
from mayavi.agents.trading.selling import sqrt_price_x96
from mayavi.errors import ExecutionError
from mayavi.evm.address import account_address
from mayavi.evm.fork import Fork
from mayavi.gym_env.lending.adapter import BANK
from mayavi.gym_env.liquidator.loans import ARBITRAGEUR, FEE
from mayavi.gym_env.market.rows import BLOCK, AaveMarketRows
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.chainlink.price_feed import PriceFeed
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.route import Route
from mayavi.protocols.uniswap.router import Router
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState

MILLION = 10**6
YEAR_S = 365 * 86_400
SHARES_PPM = (0, -250_000, -1_000_000, 250_000, 500_000)
LIQUIDATOR_SHARES = (250_000, 500_000, 1_000_000)
UNLIMITED_FUNDS = 10**15


class Story:
    """Drawn values of one episode as plain numbers, and the next actions of its agents."""

    def __init__(self, env: AaveMarketRows, row: int) -> None:
        columns = env.columns
        self.borrowers, self.liquidators = list(env.loans.borrowers), list(env.program.liquidators)
        self.names = env.agents
        self.discrete = env.config.actions == "discrete"
        self.step_blocks = env.config.step_blocks
        self.seed = int(columns["order_seed"][row])
        self.prices_e8: list[int] = columns["price_e8"][row].tolist()
        self.yields_ppm: list[int] = columns["cash_yield_ppm"][row].tolist()
        self.recovery_ppm = int(columns["recovery_ppm"][row])
        self.actions: list[Any] = []
        self.liquidated: set[int] = set()


class ScriptedBorrower(Agent):
    """Borrower that repays or borrows the share of its next action."""

    def __init__(self, name: str, number: int, story: Story) -> None:
        super().__init__(name)
        self.number, self.story = number, story

    def step(self, world: World, step_idx: int) -> StepResult:
        story, action = self.story, self.story.actions[self.number]
        if self.number in story.liquidated:
            return self.rests()
        share = SHARES_PPM[int(action)] if story.discrete else round(float(action[0]) * MILLION)
        market = AaveV3(world.fork)
        me = story.borrowers[self.number]
        own = market.account(me)
        usdc = market.token("USDC").address
        if share < 0:
            amount = min(own.debt("USDC") * -share // MILLION, Erc20(world.fork, "USDC").balance_of(me))
            act = market.pool.repay
            arguments: tuple[Any, ...] = (usdc, amount, 2, me)
        else:
            amount = headroom(market, me) * share // MILLION
            act = market.pool.borrow
            arguments = (usdc, amount, 2, 0, me)
        if not amount:
            return self.rests()

        def run() -> Details:
            act(*arguments, sender=me)
            return {"amount": amount}

        return self.does("acts", run)


NEAR = 8
"""Units within which the largest loan mostly lies."""


def headroom(market: AaveV3, who: bytes) -> int:
    """Largest amount that `who` can borrow, found by bisection: near what the market reports if it is there."""
    usdc = market.token("USDC")
    reported = market.account(who).data().available_usd_e8 * 10**usdc.decimals // market.price_usd_e8("USDC")
    low, high = 0, reported * 2 + 10

    def works(amount: int) -> bool:
        try:
            market.pool.borrow.call(usdc.address, amount, 2, 0, who, sender=who)
        except ExecutionError:
            return False
        return True

    if reported > NEAR and works(reported - NEAR) and not works(reported + NEAR):
        low, high = reported - NEAR, reported + NEAR
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low


class ScriptedLiquidator(Agent):
    """Liquidator that repays a share of the account of a rank, and sells what it seizes."""

    def __init__(self, name: str, number: int, story: Story) -> None:
        super().__init__(name)
        self.number, self.story = number, story
        self.paid = self.seized = self.received = 0

    def step(self, world: World, step_idx: int) -> StepResult:
        story, fork = self.story, world.fork
        self.paid = self.seized = self.received = 0
        market, me = AaveV3(fork), story.liquidators[self.number]
        action = story.actions[len(story.borrowers) + self.number]
        if story.discrete:
            if not action:
                return self.rests()
            rank, which = divmod(int(action) - 1, len(LIQUIDATOR_SHARES))
            share = LIQUIDATOR_SHARES[which]
        else:
            count = len(story.borrowers)
            rank = min(int((float(action[0]) + 1) / 2 * count), count - 1)
            share = round(max(float(action[1]), 0.0) * MILLION)
        data = [market.account(each).data() for each in story.borrowers]
        debts = [market.account(each).debt("USDC") for each in story.borrowers]
        factors = [each.health_factor_wad for each in data]
        close = [10_000 if each < 95 * 10**16 else 5_000 for each in factors]
        price_e8 = market.price_usd_e8("WETH")
        left = [market.account(each).supplied("WETH") * price_e8 > 10**22 for each in story.borrowers]  # 0.0001 dollars
        prizes = [kept and factor < 10**18 for kept, factor in zip(left, factors, strict=True)]
        keys = [
            (0, -debts[at] * close[at]) if prizes[at] else (1, min(factors[at], 10**24)) if left[at] else (2, 0)
            for at in range(len(data))
        ]
        chosen = sorted(range(len(data)), key=lambda at: keys[at])[rank]
        if not prizes[chosen]:
            return self.rests()
        most = (debts[chosen] * close[chosen] + 5_000) // 10_000
        cover = min(most * share // MILLION, Erc20(fork, "USDC").balance_of(me))
        if not cover:
            return self.rests()
        weth, usdc = market.token("WETH"), market.token("USDC")

        def run() -> Details:
            before = usdc.balance_of(me)
            market.pool.liquidationCall(weth.address, usdc.address, story.borrowers[chosen], cover, False, sender=me)
            self.paid = before - usdc.balance_of(me)
            self.seized = weth.balance_of(me)
            trade(fork, me, "WETH", "USDC", self.seized)
            self.received = usdc.balance_of(me) - before + self.paid
            story.liquidated.add(chosen)
            return {"borrower": chosen}

        return self.does("liquidate", run)


def trade(fork: Fork, who: bytes, token_in: str, token_out: str, amount: int, limit: int = 0) -> None:
    """Swap through the pool with an existing allowance."""
    router, route = Router(fork), Route.of(fork, (token_in, token_out, FEE))
    calldata, amount_at, limit_at = router.single_swap(route, recipient=who)
    filled = bytearray(calldata)
    filled[amount_at : amount_at + 32] = amount.to_bytes(32, "big")
    filled[limit_at : limit_at + 32] = limit.to_bytes(32, "big")
    fork.send(router.address, bytes(filled), sender=who)


class Outside(Agent):
    """Agent that posts the price, trades as arbitrageur and pays the yields."""

    def __init__(self, story: Story) -> None:
        super().__init__("outside")
        self.story = story

    def step(self, world: World, step_idx: int) -> StepResult:
        return self.does("outside", lambda: self._run(world.fork, self.story.prices_e8[step_idx + 1]))

    def _run(self, fork: Fork, price_e8: int) -> None:
        market = AaveV3(fork)
        feed = PriceFeed(fork, market.oracle.getSourceOfAsset(market.token("WETH").address))
        if feed.answer != price_e8:
            feed.move(price_e8)
        pool = UniswapV3(fork).pool("WETH", "USDC", FEE)
        decimals = Erc20(fork, "WETH").decimals, Erc20(fork, "USDC").decimals
        weth_is_zero = pool.token0.address == market.token("WETH").address
        root, now = sqrt_price_x96(Fraction(price_e8, 10**8), *decimals, token0=weth_is_zero), pool.sqrt_price_x96
        way = abs(root - now) * self.story.recovery_ppm // MILLION
        aim = now + way if root > now else now - way
        if aim != now:
            token_in, token_out = (pool.token1, pool.token0) if aim > now else (pool.token0, pool.token1)
            amount = UNLIMITED_FUNDS * 10**token_in.decimals
            trade(fork, account_address(ARBITRAGEUR), token_in.symbol, token_out.symbol, amount, aim)
        usdc = Erc20(fork, "USDC")
        for at, each in enumerate(self.story.borrowers):
            if at in self.before:
                continue
            rate_ppb = abs(self.story.yields_ppm[at]) * self.story.step_blocks * 12 * 1000 // YEAR_S
            earned = usdc.balance_of(each) * rate_ppb // 10**9
            sender, recipient = (BANK, each) if self.story.yields_ppm[at] > 0 else (each, BANK)
            if earned:
                usdc.contract.transfer(recipient, earned, sender=sender)

    before: frozenset[int] = frozenset()
    """Borrowers that were liquidated before this step."""


class Simulated:
    """Episode of one row as a simulation."""

    def __init__(self, env: AaveMarketRows, row: int) -> None:
        self.story = story = Story(env, row)
        count = len(story.borrowers)
        self.borrowers = [ScriptedBorrower(name, at, story) for at, name in enumerate(story.names[:count])]
        self.liquidators = [ScriptedLiquidator(name, at, story) for at, name in enumerate(story.names[count:])]
        self.outside = Outside(story)
        agents = [*self.borrowers, *self.liquidators]
        self.fork = env.fleet.fork(row)
        world = WorldState(self.fork, [*agents, self.outside], seed=story.seed)
        blocks = [AgentBlock(BLOCK, agents), AgentBlock("outside", [self.outside])]
        self.scheduler = Scheduler(world, blocks, step_blocks=story.step_blocks, halt_on_exception=True)

    def tick(self, borrowers: Any, liquidators: Any) -> dict[str, Any]:
        """Run one step; returns every figure of the environment's `exact`."""
        story, fork = self.story, self.fork
        story.actions = [*borrowers, *liquidators]
        self.outside.before = frozenset(story.liquidated)
        rows, _ = self.scheduler.tick()
        done = {row.agent: row for row in rows}
        market = AaveV3(fork)
        data = [market.account(each).data() for each in story.borrowers]
        usdc, price = Erc20(fork, "USDC"), market.price_usd_e8("USDC")
        cash = [usdc.balance_of(each) for each in story.borrowers]
        statuses = {"success": 1, "failed": 2}
        return {
            "price_usd_e8": market.price_usd_e8("WETH"),
            "pool_sqrt_price_x96": UniswapV3(fork).pool("WETH", "USDC", FEE).sqrt_price_x96,
            "liquidated": [at in story.liquidated for at in range(len(data))],
            "block": fork.block_number,
            "timestamp": fork.timestamp,
            "collateral_wei": [market.account(each).supplied("WETH") for each in story.borrowers],
            "debt_usdc": [market.account(each).debt("USDC") for each in story.borrowers],
            "health_factor_wad": [each.health_factor_wad for each in data],
            "cash_usdc": cash,
            "money_usdc": [usdc.balance_of(each) for each in story.liquidators],
            "paid_usdc": [each.paid for each in self.liquidators],
            "received_usdc": [each.received for each in self.liquidators],
            "seized_wei": [each.seized for each in self.liquidators],
            "status": [statuses[done[name].status] if name in done else 0 for name in story.names],
            "gas": [done[name].gas_used if name in done else 0 for name in story.names],
            "net_wealth_e8": [
                each.collateral_usd_e8 + held * price // 10**6 - each.debt_usd_e8
                for each, held in zip(data, cash, strict=True)
            ],
        }


def played(env: AaveMarketRows, rng: np.random.Generator) -> dict[str, Any]:
    """Actions of all rows: half the time borrow and liquidate the first account, otherwise at random."""
    rows, count = env.rows, env.config.borrowers
    wild = rng.random((rows, count + env.config.liquidators)) < 0.5
    if env.config.actions == "discrete":
        borrowers = np.where(wild[:, :count], rng.integers(5, size=(rows, count)), 4)
        first = rng.integers(1, 4, size=(rows, env.config.liquidators))
        anything = rng.integers(1 + 3 * count, size=first.shape)
        return {"borrower": borrowers, "liquidator": np.where(wild[:, count:], anything, first)}
    shares = np.where(wild[:, :count], rng.uniform(-1, 1, (rows, count)), 1.0)[..., None].astype(np.float32)
    aims = rng.uniform(-1, 1, (rows, env.config.liquidators, 2))
    aims[..., 0] = np.where(wild[:, count:], aims[..., 0], -1.0)
    return {"borrower": shares, "liquidator": aims.astype(np.float32)}
