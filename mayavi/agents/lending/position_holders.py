"""Accounts with given positions on a lending market, in one agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mayavi.agents.base import Agent, StepResult, World
from mayavi.agents.lending.behaviours import NEVER_DROPS, Behaviour, Passive
from mayavi.agents.lending.borrower import OUTSIDE
from mayavi.agents.lending.market import addresses_of, read_healths
from mayavi.agents.lending.mixed_loan import MixedLoan
from mayavi.agents.lending.position_opening import (
    Opening,
    OpeningPosition,
    borrow_all,
    require_healthy,
    supply_all,
)
from mayavi.agents.quantities import MILLION, Number, as_ppm
from mayavi.errors import BadArgument
from mayavi.markets.distributions import Choice
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.route import RouteLike

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PositionHolders(Agent):
    """Accounts that start with `positions` and then follow a behaviour, drawn per account from `behaviours`.

    `prepare` opens the positions on the market's contracts: all collateral first, then efficiency modes, then debts.
    With `opens_beyond_limit` also debts that the market does not lend at current prices; `beyond_limit` has these
    accounts. A health factor below 1 is refused with a list, unless `allow_unhealthy`. `cash_share` of each debt stays
    as cash, the rest is spent. `routes` sell collateral for debts, by pair.

        PositionHolders("book", positions=[OpeningPosition("alice", {"WETH": 10**18}, {"USDC": 10**9})])
    """

    def __init__(
        self,
        name: str,
        *,
        positions: Sequence[OpeningPosition],
        market: str = "AaveV3",
        behaviours: Sequence[tuple[Behaviour, float]] = ((Passive(), 1.0),),
        routes: Mapping[tuple[str, str], RouteLike] | None = None,
        cash_share: Number = 0,
        opens_beyond_limit: bool = False,
        allow_unhealthy: bool = False,
        source: str = "",
    ) -> None:
        super().__init__(name)
        if not behaviours:
            raise BadArgument("holders without behaviours do nothing", "Passive() is one")
        self.market, self.routes = market, dict(routes or {})
        self.positions = tuple(positions)
        self.behaviours = tuple(behaviour for behaviour, _ in behaviours)
        self._lots = Choice(tuple(range(len(behaviours))), tuple(float(weight) for _, weight in behaviours))
        self.cash_ppm = as_ppm(cash_share, "a share of cash")
        self.opens_beyond_limit, self.allow_unhealthy = opens_beyond_limit or allow_unhealthy, allow_unhealthy
        self.source = source or f"'{name}'"
        self.without_pool: tuple[str, ...] = ()
        """Accounts whose collateral no pool sells for a debt, so that liquidators leave them alone."""
        self.beyond_limit: list[bytes] = []
        """Accounts that owe more than the market lent at the prices of the start."""

    @property
    def accounts(self) -> tuple[str, ...]:
        """Names of the accounts in the run: `<name>-<account>`."""
        return tuple(f"{self.name}-{position.account}" for position in self.positions)

    # -- preparation --------------------------------------------------------------------------------------------------

    def prepare(self, world: World) -> None:
        """Open the positions."""
        self.addresses = addresses_of(world, self.accounts)
        self.loan = MixedLoan(world.fork, self.market, self.routes)
        drawn = self._lots.sample(len(self.addresses), world.rng(f"{self.name}.behaviour"))
        self.behaviour_of = [int(each) for each in drawn]
        self._open(world)
        if self.cash_ppm < MILLION:
            self._spend(world)
        self._set_bounds()

    def _open(self, world: World) -> None:
        openings = self._openings()
        supply_all(self.loan.lending, openings, payer=world.address(self.name))
        self.beyond_limit = borrow_all(self.loan.lending, openings, beyond_limit=self.opens_beyond_limit)
        if not self.allow_unhealthy:
            require_healthy(self.loan.lending, openings, self.source)

    def _openings(self) -> list[Opening]:
        return list(zip(self.addresses, self.positions, strict=True))

    def _spend(self, world: World) -> None:
        """Send what is not kept as cash to the account `outside`."""
        outside = world.address(OUTSIDE)
        for address, position in self._openings():
            for debt, loan in position.debt.items():
                spent = loan - loan * self.cash_ppm // MILLION
                if spent:
                    Erc20(world.fork, debt).contract.transfer(outside, spent, sender=address)

    def _set_bounds(self) -> None:
        lending = self.loan.lending
        targets = lending.healths(self.addresses).health_factor_wad.ints()
        self.targets_wad = [min(target, 2**64 - 1) for target in targets]
        pairs = zip(self.behaviour_of, self.targets_wad, strict=True)
        bounds = [self.behaviours[behaviour].bounds(target) for behaviour, target in pairs]
        self._low: NDArray[np.uint64] = np.array([each.low_wad for each in bounds], dtype=np.uint64)
        self._high: NDArray[np.uint64] = np.array([each.high_wad for each in bounds], dtype=np.uint64)
        self._drop: NDArray[np.int64] = np.array([each.drop_ppm for each in bounds], dtype=np.int64)
        self._watches_prices = bool((self._drop < NEVER_DROPS).any())
        assets = sorted({asset for position in self.positions for asset in position.collateral})
        self._opening_prices = {asset: lending.price_e8(asset) for asset in assets}

    # -- steps --------------------------------------------------------------------------------------------------------

    def step(self, world: World, step_idx: int) -> StepResult:
        """Read all accounts; return the intents of each account outside the bounds of its behaviour."""
        del step_idx
        healths = read_healths(world, self.loan.lending, self.addresses)
        drops = self._drops_ppm(world)
        beyond = (healths.factors < self._low) | (healths.factors > self._high) | (drops >= self._drop)
        intents = []
        for row in np.flatnonzero(beyond).tolist():
            health, position = healths[row], self.positions[row]
            behaviour = self.behaviours[self.behaviour_of[row]]
            move = behaviour.decide(health.health_factor_wad, int(drops[row]), self.targets_wad[row])
            if move is None:
                continue
            intent = self.loan.intent(
                self.accounts[row], self.addresses[row], move, health, list(position.collateral), list(position.debt)
            )
            if intent is not None:
                intents.append(intent)
        at_risk = int(np.count_nonzero(healths.liquidatable))
        return StepResult(tuple(intents), f"{len(intents)} of {len(self.positions)} act, {at_risk} can be liquidated")

    def _drops_ppm(self, world: World) -> NDArray[np.int64]:
        """Return the fall of each account's opening collateral in value since it was opened, in millionths."""
        drops = np.zeros(len(self.positions), dtype=np.int64)
        if not self._watches_prices:
            return drops
        lending, now = self.loan.lending, {}
        for asset in self._opening_prices:
            key = ("price", lending.name, asset)
            now[asset] = world.observe(key, lambda asset=asset: lending.price_e8(asset))  # type: ignore[misc]
        for row, position in enumerate(self.positions):
            units = {asset: int(10 ** lending.decimals(asset)) for asset in position.collateral}
            held = position.collateral.items()
            before = sum(amount * self._opening_prices[asset] // units[asset] for asset, amount in held)
            after = sum(amount * now[asset] // units[asset] for asset, amount in held)
            drops[row] = max(0, (before - after) * MILLION // before) if before else 0
        return drops
