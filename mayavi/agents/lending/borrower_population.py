"""Population of borrowers in one agent: drawn from distributions, read at once, acting individually."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mayavi.agents.base import Agent, StepResult, World
from mayavi.agents.lending.behaviours import Behaviour, Passive
from mayavi.agents.lending.borrower import drop_ppm, spend
from mayavi.agents.lending.loan import Loan
from mayavi.agents.lending.market import addresses_of, read_healths
from mayavi.agents.quantities import MILLION, Number, as_ppm, as_wad, units_of
from mayavi.agents.trading.exchange import UniswapExchange
from mayavi.errors import BadArgument
from mayavi.markets.distributions import Choice, Distribution, Spec, distribution_of
from mayavi.protocols.uniswap.route import RouteLike

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BorrowerPopulation(Agent):
    """Population of `members` borrowers; member `i` acts as the account `<name>-<i>`.

    `collateral_amount`, in whole tokens, and `target`, the health factor at opening, are distributions or plain
    numbers; `behaviours` are pairs of a behaviour and its weight. Each has its own random stream, `<name>.collateral`,
    `<name>.target` and `<name>.behaviour`, so member `i` does not depend on the number of members. A target below the
    lowest health factor the market lends at is raised to it.

    A step reads all members at once, compares them with the bounds of their behaviours, and asks only those outside:
    one intent per acting member. Everything else is as in `BorrowerAgent`.
    """

    def __init__(
        self,
        name: str,
        *,
        members: int,
        collateral: str,
        collateral_amount: Spec | Distribution,
        debt: str,
        target: Spec | Distribution,
        behaviours: Sequence[tuple[Behaviour, float]] = ((Passive(), 1.0),),
        market: str = "AaveV3",
        route: RouteLike | None = None,
        cash_share: Number = 0,
    ) -> None:
        super().__init__(name)
        if type(members) is not int or members < 1:
            raise BadArgument(f"a population cannot have {members!r} members", "give a whole number above zero")
        if not behaviours:
            raise BadArgument("a population without behaviours does nothing", "Passive() is one")
        self.members = members
        self.market, self.collateral, self.debt, self.route = market, collateral, debt, route
        self.collateral_amount, self.target = distribution_of(collateral_amount), distribution_of(target)
        self.behaviours = tuple(behaviour for behaviour, _ in behaviours)
        self._lots = Choice(tuple(range(len(behaviours))), tuple(float(weight) for _, weight in behaviours))
        self.cash_ppm = as_ppm(cash_share, "a share of cash")

    @property
    def accounts(self) -> tuple[str, ...]:
        """Names of the members' accounts."""
        return tuple(f"{self.name}-{member}" for member in range(self.members))

    # -- preparation --------------------------------------------------------------------------------------------------

    def prepare(self, world: World) -> None:
        """Draw the members and open their loans."""
        self.addresses = addresses_of(world, self.accounts)
        exchange = None if self.route is None else UniswapExchange(world.fork, self.route)
        self.loan = Loan(world.fork, self.market, self.collateral, self.debt, exchange)
        lending = self.loan.lending
        decimals = lending.decimals(self.collateral)
        self.amounts = [units_of(float(each), decimals) for each in self._draw(world, "collateral")]
        self.targets_wad = [as_wad(float(each)) for each in self._draw(world, "target")]
        self.behaviour_of = [int(each) for each in self._draw(world, "behaviour")]
        holders = list(self.addresses)
        self.loans = self.loan.open_many(holders, self.amounts, self.targets_wad, payer=world.address(self.name))
        if self.cash_ppm < MILLION:
            spend(world, self.debt, holders, self.loans, self.cash_ppm)
        self.opening_price_e8 = lending.price_e8(self.collateral)
        pairs = zip(self.behaviour_of, self.targets_wad, strict=True)
        bounds = [self.behaviours[behaviour].bounds(target) for behaviour, target in pairs]
        self._low: NDArray[np.uint64] = np.array([each.low_wad for each in bounds], dtype=np.uint64)
        self._high: NDArray[np.uint64] = np.array([each.high_wad for each in bounds], dtype=np.uint64)
        self._drop: NDArray[np.int64] = np.array([each.drop_ppm for each in bounds], dtype=np.int64)

    def _draw(self, world: World, what: str) -> NDArray[np.float64]:
        source = {"collateral": self.collateral_amount, "target": self.target, "behaviour": self._lots}[what]
        drawn = source.sample(self.members, world.rng(f"{self.name}.{what}"))
        least = {"behaviour": 0.0, "collateral": np.nextafter(0.0, 1.0), "target": np.nextafter(1.0, 2.0)}[what]
        if not np.all(drawn >= least):
            member = int(np.argmin(drawn))
            if what == "target":
                raise BadArgument(
                    f"member {member} of '{self.name}' draws a health factor of {drawn[member]:.4f}: at 1 and below "
                    "a loan can be liquidated at once",
                    "bound the distribution above 1, such as `between: [1.05, 3]`",
                )
            raise BadArgument(
                f"member {member} of '{self.name}' draws a {what} of {drawn[member]}",
                "bound the distribution above zero",
            )
        return drawn

    # -- steps --------------------------------------------------------------------------------------------------------

    def step(self, world: World, step_idx: int) -> StepResult:
        """Read all borrowers; return the intents of each borrower outside its health-factor bounds."""
        del step_idx
        healths = read_healths(world, self.loan.lending, self.addresses)
        drop = drop_ppm(world, self.loan, self.opening_price_e8)
        beyond = (healths.factors < self._low) | (healths.factors > self._high) | (drop >= self._drop)
        intents = []
        for member in np.flatnonzero(beyond).tolist():
            health = healths[member]
            behaviour = self.behaviours[self.behaviour_of[member]]
            move = behaviour.decide(health.health_factor_wad, drop, self.targets_wad[member])
            if move is None:
                continue
            account, address = f"{self.name}-{member}", self.addresses[member]
            intent = self.loan.intent(account, address, move, health)
            if intent is not None:
                intents.append(intent)
        at_risk = int(np.count_nonzero(healths.liquidatable))
        return StepResult(tuple(intents), f"{len(intents)} of {self.members} act, {at_risk} can be liquidated")
