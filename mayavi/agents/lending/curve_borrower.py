"""Somebody who multiplies a stablecoin on Aave through Curve, and runs when it loses its peg."""

from __future__ import annotations

from mayavi.agents.base import Agent, StepResult, World
from mayavi.agents.lending.behaviours import Move, shown
from mayavi.agents.lending.loan import Loan
from mayavi.agents.lending.market import watched
from mayavi.agents.quantities import MILLION, Number, as_ppm, as_wad
from mayavi.agents.trading.exchange import CurveExchange
from mayavi.errors import BadArgument
from mayavi.protocols.health import NO_DEBT


class CurveBorrowerAgent(Agent):
    """Loops one stablecoin against another: supply, borrow the other, exchange it on Curve, supply again.

    In `prepare` it puts up `amount` of `collateral` and then, `loops` times, borrows `debt` down to the health factor
    `target`, exchanges it on `pool` for more collateral, and puts that up too. Its bet is that both coins stay at par:
    it earns the difference of their rates on a multiple of its money.

    Each step it asks the pool what one whole `collateral` brings in `debt`, fee included. When that has fallen below
    one by `depeg` or more, it unwinds: withdraws what it may, exchanges it on the same pool, repays, and so on until no
    debt is left, then takes the rest back. That is what makes a depeg worse for those who come later: everybody sells
    the weak coin into the same pool. Where the coin brings less than `floor` it is too late, and it holds. Before a
    depeg it repays in the same way when its health factor falls below `low`.

        CurveBorrowerAgent("looper", collateral="USDC", amount=10**12, debt="DAI", pool="Curve.3pool", target=1.1)
    """

    def __init__(
        self,
        name: str,
        *,
        collateral: str,
        amount: int,
        debt: str,
        pool: str,
        target: Number,
        loops: int = 3,
        depeg: Number = "0.01",
        floor: Number = "0.5",
        low: Number = "1.02",
        market: str = "AaveV3",
    ) -> None:
        super().__init__(name)
        if loops < 0 or amount <= 0:
            raise BadArgument(f"'{name}' puts up {amount} {collateral} in {loops} loops", "give an amount above zero")
        self.collateral, self.amount, self.debt, self.pool, self.market = collateral, amount, debt, pool, market
        self.target_wad, self.low_wad, self.loops = as_wad(target), as_wad(low), loops
        if not self.low_wad <= self.target_wad:
            raise BadArgument(f"a target of {target} is below {low}, where '{name}' repays", "give a higher target")
        self.depeg_ppm, self.floor_ppm = as_ppm(depeg, "a depeg"), as_ppm(floor, "a floor")

    @property
    def accounts(self) -> tuple[str, ...]:
        """The name it acts under."""
        return (self.name,)

    def prepare(self, world: World) -> None:
        """Open the position, loop by loop."""
        fork, self.address = world.fork, world.address(self.name)
        self.way_out = CurveExchange(fork, self.pool, self.collateral, self.debt)
        way_in = CurveExchange(fork, self.pool, self.debt, self.collateral)
        self.loan = Loan(fork, self.market, self.collateral, self.debt, self.way_out)
        fork.deal(self.collateral, self.address, self.amount)
        account = self.loan.lending.account(self.address)
        account.supply(self.collateral, self.amount)
        for _ in range(self.loops):
            health = account.health()
            room = min(health.debt_value_at(self.target_wad), health.borrow_limit_e8) - health.debt_value_e8 - 1
            amount = self.loan.lending.loan_of(self.debt, room) if room > 0 else 0
            if not amount:
                break
            account.borrow(self.debt, amount)
            account.supply(self.collateral, way_in.sell(amount, sender=self.address).amount_out)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Look at the peg and the health factor; unwind, repay or rest."""
        del step_idx
        health = watched(world, self.loan.lending, (self.address,))[0]
        factor = health.health_factor_wad
        if factor == NO_DEBT:
            return self.rests("it is out")
        peg = world.observe(("peg", self.way_out), self.way_out.peg_ppm)
        told = f"one {self.collateral} brings {peg / MILLION:.6f} {self.debt}"
        if peg < self.floor_ppm:
            return self.rests(f"{told}: it is too late")
        if peg <= MILLION - self.depeg_ppm:
            move = Move("exit", f"{told}: the peg is lost")
        elif factor < self.low_wad:
            why = f"health factor {shown(factor)} is below {shown(self.low_wad)}"
            move = Move("repay", why, self.target_wad, sells_collateral=True)
        else:
            return self.rests(f"{told}, health factor {shown(factor)}")
        intent = self.loan.intent(self.name, self.address, move, health, peg_ppm=peg)
        return self.rests(f"{move.why}, and nothing can be done") if intent is None else StepResult((intent,), move.why)
