"""`LendingAdapter`: interface of the borrower environments to a lending protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from mayavi.evm.address import account_address
from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.evm.fork.token_balance import balance_slot
from mayavi.protocols.tokens import Erc20

EVERYTHING = 2**256 - 1
UNLIMITED = 2**128
"""Room under a cap that does not exist: more than any supply."""
BORROWER, LIQUIDATOR, BANK, MARKET = map(account_address, ("borrower", "liquidator", "bank", "market"))
"""Accounts: the borrower, its liquidator, the bank that pays the outside yield, and the rest of the market."""
HOLDER_FUNDS = 10**12
"""Whole dollars of liquidator, bank and market: practically unlimited."""
MARKET_COLLATERAL = 10**6
"""Whole tokens of collateral of the rest of the market, for its own loans."""


class Standing(NamedTuple):
    """State of the borrower and of the reserve of its debt. Values have eight decimals, rates eighteen."""

    collateral: Word
    debt: Word
    collateral_value_e8: Word
    debt_value_e8: Word
    limit_e8: Word
    """Value of the debt at a health factor of one."""
    headroom: Word
    """Amount that can still be borrowed, in smallest units."""
    health_factor_wad: Word
    borrow_rate_wad: Word
    """Annual rate without compounding, as is the supply rate."""
    supply_rate_wad: Word


@dataclass(frozen=True, slots=True)
class Terms:
    """Protocol parameters that determine the amounts of a start."""

    price_e8: int
    debt_price_e8: int
    threshold_wad: int
    """Liquidation threshold: largest debt before liquidation, as a share of the collateral value."""
    ltv_wad: int
    """Loan-to-value limit: largest new debt, as a share of the collateral value."""
    kink: float
    """Utilisation above which rates rise steeply."""
    supplied: int
    """Amount supplied to the reserve of the debt; `borrowed` is the amount lent from it."""
    borrowed: int
    room: tuple[int, int, int]
    """Amounts that caps and cash allow to lend, supply as collateral and borrow, in smallest units."""
    least_debt: int = 0


class LendingAdapter(ABC):
    """One collateral and one debt on a protocol. `prepare` sets up a fork; the other methods add to programs."""

    spender: bytes
    """Contract that is approved to take tokens."""
    feed: bytes
    """Price feed of the collateral."""

    def __init__(self, fork: Fork, collateral: str, debt: str) -> None:
        self.fork = fork
        self.collateral, self.debt = Erc20(fork, collateral), Erc20(fork, debt)
        self.unit, self.debt_unit = 10**self.collateral.decimals, 10**self.debt.decimals

    def prepare(self, most_collateral: int) -> None:
        """Fund all accounts, approve `spender`, and find the storage slots to read."""
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
        self.find_slots()

    # -- to be provided by a protocol ---------------------------------------------------------------------------------

    @abstractmethod
    def read_terms(self) -> Terms:
        """Read the present terms."""

    @abstractmethod
    def find_slots(self) -> None:
        """Find the slots that `standing` reads."""

    @abstractmethod
    def supply(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Supply collateral."""

    @abstractmethod
    def borrow(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Take a loan."""

    @abstractmethod
    def repay(self, amount: Word) -> Template:
        """Repay `amount`, at most the debt."""

    @abstractmethod
    def lend(self, amount: Word) -> Template:
        """Supply the debt asset as the rest of the market."""

    @abstractmethod
    def liquidate(self) -> Template:
        """Liquidate as much of the debt as the protocol allows."""

    @abstractmethod
    def health_factor_wad(self, program: Program, price_e8: Word | int) -> Word:
        """Health factor of the borrower in this block."""

    @abstractmethod
    def standing(self, program: Program, price_e8: Word | int) -> Standing:
        """State of the borrower and its reserve in this block."""

    # -- common to all protocols --------------------------------------------------------------------------------------

    def cash(self, program: Program) -> Word:
        """Balance of the debt asset in the borrower's wallet."""
        return program.load(*self.cash_place)

    def loan_of(self, program: Program, value_e8: Word) -> Word:
        """Largest amount of the debt asset with a value of at most `value_e8`."""
        beyond = program.multiply_divide(program.add(value_e8, 1), self.debt_unit, 1)
        return program.divide(program.subtract(beyond, 1), self.terms.debt_price_e8)
