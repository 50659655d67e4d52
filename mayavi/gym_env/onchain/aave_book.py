"""Borrowers of one asset against one collateral on Aave V3, read exactly from storage slots.

Aave stores balances as shares, and an index for each reserve that grows with time. A program computes the result of
`getUserAccountData` with the arithmetic of the pool, from two slots per borrower instead of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mayavi.evm.fleet import Program, Template, Word
from mayavi.protocols.aave.indexes import AaveIndexes, Shares
from mayavi.protocols.aave.market import AaveV3

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_VARIABLE_RATE = 2
_AMOUNT = 36
"""Offset of the amount in calls of the pool: behind the selector and the asset."""


class Account(NamedTuple):
    """State of a borrower, as words of a program."""

    collateral: Word
    debt: Word
    health_factor_wad: Word
    collateral_value_e8: Word
    debt_value_e8: Word


class AaveBook:
    """`borrowers` of `debt` against `collateral` on the market of `fork`."""

    def __init__(self, fork: Fork, collateral: str, debt: str, borrowers: Sequence[bytes]) -> None:
        self.market = AaveV3(fork)
        self.pool, self.borrowers = self.market.pool, tuple(borrowers)
        self.collateral, self.debt = self.market.reserve(collateral), self.market.reserve(debt)
        self.unit, self.debt_unit = (int(10**each.configuration.decimals) for each in (self.collateral, self.debt))
        self._income = AaveIndexes(self.market, self.collateral.address)
        self._owed = AaveIndexes(self.market, self.debt.address)
        tokens = self.collateral.a_token, self.debt.variable_debt_token
        kinds = tuple(zip(tokens, (False, True), strict=True))
        self._shares = [
            tuple(Shares(self.market, token, each, owed=owed) for token, owed in kinds) for each in self.borrowers
        ]

    # -- reading ------------------------------------------------------------------------------------------------------

    def look(self, program: Program, price_e8: Word | int) -> list[Account]:
        """State of every borrower at this point of the program, with the collateral at `price_e8`."""
        _, now = program.time()
        income, owed = self._income.income(program, now), self._owed.debt(program, now)
        rules, threshold = self.market.rules, self.collateral.configuration.liquidation_threshold_bps
        accounts = []
        for collateral_shares, debt_shares in self._shares:
            supplied, debt = collateral_shares.balance(program, income), debt_shares.balance(program, owed)
            value = program.divide(program.multiply(supplied, price_e8), self.unit)
            debt_value = rules.debt_value_word(program, debt, self.debt.price_usd_e8, self.debt_unit)
            health = rules.health_word(program, value, threshold, debt_value)
            accounts.append(Account(supplied, debt, health, value, debt_value))
        return accounts

    def headroom(self, program: Program, account: Account) -> Word:
        """Largest amount that `account` can still borrow, in smallest units."""
        rules = self.market.rules
        most = rules.borrow_limit_word(program, account.collateral_value_e8, self.collateral.configuration.ltv_bps)
        free = program.subtract(most, account.debt_value_e8)
        return rules.headroom_word(program, free, self.debt.price_usd_e8, self.debt_unit)

    def borrow_rate_ray(self, program: Program) -> Word:
        """Variable borrow rate per year."""
        return self._owed.debt(program, program.time()[1]).rate_ray

    # -- acting -------------------------------------------------------------------------------------------------------

    def supply(self, borrower: bytes, amount: Word) -> Template:
        """Supply collateral of `borrower`."""
        data = self.pool.supply.encode(self.collateral.address, 0, borrower, 0)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=borrower)

    def borrow(self, borrower: bytes, amount: Word) -> Template:
        """Borrow as `borrower`."""
        data = self.pool.borrow.encode(self.debt.address, 0, _VARIABLE_RATE, 0, borrower)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=borrower)

    def repay(self, borrower: bytes, amount: Word) -> Template:
        """Repay as `borrower`; the pool takes no more than is owed."""
        data = self.pool.repay.encode(self.debt.address, 0, _VARIABLE_RATE, borrower)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=borrower)

    def liquidate(self, liquidator: bytes, borrower: Word | int, cover: Word) -> Template:
        """Liquidate as `liquidator`: pay `cover` of the debt of the account `borrower`."""
        data = self.pool.liquidationCall.encode(self.collateral.address, self.debt.address, bytes(20), 0, False)
        return Template(self.pool.address, data, {68: borrower, 100: cover}, sender=liquidator)
