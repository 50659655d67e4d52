"""Episodes of the borrower environments replayed as simulations: agents, adapters, `WorldState`, `Scheduler`.

The programs of the environments are not used: agents act and read through protocol adapters. The environment provides
the start of an episode, its price path and its prepared world.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mayavi.agents.base import Agent, Details, StepResult, World
from mayavi.agents.lending.market import LendingMarket
from mayavi.agents.lending.open_market import lending_market
from mayavi.agents.oracle.price_path import PricePathAgent
from mayavi.evm.fork import Fork
from mayavi.gym_env.episodes import episode_stream
from mayavi.gym_env.lending.env import LendingRowsEnv
from mayavi.markets import Constant, GeometricBrownianMotion, Ramp
from mayavi.markets.price_paths import PricePaths
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.protocols.compound.market import CompoundV3
from mayavi.protocols.tokens import Erc20
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState
from tests.gym_env.lending.starts import drawn_start, opening_amounts

MILLION, BILLION, YEAR_S = 10**6, 10**9, 365 * 86_400
TREND_KEPT = 0.6


class ScriptedBorrower(Agent):
    """Borrower that opens the loan of an episode, then repays or borrows `share` millionths in each step."""

    def __init__(self, market: str, collateral: str, debt: str, amounts: dict[str, int]) -> None:
        super().__init__("borrower")
        self.market, self.collateral, self.debt, self.amounts = market, collateral, debt, amounts
        self.share = 0

    def prepare(self, world: World) -> None:
        """Pass the initial blocks, move the market and open the loan."""
        fork, amounts = world.fork, self.amounts
        self.lending = lending_market(fork, self.market)
        self.account = self.lending.account(world.address("borrower"))
        fork.mine(amounts["blocks"])
        others = self.lending.account(world.address("market"))
        if amounts["lend"]:
            others.supply(self.debt, amounts["lend"])
        if amounts["market_borrow"]:
            others.supply(self.collateral, amounts["market_supply"])
            others.borrow(self.debt, amounts["market_borrow"])
        self.account.supply(self.collateral, amounts["supply"])
        if amounts["borrow"]:
            self.account.borrow(self.debt, amounts["borrow"])

    def headroom(self) -> int:
        """Largest loan within the limit of the market, rounded as in the adapters."""
        health, lending = self.account.health(), self.lending
        free = health.borrow_limit_e8 - health.debt_value_e8
        if free <= 0:
            return 0
        loan = ((free + 1) * 10 ** lending.decimals(self.debt) - 1) // lending.price_e8(self.debt)
        return max(0, loan - (2 if self.market != "AaveV3" else 0))

    def step(self, world: World, step_idx: int) -> StepResult:
        """Repay a share of the debt, limited by the wallet, or borrow a share of the headroom."""
        del step_idx
        owed = self.account.debt(self.debt)
        if self.share < 0:
            cash = Erc20(world.fork, self.debt).balance_of(self.account.address)
            amount = min(owed * -self.share // MILLION, cash)
            return (
                self.does("repay", lambda: self._done(self.account.repay(self.debt, amount)))
                if amount
                else self.rests()
            )
        amount = self.headroom() * self.share // MILLION
        least = CompoundV3(world.fork).minimum_borrow if self.market != "AaveV3" else 0
        if not amount or owed + amount < least:
            return self.rests()
        return self.does("borrow", lambda: self._done(self.account.borrow(self.debt, amount)))

    @staticmethod
    def _done(receipt: Any) -> Details:
        return {"gas": receipt.gas_used}


class Bank(Agent):
    """Bank that pays, or charges, the yield of the borrower's dollars in each step."""

    def __init__(self, debt: str, yield_ppm: int, step_seconds: int) -> None:
        super().__init__("bank")
        self.debt, self.loses = debt, yield_ppm < 0
        self.ppb = abs(yield_ppm) * (BILLION // MILLION) * step_seconds // YEAR_S

    def step(self, world: World, step_idx: int) -> StepResult:
        """Pay the yield of the wallet's balance."""
        del step_idx
        token, borrower, bank = Erc20(world.fork, self.debt), world.address("borrower"), world.address("bank")
        earned = token.balance_of(borrower) * self.ppb // BILLION
        if not earned:
            return self.rests()
        payer, payee = (borrower, bank) if self.loses else (bank, borrower)
        return self.does("pay", lambda: {"gas": token.transfer(payee, earned, sender=payer).gas_used})


class PlainLiquidator(Agent):
    """Liquidator that liquidates as early and as much as possible."""

    def __init__(self, market: str, collateral: str, debt: str) -> None:
        super().__init__("liquidator")
        self.market, self.collateral, self.debt = market, collateral, debt
        self.liquidated = False

    def prepare(self, world: World) -> None:
        """Open the market."""
        self.lending: LendingMarket = lending_market(world.fork, self.market)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Liquidate the borrower if possible."""
        del step_idx
        borrower = world.address("borrower")
        if not self.lending.account(borrower).health().liquidatable:
            return self.rests()
        return self.does("liquidate", lambda: self._carry_out(world.address("liquidator"), borrower))

    def _carry_out(self, address: bytes, borrower: bytes) -> Details:
        market: Any = self.lending.market  # type: ignore[attr-defined]
        if self.market == "AaveV3":
            market.account(address).liquidate(borrower, self.collateral, self.debt)
        else:
            market.absorb(borrower, sender=address)
        self.liquidated = True
        return {}


def drawn_path(env: LendingRowsEnv[Any], start: float, rng: np.random.Generator) -> tuple[Floats, float]:
    """Draw the prices of an episode with `mayavi.markets`; returns them and their volatility."""
    config, seconds = env.config, env.step_seconds
    volatility = rng.uniform(*config.volatility)
    path = GeometricBrownianMotion(volatility).path(start, config.horizon, seconds, rng)
    shocked, size = rng.random() < config.shock_chance, rng.uniform(*config.shock_size)
    length = min(int(rng.integers(config.shock_steps[0], config.shock_steps[1] + 1)), config.horizon)
    begin = int(rng.integers(0, config.horizon - length + 1))
    shock = Ramp(begin, begin + length, size) if shocked else Constant()
    return path * shock.path(1.0, config.horizon, seconds, rng), volatility


class PlayedBySimulation:
    """One episode of `env` as a simulation of agents."""

    def __init__(self, env: LendingRowsEnv[Any], episode: int) -> None:
        self.env, config = env, env.config
        self.rng = episode_stream(env.name, config.split, episode)
        start = drawn_start(env, self.rng)
        self.yield_ppm, self.volatility = start.cash_yield_ppm, 0.0
        self.market = "CompoundV3.cUSDCv3" if env.name == "compound" else "AaveV3"
        pair = config.collateral, config.debt
        self.collateral, self.debt = pair
        self.borrower = ScriptedBorrower(self.market, *pair, opening_amounts(env.adapter, start))
        self.liquidator = PlainLiquidator(self.market, *pair)
        market: list[Agent] = [Bank(config.debt, self.yield_ppm, env.step_seconds)]
        prices = None
        if config.prices == "shocks":
            price_usd = env.adapter.terms.price_e8 / 10**8
            path, self.volatility = drawn_path(env, price_usd, self.rng)
            path = np.rint(path * 1e8) / 1e8
            prices = PricePaths({"WETH": np.append(path[1:], path[-1])}, env.step_seconds)
            market.append(PricePathAgent("oracle", feeds={"WETH": "Chainlink.ETH/USD"}))
        agents = [self.borrower, *market, self.liquidator]
        env.fleet.reset([env.rows - 1])  # the last row is the prepared world
        self.world = WorldState(env.fleet.fork(env.rows - 1), agents, seed=episode, prices=prices)
        blocks = [AgentBlock("borrower", [self.borrower]), AgentBlock("market", market)]
        blocks.append(AgentBlock("liquidator", [self.liquidator]))
        self.scheduler = Scheduler(
            self.world, blocks, step_blocks=config.step_blocks, halt_on_exception=True, ordering="shuffle"
        )
        self.scheduler.begin()
        self.steps, self.trend, self.last_return = 0, 0.0, 0.0
        self.first = self.last = self.exact()
        self.statuses: list[str] = []

    @property
    def fork(self) -> Fork:
        """The chain of the simulation."""
        return self.world.fork

    def step(self, share_ppm: int) -> tuple[float, bool]:
        """Run a tick with the action `share_ppm`; returns the reward and whether the borrower was liquidated."""
        self.borrower.share = share_ppm
        before = self.exact()
        actions, _ = self.scheduler.tick()
        self.statuses = [each.status for each in actions]
        self.steps += 1
        now = self.last = self.exact()
        self.last_return = float(portable.log(now["price_e8"] / before["price_e8"]))
        self.trend = TREND_KEPT * self.trend + (1.0 - TREND_KEPT) * self.last_return
        return self._reward(before, now), self.liquidator.liquidated

    def _reward(self, before: dict[str, int], now: dict[str, int]) -> float:
        if self.liquidator.liquidated:
            return -1.0
        start, unit = self.first["net_wealth_e8"], self.env.adapter.unit
        gained = now["net_wealth_e8"] - start
        if self.env.config.reward == "net_wealth":
            return gained / start if self.steps == self.env.config.horizon else 0.0
        if self.env.config.reward in {"carry", "guarded"}:
            moved = float(before["collateral"]) * float(now["price_e8"] - before["price_e8"]) / float(unit)
            carried = (now["net_wealth_e8"] - before["net_wealth_e8"] - moved) / start
            thin = max(1.15 - now["health_factor_wad"] / 1e18, 0.0) if self.env.config.reward == "guarded" else 0.0
            return carried - 0.02 * thin / 0.15
        health = [min(each["health_factor_wad"] / 1e18, 3.0) for each in (before, now)]
        return health[1] - health[0] - 0.01 * max(health[1] - 2.0, 0.0)

    def exact(self) -> dict[str, int]:
        """Figures read through the adapters, by their names in the environment."""
        account, lending = self.borrower.account, self.borrower.lending
        health, price = account.health(), lending.price_e8(self.collateral)
        cash = Erc20(self.fork, self.debt).balance_of(account.address)
        cash_value = cash * lending.price_e8(self.debt) // 10 ** lending.decimals(self.debt)
        borrow_rate, supply_rate = self._rates_wad()
        return {
            "collateral": account.supplied(self.collateral),
            "debt": account.debt(self.debt),
            "collateral_value_e8": health.collateral_value_e8,
            "debt_value_e8": health.debt_value_e8,
            "limit_e8": health.limit_e8,
            "headroom": self.borrower.headroom(),
            "health_factor_wad": health.health_factor_wad,
            "borrow_rate_wad": borrow_rate,
            "supply_rate_wad": supply_rate,
            "price_e8": price,
            "cash": cash,
            "cash_value_e8": cash_value,
            "block": self.fork.block_number,
            "timestamp": self.fork.timestamp,
            "net_wealth_e8": health.collateral_value_e8 + cash_value - health.debt_value_e8,
            "cash_yield_ppm": self.yield_ppm,
            "liquidated": self.liquidator.liquidated,
        }

    def _rates_wad(self) -> tuple[int, int]:
        market: Any = self.borrower.lending.market  # type: ignore[attr-defined]
        if self.market != "AaveV3":
            return market.rates().borrow_per_second_wad * YEAR_S, 0
        return (
            market.reserve(self.debt).variable_borrow_rate_ray // 10**9,
            market.reserve(self.collateral).supply_rate_ray // 10**9,
        )

    def observation(self) -> Sequence[np.float32]:
        """Observation of the borrower, computed independently of the environment."""
        now, first, tenths = self.last, self.first, 1e17
        value, unit = max(now["collateral_value_e8"], 1), self.env.adapter.debt_unit
        headroom_value = now["headroom"] * (self.borrower.lending.price_e8(self.debt) / unit)
        rate, cash_yield = now["borrow_rate_wad"] / tenths, self.yield_ppm / 1e5
        bounds = [
            (now["debt_value_e8"] / max(now["limit_e8"], 1), 0, 2),
            (now["debt_value_e8"] / value, 0, 2),
            (now["cash_value_e8"] / value, 0, 2),
            (headroom_value / value, 0, 1),
            (float(portable.log(now["price_e8"] / first["price_e8"])), -2, 2),
            (self.last_return * 10, -5, 5),
            (self.trend * 10, -5, 5),
            (self.volatility, 0, 10),
            (rate, 0, 10),
            (now["supply_rate_wad"] / tenths, 0, 10),
            (cash_yield, -10, 10),
            (cash_yield - rate, -10, 10),
            (now["net_wealth_e8"] / first["net_wealth_e8"] - 1, -2, 2),
            (float(portable.log(max(value / 1e8, 1.0))) / (10 * float(portable.log(10.0))), 0, 1),
            (1 - self.steps / self.env.config.horizon, 0, 1),
        ]
        return [np.float32(min(max(each, low), high)) for each, low, high in bounds]
