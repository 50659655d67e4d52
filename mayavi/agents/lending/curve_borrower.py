"""Leveraged stablecoin borrower on Aave and Curve that exits when the peg breaks."""

from __future__ import annotations

from mayavi.agents.base import Agent, StepResult, World
from mayavi.agents.lending.behaviours import Move, format_health
from mayavi.agents.lending.loan import Loan
from mayavi.agents.lending.market import read_healths
from mayavi.agents.quantities import MILLION, Number, as_ppm, as_wad
from mayavi.agents.trading.exchange import CurveExchange
from mayavi.errors import BadArgument
from mayavi.protocols.health import NO_DEBT


class CurveBorrowerAgent(Agent):
    """Leveraged borrower of one stablecoin against another, looped through Curve.

    `prepare` supplies `amount` of `collateral` and then, `loops` times, borrows `debt` down to the health factor
    `target`, exchanges it on `pool` for more collateral and supplies that. It bets that both coins stay at par, and
    earns the difference of their rates on a multiple of its capital.

    Each step it quotes one whole `collateral` in `debt` on the pool, fee included. If that is below one by `depeg` or
    more, it unwinds: withdraws what it may, exchanges it on the same pool, repays, and repeats until no debt is left,
    then withdraws the rest. Such exits deepen a depeg, because all of them sell the weak coin into one pool. If the
    coin brings less than `floor` it is too late, and it holds. Before a depeg it repays in the same way if its health
    factor falls below `low`.

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
        """Name of its account."""
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
        """Read the peg and the health factor; unwind, repay or do nothing."""
        del step_idx
        health = read_healths(world, self.loan.lending, (self.address,))[0]
        factor = health.health_factor_wad
        if factor == NO_DEBT:
            return self.rests("it is out")
        peg = world.observe(("peg", self.way_out), self.way_out.peg_ppm)
        peg_note = f"one {self.collateral} brings {peg / MILLION:.6f} {self.debt}"
        if peg < self.floor_ppm:
            return self.rests(f"{peg_note}: it is too late")
        if peg <= MILLION - self.depeg_ppm:
            move = Move("exit", f"{peg_note}: the peg is lost")
        elif factor < self.low_wad:
            reason = f"health factor {format_health(factor)} is below {format_health(self.low_wad)}"
            move = Move("repay", reason, self.target_wad, sells_collateral=True)
        else:
            return self.rests(f"{peg_note}, health factor {format_health(factor)}")
        intent = self.loan.intent(self.name, self.address, move, health, peg_ppm=peg)
        return (
            self.rests(f"{move.reason}, and nothing can be done")
            if intent is None
            else StepResult((intent,), move.reason)
        )
