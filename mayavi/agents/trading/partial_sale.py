"""Somebody who sells a part of what it gets, and keeps the rest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mayavi.agents.quantities import MILLION, Number, as_ppm
from mayavi.agents.trading.selling import SalePlan, Tranche


@dataclass(frozen=True, slots=True)
class SellsShare:
    """Sale of only `share` of each tranche, rounded down, by another plan."""

    plan: SalePlan
    share: Number

    @property
    def least_price(self) -> Fraction | None:
        """Lowest price of the plan."""
        return self.plan.least_price

    def due(self, tranche: Tranche, step: int) -> int:
        """Return what the plan would sell of that share."""
        part = tranche.amount * as_ppm(self.share) // MILLION
        return self.plan.due(Tranche(part, tranche.since, tranche.sold), step)
