"""Replay of recorded trades: each by its own account, at its own time, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.errors import ActionRefused
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3

Funds = Callable[[str, bytes, int], None]
"""Function that funds an account with a token: `give(symbol, holder, amount)`."""


class RecordedTrade(NamedTuple):
    """Purchase for `amount` of the quote token, or sale of `amount` of the token, in smallest units."""

    step: int
    side: Literal["buy", "sell"]
    account: str
    amount: int
    recorded_out: int | None = None
    """Recorded output, if known."""


class RecordedTradesAgent(Agent):
    """Trader that replays a record of purchases and sales on one Uniswap V3 pool.

    Buyers receive what they spend before the first step. Sellers sell what they bought, plus their `holdings` from
    elsewhere; if the replay deviates from the record, a seller may hold less than recorded and then sells all it has.
    Trades of one step keep the order of the record under every ordering except `priority_fee`: each is an intent of its
    own account, and `fifo` keeps them in line.
    """

    def __init__(
        self,
        name: str,
        *,
        token: str,
        quote: str,
        fee: int,
        trades: Sequence[RecordedTrade],
        holdings: Mapping[str, int] | None = None,
        give: Funds,
    ) -> None:
        super().__init__(name)
        self.token, self.quote, self.fee = token, quote, fee
        self.trades = tuple(trades)
        self.holdings = dict(holdings or {})
        self._give = give
        self._by_step: dict[int, list[RecordedTrade]] = {}
        for trade in self.trades:
            self._by_step.setdefault(trade.step, []).append(trade)

    def account(self, trader: str) -> str:
        """Return the account name of a recorded trader."""
        return f"{self.name}-{trader}"

    def prepare(self, world: World) -> None:
        """Fund every buyer and every early holder."""
        spent: dict[str, int] = {}
        for trade in self.trades:
            spent.setdefault(trade.account, 0)
            if trade.side == "buy":
                spent[trade.account] += trade.amount
        for trader in sorted(spent.keys() | self.holdings.keys()):
            holder = world.address(self.account(trader))
            self._give(self.quote, holder, spent.get(trader, 0))
            self._give(self.token, holder, self.holdings.get(trader, 0))

    def step(self, world: World, step_idx: int) -> StepResult:
        """Return the trades of this step."""
        due = self._by_step.get(step_idx, [])
        if not due:
            return self.rests("the record has no trade here")
        return StepResult(tuple(self._intent(world, trade) for trade in due))

    def _intent(self, world: World, trade: RecordedTrade) -> Intent:
        holder = world.address(self.account(trade.account))

        def run() -> Details:
            uniswap = UniswapV3(world.fork)
            sold, bought = (self.quote, self.token) if trade.side == "buy" else (self.token, self.quote)
            held = Erc20(world.fork, sold).balance_of(holder)
            amount = min(trade.amount, held)
            if not amount:
                raise ActionRefused(f"'{trade.account}' has no {sold} to sell", "on the record it had some by then")
            swap = uniswap.swap_exact_input((sold, bought, self.fee), amount, sender=holder)
            facts: dict[str, int | str | bool | None] = {"amount_in": swap.amount_in, "amount_out": swap.amount_out}
            if amount < trade.amount:
                facts["missing"] = trade.amount - amount
            return facts

        sold, bought = (self.quote, self.token) if trade.side == "buy" else (self.token, self.quote)
        details: dict[str, int | str | bool | None] = {"token_in": sold, "token_out": bought, "wanted": trade.amount}
        if trade.recorded_out is not None:
            details["recorded_out"] = trade.recorded_out
        return Intent(trade.side, run, details, self.account(trade.account))
