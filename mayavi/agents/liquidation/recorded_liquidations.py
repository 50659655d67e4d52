"""Replay of recorded liquidations: each by its own account, at its own time, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.lending.market import LendingMarket, LiquidationQuote
from mayavi.agents.lending.open_market import lending_market


class RecordedLiquidation(NamedTuple):
    """Liquidation of a record, in smallest units."""

    step: int
    liquidator: str
    borrower: str
    """Name of the account in the run."""
    collateral: str
    debt: str
    repaid: int
    seized: int | None
    """None where the record does not say."""


class RecordedLiquidationsAgent(Agent):
    """Liquidators that send the recorded calls with the recorded amounts of debt.

    Each liquidator starts with the debt asset it repays in all, and keeps what it seizes. `details` of an action hold
    the recorded amounts beside those of this run. Under the ordering `fifo` calls of one step keep their order.
    """

    def __init__(self, name: str, *, market: str, calls: Sequence[RecordedLiquidation]) -> None:
        super().__init__(name)
        self.market, self.calls = market, tuple(calls)
        self._by_step: dict[int, list[RecordedLiquidation]] = {}
        for call in self.calls:
            self._by_step.setdefault(call.step, []).append(call)

    def account(self, liquidator: str) -> str:
        """Return the account name of a recorded liquidator."""
        return f"{self.name}-{liquidator}"

    def prepare(self, world: World) -> None:
        """Give every liquidator what it repays."""
        self.lending: LendingMarket = lending_market(world.fork, self.market)
        needed: dict[tuple[str, str], int] = {}
        for call in self.calls:
            needed[call.liquidator, call.debt] = needed.get((call.liquidator, call.debt), 0) + call.repaid
        for (liquidator, debt), amount in sorted(needed.items()):
            world.fork.deal(debt, world.address(self.account(liquidator)), amount)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Return the calls of this step."""
        due = self._by_step.get(step_idx, [])
        if not due:
            return self.rests("the record has no liquidation here")
        return StepResult(tuple(self._intent(world, call) for call in due))

    def _intent(self, world: World, call: RecordedLiquidation) -> Intent:
        liquidator, borrower = world.address(self.account(call.liquidator)), world.address(call.borrower)
        quote = LiquidationQuote(
            borrower, call.collateral, call.debt, call.repaid, call.repaid, call.seized or 0, asks=call.repaid
        )

        def run() -> Details:
            done = self.lending.liquidate(liquidator, quote)
            seized_e8, covered_e8 = (
                amount * self.lending.price_e8(asset) // int(10 ** self.lending.decimals(asset))
                for asset, amount in ((call.collateral, done.seized), (call.debt, done.covered))
            )
            return {
                "covered": done.covered,
                "paid": done.paid,
                "seized": done.seized,
                "covered_e8": covered_e8,
                "seized_e8": seized_e8,
                "profit_e8": seized_e8 - covered_e8,
            }

        details: dict[str, int | str | bool | None] = {
            "borrower": call.borrower,
            "collateral": call.collateral,
            "debt": call.debt,
            "recorded_covered": call.repaid,
        }
        if call.seized is not None:
            details["recorded_seized"] = call.seized
        return Intent("liquidate", run, details, self.account(call.liquidator))
