"""Arithmetic of Aave V3.0: everything rounds half up, values round down, and half of a debt closes at once.

Methods with a `program` do with words what the others do with integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from mayavi.evm.units import RAY, WAD
from mayavi.protocols.aave.risk import Holding, health_by_average
from mayavi.protocols.aave.rules.liquidation import (
    ALL_BPS,
    CLOSE_FACTOR_BPS,
    FULL_CLOSE_BELOW_WAD,
    Claim,
    ClaimWords,
    Seizure,
    debt_for_everything,
    percent_div,
    percent_mul,
    protocol_fee,
    wanted_collateral,
)
from mayavi.protocols.health import NO_DEBT

if TYPE_CHECKING:
    from mayavi.evm.fleet import Program, Word

YEAR_S = 365 * 86_400


class RulesV30:
    """Rules of V3.0 to V3.2, and of SparkLend."""

    balance_bits: ClassVar[int] = 128
    """Bits of a balance of shares in its storage word."""
    by_value: ClassVar[bool] = False
    """Whether small debts close at once, and a liquidation may leave no dust."""

    def health(self, holdings: Sequence[Holding]) -> int:
        """Health factor in wad."""
        return health_by_average(holdings)

    def limit_usd_e8(self, collateral_usd_e8: int, threshold_bps: int) -> int:
        """Value of the debt at a health factor of one."""
        return percent_mul(collateral_usd_e8, threshold_bps)

    def borrow_limit_usd_e8(self, collateral_usd_e8: int, ltv_bps: int) -> int:
        """Largest value of debt with which the pool still lends: it asks for debt / ltv, rounded half up."""
        return max(0, (collateral_usd_e8 + 1) * ltv_bps - 1 - ltv_bps // 2) // ALL_BPS

    def largest_debt(self, value_usd_e8: int, price: int, unit: int) -> int:
        """Largest debt that the pool values at `value_usd_e8` or less."""
        return ((value_usd_e8 + 1) * unit - 1) // price

    def debt_usd_e8(self, debt: int, price: int, unit: int) -> int:
        """Value of a debt."""
        return debt * price // unit

    def debt_after_borrow(self, amount: int, index_ray: int) -> int:
        """Debt right after borrowing `amount`: converted to shares at this index, and back."""
        shares = (amount * RAY + index_ray // 2) // index_ray
        return (shares * index_ray + RAY // 2) // RAY

    def least_repayment(self, index_ray: int) -> int:
        """Smallest repayment that the pool takes while more is owed."""
        del index_ray
        return 1

    # -- liquidation --------------------------------------------------------------------------------------------------

    def liquidation(self, claim: Claim) -> Seizure | None:
        """Largest liquidation that the pool allows within what is offered; None if there is none."""
        most = self.largest_cover(claim)
        most = most if claim.offered is None else min(most, claim.offered)
        return self._amounts(claim, most) if most > 0 and claim.held and claim.bonus_bps else None

    def largest_cover(self, claim: Claim) -> int:
        """Most of the debt that one liquidation may repay."""
        full = claim.health_factor_wad <= FULL_CLOSE_BELOW_WAD
        return percent_mul(claim.owed, ALL_BPS if full else CLOSE_FACTOR_BPS)

    def _amounts(self, claim: Claim, most: int) -> Seizure | None:
        cover, wanted = most, wanted_collateral(claim, most)
        if wanted > claim.held:
            cover, wanted = percent_div(debt_for_everything(claim), claim.bonus_bps), claim.held
        fee = protocol_fee(claim, wanted)
        return Seizure(cover, wanted - fee, fee, most) if cover and wanted > fee else None

    # -- programs -----------------------------------------------------------------------------------------------------

    def compounded(self, program: Program, rate_ray: Word, elapsed: Word) -> Word:
        """Growth of a debt: three terms of the binomial series."""
        pairs = program.multiply(elapsed, program.subtract(elapsed, 1))
        triples = program.multiply(pairs, program.subtract(elapsed, 2))
        squared = program.divide(ray_multiplied(program, rate_ray, rate_ray), YEAR_S**2)
        cubed = program.divide(ray_multiplied(program, squared, rate_ray), YEAR_S)
        growth = program.add(RAY, program.divide(program.multiply(rate_ray, elapsed), YEAR_S))
        growth = program.add(growth, program.divide(program.multiply(pairs, squared), 2))
        return program.add(growth, program.divide(program.multiply(triples, cubed), 6))

    def supplied_word(self, program: Program, shares: Word, index_ray: Word) -> Word:
        """Balance of shares of an aToken."""
        return ray_multiplied(program, shares, index_ray)

    def debt_word(self, program: Program, shares: Word, index_ray: Word) -> Word:
        """Debt of shares of a debt token."""
        return ray_multiplied(program, shares, index_ray)

    def debt_value_word(self, program: Program, debt: Word, price: int, unit: int) -> Word:
        """Value of a debt in USD with 8 decimals."""
        return program.multiply_divide(debt, price, unit)

    def limit_word(self, program: Program, value_e8: Word, threshold_bps: int) -> Word:
        """Value of the debt at a health factor of one."""
        return program.divide(program.add(program.multiply(value_e8, threshold_bps), ALL_BPS // 2), ALL_BPS)

    def health_word(self, program: Program, value_e8: Word, threshold_bps: int, debt_value_e8: Word) -> Word:
        """Health factor of one collateral and one debt."""
        covered = program.multiply(self.limit_word(program, value_e8, threshold_bps), WAD)
        factor = program.divide(program.add(covered, program.divide(debt_value_e8, 2)), debt_value_e8)
        return program.either(debt_value_e8, factor, NO_DEBT)

    def borrow_limit_word(self, program: Program, value_e8: Word, ltv_bps: int) -> Word:
        """Largest value of debt with which the pool still lends."""
        most = program.multiply(program.add(value_e8, 1), ltv_bps)
        return program.divide(program.subtract(most, 1 + ltv_bps // 2), ALL_BPS)

    def headroom_word(self, program: Program, free_e8: Word, price: int, unit: int) -> Word:
        """Largest loan of which the debt is worth at most `free_e8`."""
        beyond = program.multiply(program.add(free_e8, 1), unit)
        return program.divide(program.subtract(beyond, 1), price)

    def cover_word(self, program: Program, cover: Word, claim: ClaimWords) -> Word:
        """Repayment next to `cover` that the pool accepts."""
        del program, claim
        return cover


def ray_multiplied(program: Program, a: Word, b: Word) -> Word:
    """Return `a * b` in ray, rounded half up."""
    return program.divide(program.add(program.multiply(a, b), RAY // 2), RAY)
