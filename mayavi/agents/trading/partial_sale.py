"""Somebody who sells a part of what it gets, and keeps the rest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mayavi.agents.quantities import MILLION, Number, as_ppm
from mayavi.agents.trading.selling import SalePlan, Tranche


@dataclass(frozen=True, slots=True)
class SellsShare:
    """As `plan`, but only `share` of each tranche, rounded down."""

    plan: SalePlan
    share: Number

    @property
    def least_price(self) -> Fraction | None:
        """That of the plan."""
        return self.plan.least_price

    def due(self, tranche: Tranche, step: int) -> int:
        """What the plan would sell of the part that is for sale."""
        part = tranche.amount * as_ppm(self.share) // MILLION
        return self.plan.due(Tranche(part, tranche.since, tranche.sold), step)
