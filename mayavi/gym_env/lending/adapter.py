"""A lending protocol as the borrower's environments use it: what is sent to it and what is read of it, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from mayavi.evm.address import account_address
from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.evm.token_balance import balance_slot
from mayavi.protocols.tokens import Erc20

EVERYTHING = 2**256 - 1
UNLIMITED = 2**128
"""More than there is of anything."""
BORROWER, LIQUIDATOR, BANK, MARKET = map(account_address, ("borrower", "liquidator", "bank", "market"))
"""Who acts: the borrower, who liquidates it, where dollars earn something, and everybody else in the reserve."""
PLENTY = 10**12
"""Whole dollars of accounts that never run out."""
MARKET_COLLATERAL = 10**6
"""Whole tokens of collateral that the rest of the market can put up for what it borrows more."""


class Standing(NamedTuple):
    """How the borrower and the reserve of its debt stand in a block. Values have eight decimals, rates eighteen."""

    collateral: Word
    debt: Word
    collateral_value_e8: Word
    debt_value_e8: Word
    limit_e8: Word
    """The debt's value at which the health factor is one."""
    headroom: Word
    """What may still be borrowed, in smallest units."""
    health_factor_wad: Word
    borrow_rate_wad: Word
    """A year, not compounded; likewise what the collateral earns."""
    supply_rate_wad: Word


@dataclass(frozen=True, slots=True)
class Terms:
    """What a loan is computed from before it is taken."""

    price_e8: int
    debt_price_e8: int
    threshold_wad: int
    """The share of the collateral's value that debt may reach before liquidation."""
    ltv_wad: int
    """The share that may be borrowed."""
    kink: float
    """The utilisation above which rates rise steeply."""
    supplied: int
    """What the reserve of the debt has been lent, and what of this it has lent on."""
    borrowed: int
    room: tuple[int, int, int]
    """What caps and cash leave the market to lend, to put up as collateral, and to borrow, smallest units."""
    least_debt: int = 0


class LendingAdapter(ABC):
    """One collateral and one debt on a protocol. `prepare` sets the stage on a fork; the rest adds to programs."""

    spender: bytes
    """Who takes the tokens that are paid in."""
    feed: bytes
    """What tells the price of the collateral."""

    def __init__(self, fork: Fork, collateral: str, debt: str) -> None:
        self.fork = fork
        self.collateral, self.debt = Erc20(fork, collateral), Erc20(fork, debt)
        self.unit, self.debt_unit = 10**self.collateral.decimals, 10**self.debt.decimals

    def prepare(self, most_collateral: int) -> None:
        """Give everybody what they need, let the protocol take it, and find where it keeps its books."""
        fork = self.fork
        fork.deal(self.collateral.address, BORROWER, most_collateral)
        fork.deal(self.collateral.address, MARKET, MARKET_COLLATERAL * self.unit)
        for holder in (LIQUIDATOR, BANK, MARKET):
            fork.deal(self.debt.address, holder, PLENTY * self.debt_unit)
        for holder in (BORROWER, LIQUIDATOR, MARKET):
            self.debt.approve(self.spender, EVERYTHING, sender=holder)
        for holder in (BORROWER, MARKET):
            self.collateral.approve(self.spender, EVERYTHING, sender=holder)
        self.terms = self.read_terms()
        self.cash_place = balance_slot(fork, self.debt.address, BORROWER)
        self.find_books()

    # -- what a protocol says -----------------------------------------------------------------------------------------

    @abstractmethod
    def read_terms(self) -> Terms:
        """As they stand."""

    @abstractmethod
    def find_books(self) -> None:
        """Where the protocol keeps what `standing` reads."""

    @abstractmethod
    def supply(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Put up collateral."""

    @abstractmethod
    def borrow(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Take a loan."""

    @abstractmethod
    def repay(self, amount: Word) -> Template:
        """The borrower pays back; `amount` is not more than it owes."""

    @abstractmethod
    def lend(self, amount: Word) -> Template:
        """The market lends more of the debt's asset."""

    @abstractmethod
    def liquidate(self) -> Template:
        """The liquidator takes what it may of the borrower."""

    @abstractmethod
    def health_factor_wad(self, program: Program, price_e8: Word | int) -> Word:
        """How healthy the borrower is in this block, and nothing else."""

    @abstractmethod
    def standing(self, program: Program, price_e8: Word | int) -> Standing:
        """Everything that is read of the borrower and its reserve in this block."""

    # -- what is the same for all -------------------------------------------------------------------------------------

    def cash(self, program: Program) -> Word:
        """What the borrower has in its wallet."""
        return program.load(*self.cash_place)

    def loan_of(self, program: Program, value_e8: Word) -> Word:
        """The largest amount of the debt's asset that is valued at no more than `value_e8`."""
        beyond = program.multiply_divide(program.add(value_e8, 1), self.debt_unit, 1)
        return program.divide(program.subtract(beyond, 1), self.terms.debt_price_e8)
