"""An episode of the liquidator environment, played through the scheduler by scripted agents."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from math import log
from typing import Any

from mayavi import Fork
from mayavi.agents.trading.selling import sqrt_price_x96
from mayavi.gym_env.episodes import episode_stream
from mayavi.gym_env.liquidator.config import LiquidatorConfig
from mayavi.gym_env.liquidator.start import start_of
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.chainlink.price_feed import PriceFeed
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3
from tests.gym_env.lending.by_hand import (
    FOREVER,
    MILLION,
    UNLIMITED_FUNDS,
    WETH_USDC,
    ByHand,
    Facts,
    Scripted,
    approve_router,
    arbitrage,
    rich,
)

E8, WAD = 10**8, 10**18


class LiquidatorByHand:
    """One episode, played by scripted agents: a price feed, an arbitrageur, the borrowers and the liquidator."""

    def __init__(self, config: LiquidatorConfig, number: int, actions: list[Any]) -> None:
        self.config, self.number, self.actions = config, number, actions
        self.names = [f"liquidator.borrower-{at}" for at in range(config.borrowers)]
        self.seen: list[Facts] = []
        self.debts: list[int] = []
        feed = Scripted("feed", self.set_stage, self.post)
        market = Scripted("liquidator.arbitrageur", rich, self.arbitrage)
        crowd = [Scripted(name, lambda *_: None, self.opens(at)) for at, name in enumerate(self.names)]
        player = Scripted("liquidator", self.fund, self.liquidate)
        self.hand = ByHand([feed, market, *crowd, player], config.step_blocks)

    def set_stage(self, fork: Fork, address: bytes) -> None:
        """Names decide who prepares first, and the feed comes first: it sets the stage for all."""
        del address
        self.market = AaveV3(fork)
        rng = episode_stream("liquidator", self.config.split, self.number)
        price_e8 = self.market.reserve("WETH").price_usd_e8
        self.start = start_of(self.config, price_e8, WAD, self.config.step_blocks * 12, rng)
        self.pool = UniswapV3(fork).pool(*WETH_USDC)
        if self.config.pool_depth < 1:
            for position in UniswapV3(fork).positions_of("Mayavi.Market"):
                if position.pool.address == self.pool.address:
                    position.decrease(position.liquidity - int(position.liquidity * self.config.pool_depth))
        fork.mine(self.start.blocks)

    def post(self, fork: Fork, address: bytes, step: int) -> None:
        del address
        PriceFeed(fork, "Chainlink.ETH/USD").move(self.start.price_e8[step])

    def arbitrage(self, fork: Fork, address: bytes, step: int) -> None:
        price = Fraction(self.start.price_e8[step], E8)
        root = sqrt_price_x96(price, 18, 6, token0=self.pool.token0.symbol == "WETH")
        arbitrage(fork, address, root, self.start.recovery_ppm if step else MILLION)

    def opens(self, at: int) -> Callable[[Fork, bytes, int], None]:
        """Return the action of a borrower, who opens a loan in the first step."""

        def act(fork: Fork, address: bytes, step: int) -> None:
            if step:
                return
            collateral, health = self.start.collateral[at], self.start.health_factor_ppm[at]
            fork.deal("WETH", address, collateral)
            account = self.market.account(address)
            account.supply("WETH", collateral)
            value = collateral * self.start.price_e8[0] * 8_300 * MILLION * 10**6
            debt = value // (WAD * 10_000 * health * account.market.reserve("USDC").price_usd_e8)
            account.borrow("USDC", debt)
            self.debts.append(debt)

        return act

    def fund(self, fork: Fork, address: bytes) -> None:
        approve_router(fork, address)
        capital = UNLIMITED_FUNDS if self.config.capital is None else self.config.capital
        fork.deal("USDC", address, int(capital * 10**6))
        Erc20(fork, "USDC").approve("AaveV3.Pool", FOREVER, sender=address)

    def liquidate(self, fork: Fork, address: bytes, step: int) -> Facts:
        """Note what is seen, then liquidate as the action says and sell what was seized."""
        accounts = [self.market.account(self.hand.scheduler.world.address(name)) for name in self.names]
        data = [each.data().health_factor_wad for each in accounts]
        debts = [each.debt("USDC") for each in accounts]
        money = Erc20(fork, "USDC").balance_of(address)
        most, order = self.ranked(accounts, data, debts, step)
        self.seen.append(
            {
                "price_usd_e8": self.start.price_e8[step],
                "pool_sqrt_price_x96": self.pool.sqrt_price_x96,
                "money_usdc": money,
                "collateral_wei": [each.supplied("WETH") for each in accounts],
                "debt_usdc": debts,
                "health_factor_wad": data,
                "gas_price_wei": self.start.gas_price_wei,
                "block": fork.block_number,
                "timestamp": fork.timestamp,
                "observations": self.observed(accounts, money, most, order, step),
            }
        )
        if step >= len(self.actions) or not any(debts):
            return {}
        rank, share_ppm = chosen(self.config, self.actions[step])
        at = order[rank]
        cover = min(most[at] * share_ppm // MILLION, money)
        if not cover:
            return {}
        done = self.market.account(address).liquidate(accounts[at].address, "WETH", "USDC", cover)
        seized = Erc20(fork, "WETH").balance_of(address)
        swap = UniswapV3(fork).swap_exact_input(WETH_USDC, seized, sender=address, deadline=FOREVER)
        return {"paid": done.covered, "seized": seized, "received": swap.amount_out}

    def ranked(
        self, accounts: list[Any], health: list[int], debts: list[int], step: int
    ) -> tuple[list[int], list[int]]:
        """Most that can be repaid for each borrower, and the borrowers in the order that actions name them."""
        price_e8 = self.start.price_e8[step]
        left = [each.supplied("WETH") * price_e8 > WAD * E8 // 10_000 for each in accounts]  # more than 0.0001 dollars
        most = [
            (debt * bps + 5_000) // 10_000 if each < WAD and kept else 0
            for debt, each, kept in zip(debts, health, left, strict=True)
            for bps in [10_000 if each < 95 * WAD // 100 else 5_000]
        ]
        order = sorted(
            range(self.config.borrowers),
            key=lambda at: (
                (2, 0, at) if not left[at] else (0, -most[at], at) if health[at] < WAD else (1, health[at], at)
            ),
        )
        return most, order

    def observed(self, accounts: list[Any], money: int, most: list[int], order: list[int], step: int) -> list[float]:
        """The observation, from what the adapters and the quoter say."""
        start, pool = self.start, self.pool
        price, before = start.price_e8[step] / E8, start.price_e8[max(step - 1, 0)] / E8
        debts = sum(self.debts) / 10**6
        scale = debts * 0.05
        gas_usd = 520_000 * start.gas_price_wei / WAD * price
        year = self.config.step_blocks * 12 / (365 * 86_400)
        entries = [
            1 - step / self.config.horizon,
            5 * log(price / (start.price_e8[0] / E8)),
            20 * log(price / before),
            100 * log(float(pool.price("WETH")) / price),
            money / 10**6 / debts,
            100 * gas_usd / scale,
            start.recovery_ppm / MILLION,
            50 * start.volatility * year**0.5,
        ]
        depth = pool.liquidity * pool.sqrt_price_x96 / 2**96 / WAD
        for at in order:
            health = accounts[at].data().health_factor_wad / WAD
            paid = min(most[at] / 10**6, money / 10**6)
            gross = min(paid / price * 1.05, accounts[at].supplied("WETH") / WAD)
            paid = min(paid, gross * price / 1.05)
            seized = gross / 1.05 * 1.045
            received = UniswapV3(pool.fork).quote_exact_input(WETH_USDC, max(int(seized * WAD), 1)).amount_out / 10**6
            profit = received - paid - gas_usd if paid else 0.0
            owed = accounts[at].debt("USDC") / 10**6
            entries += [
                10 * (min(health, 1e6) - 1),
                owed / debts,
                paid / debts,
                10 * seized / depth,
                10 * profit / scale,
            ]
        lows = [0, -10, -10, -10, 0, 0, 0, 0, *[-10, 0, 0, 0, -10] * len(order)]
        highs = [1, 10, 10, 10, 10, 10, 1, 10, *[10] * 5 * len(order)]
        return [min(max(each, low), high) for each, low, high in zip(entries, lows, highs, strict=True)]

    def play(self) -> list[Facts]:
        """Play the episode: what is seen before each action, and at the end."""
        did: Facts = {}
        for _ in range(len(self.actions) + 1):
            (row,) = [each for each in self.hand.tick() if each.agent == "liquidator"]
            for name, unit in (("paid", "usdc"), ("seized", "wei"), ("received", "usdc")):
                self.seen[-1][f"{name}_{unit}"] = int(did.get(name, 0))
            self.seen[-1]["gas_used"] = int(did.get("gas", 0))
            did = json.loads(row.details) | {"gas": row.gas_used}
            if not any(self.seen[-1]["debt_usdc"]):
                break
        self.seen[0]["scale"] = sum(self.debts) / 10**6 * 0.05
        return self.seen


def chosen(config: LiquidatorConfig, action: Any) -> tuple[int, int]:
    """The rank and the share of an action."""
    if config.actions == "continuous":
        rank = min(int((float(action[0]) + 1) / 2 * config.borrowers), config.borrowers - 1)
        return rank, round(max(float(action[1]), 0.0) * MILLION)
    if not action:
        return 0, 0
    rank, which = divmod(int(action) - 1, 3)
    return rank, (250_000, 500_000, 1_000_000)[which]


def by_hand(config: LiquidatorConfig, number: int, actions: list[Any]) -> list[Facts]:
    """An episode driven through the scheduler: what is seen before each action, and at the end."""
    return LiquidatorByHand(config, number, actions).play()
