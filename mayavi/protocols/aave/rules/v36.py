"""Arithmetic of Aave V3.5 and later: every rounding favours the pool, and value decides what a liquidation closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from mayavi.evm.units import RAY, WAD
from mayavi.protocols.aave.risk import Holding, health_by_sum
from mayavi.protocols.aave.rules.liquidation import (
    ALL_BPS,
    CLOSE_FACTOR_BPS,
    FULL_CLOSE_BELOW_WAD,
    Claim,
    ClaimWords,
    Seizure,
    debt_for_everything,
    percent_mul,
    protocol_fee,
    wanted_collateral,
)
from mayavi.protocols.aave.rules.v30 import YEAR_S, RulesV30, ray_multiplied
from mayavi.protocols.health import NO_DEBT

if TYPE_CHECKING:
    from mayavi.evm.fleet import Program, Word

FULL_CLOSE_BELOW_USD_E8 = 2_000 * 10**8
"""Value of a debt or a collateral below which a liquidation may repay all of the debt."""
LEAST_LEFT_USD_E8 = 1_000 * 10**8
"""Least value of debt and of collateral that a liquidation may leave, if it leaves both."""


class RulesV33(RulesV30):
    """Rules of V3.3 and V3.4: liquidations by value, in the arithmetic of V3.0."""

    by_value: ClassVar[bool] = True

    def largest_cover(self, claim: Claim) -> int:
        """Half of all debts; all of this one if it or its collateral is small, or health is far below 1."""
        debt, collateral = claim.debt, claim.collateral
        value = self.debt_usd_e8(claim.owed, *claim.debt)
        small = min(value, claim.held * collateral.price // collateral.unit) < FULL_CLOSE_BELOW_USD_E8
        half = percent_mul(claim.total_debt_usd_e8, CLOSE_FACTOR_BPS)
        if small or claim.health_factor_wad <= FULL_CLOSE_BELOW_WAD or value <= half:
            return claim.owed
        return half * debt.unit // debt.price

    def _amounts(self, claim: Claim, most: int) -> Seizure | None:
        wanted = wanted_collateral(claim, most)
        if wanted > claim.held:
            cover, wanted = self._cover_for_everything(claim), claim.held
        elif self._leaves_dust(claim, most, wanted):
            cover = most = self._without_dust(claim, most)
            wanted = wanted_collateral(claim, most)
        else:
            cover = most
        fee = protocol_fee(claim, wanted)
        return Seizure(cover, wanted - fee, fee, most) if cover and wanted > fee else None

    def _leaves_dust(self, claim: Claim, cover: int, wanted: int) -> bool:
        """Whether debt and collateral are left, and one of them is too small to stay."""
        if cover >= claim.owed or wanted >= claim.held:
            return False
        left = (claim.held - wanted) * claim.collateral.price // claim.collateral.unit
        return min(left, self.debt_usd_e8(claim.owed - cover, *claim.debt)) < LEAST_LEFT_USD_E8

    def _without_dust(self, claim: Claim, most: int) -> int:
        """Largest repayment up to `most` that leaves enough of both; 0 if there is none."""
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            dust = self._leaves_dust(claim, middle, wanted_collateral(claim, middle))
            low, high = (low, middle) if dust else (middle, high)
        return low

    def _cover_for_everything(self, claim: Claim) -> int:
        return (debt_for_everything(claim) * ALL_BPS + claim.bonus_bps // 2) // claim.bonus_bps

    def cover_word(self, program: Program, cover: Word, claim: ClaimWords) -> Word:
        """Repayment next to `cover` that leaves no dust: less, or all of the debt if every part leaves some."""
        price, unit, debt = claim.collateral_price, claim.collateral_unit, claim.debt
        per_unit = program.multiply(price, debt.unit)  # collateral of a repayment: times debt price and collateral unit
        base = program.divide(program.multiply(cover, debt.price * unit), per_unit)
        wanted = program.divide(program.add(program.multiply(base, claim.bonus_bps), ALL_BPS // 2), ALL_BPS)
        left = program.divide(program.multiply(program.subtract(claim.held, wanted), price), unit)
        left_debt = self.debt_value_word(program, program.subtract(claim.owed, cover), *debt)
        both = program.multiply(program.less(cover, claim.owed), program.less(wanted, claim.held))
        dust = program.multiply(both, program.less(program.minimum(left, left_debt), LEAST_LEFT_USD_E8))
        spare = program.subtract(claim.held, program.add(program.divide(LEAST_LEFT_USD_E8 * unit, price), 1))
        for_spare = program.multiply(program.divide(program.multiply(spare, ALL_BPS), claim.bonus_bps), per_unit)
        less = program.subtract(claim.owed, LEAST_LEFT_USD_E8 * debt.unit // debt.price + 1)
        less = program.minimum(less, program.divide(for_spare, debt.price * unit))
        whole = program.either(program.less(claim.funds, claim.owed), 0, claim.owed)
        return program.either(program.multiply(dust, cover), program.either(less, less, whole), cover)


class RulesV36(RulesV33):
    """Rules of V3.5 and later: supplies round down, debts up, and health is a sum without an average."""

    balance_bits: ClassVar[int] = 120

    def health(self, holdings: Sequence[Holding]) -> int:
        """Health factor in wad."""
        return health_by_sum(holdings)

    def limit_usd_e8(self, collateral_usd_e8: int, threshold_bps: int) -> int:
        """Value of the debt at a health factor of one, by the average threshold, which the pool rounds down."""
        return collateral_usd_e8 * threshold_bps // ALL_BPS

    def borrow_limit_usd_e8(self, collateral_usd_e8: int, ltv_bps: int) -> int:
        """Largest value of debt with which the pool still lends: it asks for debt / ltv, rounded up."""
        return collateral_usd_e8 * ltv_bps // ALL_BPS

    def largest_debt(self, value_usd_e8: int, price: int, unit: int) -> int:
        """Largest debt that the pool, rounding up, values at `value_usd_e8` or less."""
        return value_usd_e8 * unit // price

    def debt_usd_e8(self, debt: int, price: int, unit: int) -> int:
        """Value of a debt, rounded up."""
        return -(-debt * price // unit)

    def debt_after_borrow(self, amount: int, index_ray: int) -> int:
        """Debt right after borrowing `amount`: converted to shares at this index, and back, both rounded up."""
        shares = -(-amount * RAY // index_ray)
        return -(-shares * index_ray // RAY)

    def least_repayment(self, index_ray: int) -> int:
        """Smallest repayment that burns a share, since shares round down."""
        return -(-index_ray // RAY)

    def _cover_for_everything(self, claim: Claim) -> int:
        return -(-debt_for_everything(claim) * ALL_BPS // claim.bonus_bps)

    # -- programs -----------------------------------------------------------------------------------------------------

    def compounded(self, program: Program, rate_ray: Word, elapsed: Word) -> Word:
        """Growth of a debt: three terms of the exponential series."""
        x = program.divide(program.multiply(rate_ray, elapsed), YEAR_S)
        inner = program.add(program.divide(x, 2), ray_multiplied(program, x, program.divide(x, 6)))
        return program.add(program.add(RAY, x), ray_multiplied(program, x, inner))

    def supplied_word(self, program: Program, shares: Word, index_ray: Word) -> Word:
        """Balance of shares of an aToken, rounded down."""
        return program.divide(program.multiply(shares, index_ray), RAY)

    def debt_word(self, program: Program, shares: Word, index_ray: Word) -> Word:
        """Debt of shares of a debt token, rounded up."""
        return _divided_up(program, program.multiply(shares, index_ray), RAY)

    def debt_value_word(self, program: Program, debt: Word, price: int, unit: int) -> Word:
        """Value of a debt in USD with 8 decimals, rounded up."""
        return _divided_up(program, program.multiply(debt, price), unit)

    def limit_word(self, program: Program, value_e8: Word, threshold_bps: int) -> Word:
        """Value of the debt at a health factor of one."""
        return program.divide(program.multiply(value_e8, threshold_bps), ALL_BPS)

    def health_word(self, program: Program, value_e8: Word, threshold_bps: int, debt_value_e8: Word) -> Word:
        """Health factor of one collateral and one debt."""
        weighted = program.multiply(program.multiply(value_e8, threshold_bps), WAD)
        factor = program.divide(program.add(weighted, program.divide(debt_value_e8, 2)), debt_value_e8)
        return program.either(debt_value_e8, program.divide(factor, ALL_BPS), NO_DEBT)

    def borrow_limit_word(self, program: Program, value_e8: Word, ltv_bps: int) -> Word:
        """Largest value of debt with which the pool still lends."""
        return program.divide(program.multiply(value_e8, ltv_bps), ALL_BPS)

    def headroom_word(self, program: Program, free_e8: Word, price: int, unit: int) -> Word:
        """A loan of which the debt is worth at most `free_e8`: less by what the pool rounds up for shares."""
        return program.subtract(program.divide(program.multiply(free_e8, unit), price), 2)


def _divided_up(program: Program, a: Word, by: int) -> Word:
    return program.divide(program.add(a, by - 1), by)
