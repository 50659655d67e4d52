"""Liquidation rules of Aave V2."""

from __future__ import annotations

from mayavi.protocols.aave.rules.liquidation import (
    ALL_BPS,
    CLOSE_FACTOR_BPS,
    Claim,
    Seizure,
    debt_for_everything,
    percent_div,
    percent_mul,
)
from mayavi.protocols.aave.rules.v30 import RulesV30


class RulesV2(RulesV30):
    """Rules of V2: half of a debt at any health factor, and no protocol fee."""

    def largest_cover(self, claim: Claim) -> int:
        """Half of the debt."""
        return percent_mul(claim.owed, CLOSE_FACTOR_BPS)

    def _amounts(self, claim: Claim, most: int) -> Seizure | None:
        """V2 applies the bonus before it divides."""
        debt, collateral = claim.debt, claim.collateral
        with_bonus = (debt.price * most * collateral.unit * claim.bonus_bps + ALL_BPS // 2) // ALL_BPS
        cover, wanted = most, with_bonus // (collateral.price * debt.unit)
        if wanted > claim.held:
            cover, wanted = min(most, percent_div(debt_for_everything(claim), claim.bonus_bps)), claim.held
        return Seizure(cover, wanted, 0, most) if cover and wanted else None
