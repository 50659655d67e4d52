"""Borrower whose loan is opened by a recorded action in its first step."""

from __future__ import annotations

from mayavi.agents.base import Details, Intent, StepResult, World
from mayavi.agents.lending.borrower import OUTSIDE, BorrowerAgent
from mayavi.agents.lending.loan import Loan
from mayavi.agents.quantities import MILLION
from mayavi.agents.trading.exchange import UniswapExchange
from mayavi.protocols.tokens import Erc20


class OpeningBorrower(BorrowerAgent):
    """`BorrowerAgent` with a fixed `debt_amount` that opens its loan in step 0 instead of before it.

    `prepare` only gives it the collateral. In step 0 it supplies and borrows, both or neither, and spends all but
    `cash_share` of the debt. If the market refuses, it tries again in the next step. From step 1 on it behaves like any
    borrower; the health factor at opening is its target.
    """

    def __init__(self, name: str, *, debt_amount: int, **options: object) -> None:
        super().__init__(name, target=2, **options)  # type: ignore[arg-type]  # as BorrowerAgent takes them
        self.debt_amount = debt_amount
        self.opened = False

    def prepare(self, world: World) -> None:
        """Take the collateral."""
        self.address = world.address(self.name)
        exchange = None if self.route is None else UniswapExchange(world.fork, self.route)
        self.loan = Loan(world.fork, self.market, self.collateral, self.debt, exchange)
        self.opening_price_e8 = self.loan.lending.price_e8(self.collateral)
        self.loan.lending.decimals(self.debt)  # the market knows the debt from now on
        world.fork.deal(self.collateral, self.address, self.collateral_amount)
        if self.cash:
            world.fork.deal(self.debt, self.address, self.cash)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Open the loan, then follow the behaviour."""
        if self.opened:
            return super().step(world, step_idx)
        wanted: Details = {
            "collateral": self.collateral,
            "supplied": self.collateral_amount,
            "debt": self.debt,
            "borrowed": self.debt_amount,
        }
        return StepResult((Intent("open", lambda: self._open(world), wanted),), "opens its loan")

    def _open(self, world: World) -> Details:
        """Supply and borrow, both or neither."""
        account = self.loan.lending.account(self.address)
        account.supply(self.collateral, self.collateral_amount)
        account.borrow(self.debt, self.debt_amount)
        spent = self.debt_amount - self.debt_amount * self.cash_ppm // MILLION
        if spent:
            Erc20(world.fork, self.debt).transfer(world.address(OUTSIDE), spent, sender=self.address)
        self.target_wad = account.health().health_factor_wad
        self.opening_price_e8 = self.loan.lending.price_e8(self.collateral)
        self.opened = True
        return {"health_factor_after_wad": self.target_wad}
