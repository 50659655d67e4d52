"""Arbitrageur between a Curve pool and the outside prices."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import NamedTuple

from mayavi.agents.base import Agent, Details, StepResult, World
from mayavi.agents.gas import gas_value_e8
from mayavi.agents.oracle.reference import ReferencePrices
from mayavi.errors import ActionRefused
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.protocols.tokens import Erc20

_POINTS = 24
_ROUNDS = 3
_GAS = 250_000  # estimate: an exchange and two approvals


class _Trade(NamedTuple):
    coin_in: str
    coin_out: str
    amount_in: int
    gain_e8: int


class CurveArbitrageur(Agent):
    """Arbitrageur on a Curve pool that exchanges the most profitable pair of coins, after fee and gas.

    The profit rises with the amount to a peak and falls again; the peak is found by quoting a row of amounts, then
    again between the neighbours of the best. It trades from `capital`, by coin in smallest units, and does not
    rebalance. Prices are those of `reference`.
    """

    every_block = True

    def __init__(
        self,
        name: str,
        *,
        pool: str,
        capital: Mapping[str, int],
        reference: ReferencePrices,
        priority_fee_wei: int = 0,
    ) -> None:
        super().__init__(name)
        self.pool, self.capital, self.reference = pool, dict(capital), reference
        self.priority_fee_wei = priority_fee_wei
        self.short_of_capital = 0
        """Blocks in which it traded all it had of a coin."""

    def prepare(self, world: World) -> None:
        """Take the capital."""
        self.address = world.address(self.name)
        self.curve = CurveStableSwap(world.fork, self.pool)
        self.coins = tuple(coin.symbol for coin in self.curve.coins)
        self.units = {coin.symbol: int(10**coin.decimals) for coin in self.curve.coins}
        for coin, amount in self.capital.items():
            world.fork.deal(coin, self.address, amount)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Find the most profitable exchange and return its intent."""
        del step_idx
        prices = {coin: self.reference.usd_e8(world, coin) for coin in self.coins}
        gas = gas_value_e8(world, _GAS, priority_fee_wei=self.priority_fee_wei)
        best: _Trade | None = None
        for coin_in, coin_out in permutations(self.coins, 2):
            trade = self._best(world, coin_in, coin_out, prices)
            dust = -(-prices[coin_out] // self.units[coin_out])  # an exchange may pay a unit less than its quote
            if trade is not None and trade.gain_e8 > gas + dust and (best is None or trade.gain_e8 > best.gain_e8):
                best = trade
        if best is None:
            return self.rests("the pool is near the prices outside")
        chosen = best
        self.short_of_capital += chosen.amount_in == Erc20(world.fork, chosen.coin_in).balance_of(self.address)
        details: Details = {
            "pool": self.pool,
            "token_in": chosen.coin_in,
            "token_out": chosen.coin_out,
            "expected_profit_e8": chosen.gain_e8 - gas,
        }
        return self.does(
            "arbitrage",
            lambda: self._execute(chosen, prices),
            details=details,
            priority_fee_wei=self.priority_fee_wei,
            note=f"{chosen.coin_out} is cheap",
        )

    def _best(self, world: World, coin_in: str, coin_out: str, prices: Mapping[str, int]) -> _Trade | None:
        held = Erc20(world.fork, coin_in).balance_of(self.address)
        low, high = min(self.units[coin_in], held), held
        if not held or self._gains(coin_in, coin_out, [low], prices)[0] <= 0:
            return None
        amounts = sorted({low * (1 << power) for power in range(_POINTS * 2) if low << power < high} | {high})
        for _ in range(_ROUNDS):
            gains = self._gains(coin_in, coin_out, amounts, prices)
            at = max(range(len(amounts)), key=gains.__getitem__)
            found = _Trade(coin_in, coin_out, amounts[at], gains[at])
            low, high = amounts[max(at - 1, 0)], amounts[min(at + 1, len(amounts) - 1)]
            amounts = sorted({low + (high - low) * part // _POINTS for part in range(_POINTS + 1)} | {found.amount_in})
        return found

    def _gains(self, coin_in: str, coin_out: str, amounts: list[int], prices: Mapping[str, int]) -> list[int]:
        outs = self.curve.quote_many(coin_in, coin_out, amounts)
        return [self._gain(coin_in, coin_out, sold, bought, prices) for sold, bought in zip(amounts, outs, strict=True)]

    def _gain(self, coin_in: str, coin_out: str, sold: int, bought: int, prices: Mapping[str, int]) -> int:
        return bought * prices[coin_out] // self.units[coin_out] - -(-sold * prices[coin_in] // self.units[coin_in])

    def _execute(self, trade: _Trade, prices: Mapping[str, int]) -> Details:
        """Exchange at the current quote; do nothing if others have taken the profit."""
        bought = self.curve.quote(trade.coin_in, trade.coin_out, trade.amount_in)
        if self._gain(trade.coin_in, trade.coin_out, trade.amount_in, bought, prices) <= 0:
            raise ActionRefused(f"{trade.coin_out} is no longer cheap on {self.pool}", "somebody was faster")
        done = self.curve.exchange(trade.coin_in, trade.coin_out, trade.amount_in, sender=self.address)
        gain = self._gain(trade.coin_in, trade.coin_out, trade.amount_in, done.received, prices)
        return {"amount_in": trade.amount_in, "amount_out": done.received, "profit_e8": gain}
