"""`LendingAdapter`: the calls and reads of a lending protocol that the borrower's environments need."""

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
"""Accounts: the borrower, its liquidator, the bank that pays for dollars held, and the rest of the market."""
HOLDER_FUNDS = 10**12
"""Whole dollars of accounts that never run out."""
MARKET_COLLATERAL = 10**6
"""Whole tokens of collateral that the rest of the market can supply for its own loans."""


class Standing(NamedTuple):
    """State of the borrower and of its debt's reserve. Values have eight decimals, rates eighteen."""

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
    """A year, not compounded, as is the supply rate."""
    supply_rate_wad: Word


@dataclass(frozen=True, slots=True)
class Terms:
    """Parameters from which the amounts of a start are computed."""

    price_e8: int
    debt_price_e8: int
    threshold_wad: int
    """The share of the collateral's value that debt may reach before liquidation."""
    ltv_wad: int
    """The share that may be borrowed."""
    kink: float
    """The utilisation above which rates rise steeply."""
    supplied: int
    """Amount supplied to the debt's reserve; `borrowed` is what it has lent on."""
    borrowed: int
    room: tuple[int, int, int]
    """What caps and cash let the market lend, supply as collateral, and borrow, in smallest units."""
    least_debt: int = 0


class LendingAdapter(ABC):
    """One collateral and one debt on a protocol. `prepare` sets up a fork; the other methods add to programs."""

    spender: bytes
    """The contract that takes the tokens paid in."""
    feed: bytes
    """The price feed of the collateral."""

    def __init__(self, fork: Fork, collateral: str, debt: str) -> None:
        self.fork = fork
        self.collateral, self.debt = Erc20(fork, collateral), Erc20(fork, debt)
        self.unit, self.debt_unit = 10**self.collateral.decimals, 10**self.debt.decimals

    def prepare(self, most_collateral: int) -> None:
        """Fund and approve all accounts, and find the slots that are read."""
        fork = self.fork
        fork.deal(self.collateral.address, BORROWER, most_collateral)
        fork.deal(self.collateral.address, MARKET, MARKET_COLLATERAL * self.unit)
        for holder in (LIQUIDATOR, BANK, MARKET):
            fork.deal(self.debt.address, holder, HOLDER_FUNDS * self.debt_unit)
        for holder in (BORROWER, LIQUIDATOR, MARKET):
            self.debt.approve(self.spender, EVERYTHING, sender=holder)
        for holder in (BORROWER, MARKET):
            self.collateral.approve(self.spender, EVERYTHING, sender=holder)
        self.terms = self.read_terms()
        self.cash_place = balance_slot(fork, self.debt.address, BORROWER)
        self.find_books()

    # -- to be provided by a protocol ---------------------------------------------------------------------------------

    @abstractmethod
    def read_terms(self) -> Terms:
        """Read the present terms."""

    @abstractmethod
    def find_books(self) -> None:
        """Find the slots that `standing` reads."""

    @abstractmethod
    def supply(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Supply collateral."""

    @abstractmethod
    def borrow(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Take a loan."""

    @abstractmethod
    def repay(self, amount: Word) -> Template:
        """Repay `amount`, which is not more than the borrower owes."""

    @abstractmethod
    def lend(self, amount: Word) -> Template:
        """The market lends more of the debt's asset."""

    @abstractmethod
    def liquidate(self) -> Template:
        """Liquidate as much of the borrower as the protocol allows."""

    @abstractmethod
    def health_factor_wad(self, program: Program, price_e8: Word | int) -> Word:
        """The borrower's health factor in this block."""

    @abstractmethod
    def standing(self, program: Program, price_e8: Word | int) -> Standing:
        """State of the borrower and its reserve in this block."""

    # -- common to all protocols --------------------------------------------------------------------------------------

    def cash(self, program: Program) -> Word:
        """The borrower's balance of the debt's asset."""
        return program.load(*self.cash_place)

    def loan_of(self, program: Program, value_e8: Word) -> Word:
        """The largest amount of the debt's asset that is valued at no more than `value_e8`."""
        beyond = program.multiply_divide(program.add(value_e8, 1), self.debt_unit, 1)
        return program.divide(program.subtract(beyond, 1), self.terms.debt_price_e8)
