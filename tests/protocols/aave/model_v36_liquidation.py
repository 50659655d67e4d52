"""Liquidations of the integer model of Aave V3.6."""

from __future__ import annotations

from typing import NamedTuple

from tests.protocols.aave.model_v36 import BPS, RAY, TREASURY, USD, WAD, Model, ReserveModel, down, nearest, require, up

SMALL, LEAST = 2_000 * USD, 1_000 * USD


class Amounts(NamedTuple):
    """Debt repaid, collateral for the liquidator, treasury's share, and the value of both collateral parts."""

    cover: int
    seized: int
    fee: int
    value: int


class LiquidationModel(Model):
    """The market with liquidations."""

    def liquidate(self, who: str, borrower: str, taken: str, repaid: str, cover: int, as_a_token: bool) -> Amounts:
        """Repay up to `cover` of the borrower's debt for its collateral `taken`."""
        collateral, debt = self.reserves[taken], self.reserves[repaid]
        debt.accrue(self.now, again=taken == repaid)
        collateral.accrue(self.now)
        totals = self.totals(borrower)
        require(who != borrower, "SelfLiquidation")
        require(totals.health < WAD, "HealthFactorNotBelowThreshold")
        require(taken in self.collateral[borrower], "CollateralCannotBeLiquidated")
        owed, held = debt.debt(borrower, self.now), collateral.supplied(borrower, self.now)
        require(owed, "SpecifiedCurrencyNotBorrowedByUser")
        most = self._closable(totals.debt, totals.health, owed, held, debt, collateral)
        amounts = self._amounts(borrower, taken, debt, min(cover, most), held)
        gone = amounts.seized + amounts.fee
        if amounts.cover < owed and gone < held:
            left = up(owed - amounts.cover, debt.price, debt.unit), down(held - gone, collateral.price, collateral.unit)
            require(min(left) >= LEAST, "MustNotLeaveDust")
        if gone == held:
            self.collateral[borrower].discard(taken)
        stripped = totals.collateral == amounts.value
        self._burn(borrower, repaid, owed, amounts.cover, stripped)
        shares = up(amounts.seized, RAY, collateral.liquidity_index)
        if as_a_token:
            require(shares <= collateral.supplies[borrower], "Panic")
            collateral.supplies[borrower] -= shares
            collateral.supplies[who] += shares
        else:
            collateral.set_rates(taken=amounts.seized)
            collateral.burn_supply(borrower, shares)
            self.wallet[who, taken] += amounts.seized
        if amounts.fee:
            shares = min(up(amounts.fee, RAY, collateral.liquidity_index), collateral.supplies[borrower])
            collateral.supplies[borrower] -= shares
            collateral.supplies[TREASURY] += shares
        if stripped:
            for symbol in [each for each in self.reserves if each in self.borrowing[borrower]]:
                other = self.reserves[symbol]
                other.accrue(self.now)
                self._burn(borrower, symbol, other.debt(borrower, self.now), 0, True)
        self.wallet[who, repaid] -= amounts.cover
        return amounts

    def _closable(
        self, total: int, health: int, owed: int, held: int, debt: ReserveModel, collateral: ReserveModel
    ) -> int:
        value = up(owed, debt.price, debt.unit)
        small = value < SMALL or down(held, collateral.price, collateral.unit) < SMALL
        half = nearest(total, 5_000, BPS)
        if small or health <= 95 * WAD // 100 or value <= half:
            return owed
        return half * debt.unit // debt.price

    def _amounts(self, borrower: str, taken: str, debt: ReserveModel, cover: int, held: int) -> Amounts:
        collateral, mode = self.reserves[taken], self.modes.get(self.emode[borrower])
        bonus = mode.bonus_bps if mode and taken in mode.collateral else collateral.terms.bonus_bps
        base = debt.price * cover * collateral.unit // (collateral.price * debt.unit)
        gross = nearest(base, bonus, BPS)
        if gross > held:
            gross = held
            worth = collateral.price * held * debt.unit // (debt.price * collateral.unit)
            cover = up(worth, BPS, bonus)
        fee = nearest(gross - nearest(gross, BPS, bonus), collateral.terms.fee_bps, BPS)
        return Amounts(cover, gross - fee, fee, gross * collateral.price // collateral.unit)

    def _burn(self, borrower: str, symbol: str, owed: int, paid: int, stripped: bool) -> None:
        """Burn the repaid debt; where no collateral is left, all of it, and the rest becomes a deficit."""
        reserve = self.reserves[symbol]
        if owed:
            reserve.burn_debt(borrower, down(owed if stripped else paid, RAY, reserve.borrow_index))
        if stripped:
            reserve.deficit += owed - paid
        if not owed or not reserve.debts[borrower]:
            self.borrowing[borrower].discard(symbol)
        reserve.set_rates(added=paid)
