"""Final accounts of a run: what each borrower has and owes after the last step, and why unhealthy ones are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mayavi.agents.liquidation.limits import REASONS, Reason
from mayavi.evm.units import WAD
from mayavi.sim.hooks import Hook
from mayavi.sim.rows import AccountRow, ActionRow, SnapshotRow

if TYPE_CHECKING:
    from mayavi.agents.liquidation.liquidator import LiquidatorAgent
    from mayavi.scenarios.figures.tally import ScenarioTally
    from mayavi.sim.population_figures import PopulationFigures
    from mayavi.sim.world_state import WorldState

NO_COLLATERAL = "no collateral"
"""Reason of an account whose collateral is used up."""
NO_LIQUIDATOR = "no liquidator"
"""Reason of an account that no liquidator watches."""


class FinalAccounts(Hook):
    """Read all borrowing accounts after the last step, at the moment of the last market figures.

    `markets` has the lending market of each group of borrowers. The bad debt of the accounts adds up to the KPI
    `bad_debt`, to the unit.
    """

    def __init__(
        self,
        last_step: int,
        markets: Mapping[str, str],
        figures: Mapping[str, PopulationFigures],
        tally: ScenarioTally,
        liquidators: Sequence[LiquidatorAgent],
    ) -> None:
        self.last_step, self.markets, self.figures, self.tally = last_step, dict(markets), dict(figures), tally
        self.liquidators = tuple(liquidators)
        self.rows: list[AccountRow] = []

    def __call__(self) -> list[AccountRow]:
        """Return the accounts; empty before the last step."""
        return self.rows

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Sequence[SnapshotRow]:
        """Read the accounts if this was the last step."""
        del actions
        if world.step == self.last_step:
            self.rows = [row for name in self.markets for row in self._rows(world, name)]
        return ()

    def _rows(self, world: WorldState, name: str) -> list[AccountRow]:
        figures, tally = self.figures[name], self.tally
        columns = zip(figures.accounts, *(column.tolist() for column in figures.columns(world)), strict=True)
        healths = {account: (collateral, debt, factor) for account, collateral, debt, factor in columns}
        below = [account for account, (_, debt, factor) in healths.items() if debt and factor < WAD]
        reasons = self._reasons(world, [account for account in below if healths[account][0]])
        rows = []
        for account, (collateral, debt, factor) in healths.items():
            reason = "" if account not in below else reasons[account] if collateral else NO_COLLATERAL
            rows.append(
                AccountRow(
                    agent=name,
                    account=account,
                    market=self.markets[name],
                    unit=figures.unit,
                    collateral=str(collateral),
                    debt=str(debt),
                    health_factor=str(factor) if debt else "",
                    liquidations=tally.times_liquidated[account],
                    liquidated=str(tally.covered_e8[account]),
                    bad_debt=str(max(0, debt - collateral) + tally.market_losses_e8.get(account, 0)),
                    reason=reason,
                )
            )
        return rows

    def _reasons(self, world: WorldState, accounts: Sequence[str]) -> dict[str, str]:
        """Return the reason of the liquidator that was nearest to liquidating each account."""
        found: dict[str, Reason] = {}
        for liquidator in self.liquidators if accounts else ():
            for account, reason in liquidator.why_left(world, accounts).items():
                found[account] = max(found.get(account, REASONS[0]), reason, key=REASONS.index)
        return {account: found.get(account, NO_LIQUIDATOR) for account in accounts}
