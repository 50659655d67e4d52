"""Liquidity provider that moves a Curve pool to recorded balances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mayavi.agents.base import Agent, Details, StepResult, World
from mayavi.protocols.curve.pool import CurveStableSwap

Funds = Callable[[str, bytes, int], None]
"""Function that funds an account with a token: `give(symbol, holder, amount)`."""


class CurveBalancesAgent(Agent):
    """Provider that deposits and withdraws until the pool holds the balances of a record.

    `record` maps steps to balances by coin, in smallest units. The balances are reached exactly if the pool's
    administrator takes no share of the fees. `holder` owns the LP tokens to burn.
    """

    def __init__(
        self, name: str, *, pool: str, record: Mapping[int, Mapping[str, int]], holder: bytes, give: Funds
    ) -> None:
        super().__init__(name)
        self.pool, self.record, self.holder = pool, dict(record), holder
        self._give = give

    def step(self, world: World, step_idx: int) -> StepResult:
        """Move the pool if the record has balances for this step."""
        wanted = self.record.get(step_idx)
        if wanted is None:
            return self.rests("the record has no balances here")
        return self.does("rebalance", lambda: self._move(world, wanted), details={"pool": self.pool})

    def _move(self, world: World, wanted: Mapping[str, int]) -> Details:
        pool = CurveStableSwap(world.fork, self.pool)
        symbols = [coin.symbol for coin in pool.coins]
        changes = [wanted[symbol] - held for symbol, held in zip(symbols, pool.balances, strict=True)]
        removed = {symbol: -change for symbol, change in zip(symbols, changes, strict=True) if change < 0}
        added = {symbol: change for symbol, change in zip(symbols, changes, strict=True) if change > 0}
        if added:
            for symbol, amount in added.items():
                self._give(symbol, self.holder, amount)
            pool.add_liquidity(added, sender=self.holder)
        if removed:
            pool.remove_liquidity_imbalance(removed, sender=self.holder)
        return _facts(symbols, pool.balances)


def _facts(symbols: Sequence[str], balances: Sequence[int]) -> Details:
    return {f"balance_{symbol}": held for symbol, held in zip(symbols, balances, strict=True)}
