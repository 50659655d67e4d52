"""Borrower that opens a loan at a health factor and then follows a behaviour."""

from __future__ import annotations

from mayavi.agents.base import Agent, StepResult, World
from mayavi.agents.lending.behaviours import Behaviour, KeepsBand, format_health
from mayavi.agents.lending.loan import Loan
from mayavi.agents.lending.market import read_healths
from mayavi.agents.quantities import MILLION, Number, as_ppm, as_wad
from mayavi.agents.trading.exchange import UniswapExchange
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.route import RouteLike

OUTSIDE = "outside"
"""Name of the passive account that receives the tokens that borrowers spend."""


class BorrowerAgent(Agent):
    """Borrower of `debt` against `collateral_amount` of `collateral`, opened at the health factor `target`.

    `prepare` opens the loan: `cash_share` of the debt stays as cash, the rest is spent, and `cash` is added on top. By
    default it keeps its health factor between nine tenths and five fourths of the target: below, it repays with cash
    first and then by selling collateral over `route`; above, it borrows more. Other behaviours are `KeepsBand`,
    `Panics` and `Passive`. `market` is `AaveV3`, `Spark` or a Compound market.

        BorrowerAgent("alice", collateral="WETH", collateral_amount=10**18, debt="USDC", target=1.5,
                      behaviour=KeepsBand(1.3, 2), route=("WETH", "USDC", 500))
    """

    def __init__(
        self,
        name: str,
        *,
        collateral: str,
        collateral_amount: int,
        debt: str,
        target: Number,
        behaviour: Behaviour | None = None,
        market: str = "AaveV3",
        route: RouteLike | None = None,
        cash: int = 0,
        cash_share: Number = 1,
    ) -> None:
        super().__init__(name)
        self.market, self.collateral, self.debt, self.route = market, collateral, debt, route
        self.collateral_amount = collateral_amount
        self.target_wad = as_wad(target)
        if self.target_wad <= WAD:
            raise BadArgument(
                f"a health factor of {target} is not a valid target: at 1 and below a loan can be liquidated at once",
                "give one above 1, such as 1.5",
            )
        self.behaviour = KeepsBand("0.9", "1.25", around=True) if behaviour is None else behaviour
        self.cash, self.cash_ppm = cash, as_ppm(cash_share, "a share of cash")

    @property
    def accounts(self) -> tuple[str, ...]:
        """Name of its account."""
        return (self.name,)

    def prepare(self, world: World) -> None:
        """Open the loan."""
        self.address = world.address(self.name)
        exchange = None if self.route is None else UniswapExchange(world.fork, self.route)
        self.loan = Loan(world.fork, self.market, self.collateral, self.debt, exchange)
        holders = [self.address]
        loans = self.loan.open_many(holders, [self.collateral_amount], [self.target_wad], payer=self.address)
        spend(world, self.debt, holders, loans, self.cash_ppm, self.cash)
        self.opening_price_e8 = self.loan.lending.price_e8(self.collateral)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Read health factor and price, and follow the behaviour."""
        del step_idx
        lending = self.loan.lending
        health = read_healths(world, lending, (self.address,))[0]
        factor = health.health_factor_wad
        if factor == NO_DEBT:
            return self.rests("no debt")
        drop = drop_ppm(world, self.loan, self.opening_price_e8)
        move = self.behaviour.decide(factor, drop, self.target_wad)
        if move is None:
            return self.rests(f"health factor {format_health(factor)} is as it should be")
        intent = self.loan.intent(self.name, self.address, move, health)
        if intent is None:
            return self.rests(f"{move.reason}, and there is nothing to do it with")
        return StepResult((intent,), move.reason)


def drop_ppm(world: World, loan: Loan, opening_price_e8: int) -> int:
    """Return the fall of the collateral's price, as the lending market sees it, since opening, in millionths."""
    lending = loan.lending
    price = world.observe(("price", lending.name, loan.collateral), lambda: lending.price_e8(loan.collateral))
    return max(0, (opening_price_e8 - price) * MILLION // opening_price_e8)


def spend(world: World, debt: str, holders: list[bytes], loans: list[int], cash_ppm: int, cash: int = 0) -> None:
    """Send the holders' loans to `OUTSIDE`, except `cash_ppm` millionths, and add `cash` to each."""
    token, outside = Erc20(world.fork, debt), world.address(OUTSIDE)
    for holder, loan in zip(holders, loans, strict=True):
        spent = loan - loan * cash_ppm // MILLION
        if spent:
            token.contract.transfer(outside, spent, sender=holder)
        if cash:
            world.fork.deal(token.address, holder, loan - spent + cash)
