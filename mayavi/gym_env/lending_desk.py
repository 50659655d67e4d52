"""A lending protocol as the borrower's environments use it: what is sent to it, and what is read of it, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.protocols.tokens import Erc20
from mayavi.sim.world_state import account_address

EVERYTHING = 2**256 - 1
BORROWER, LIQUIDATOR, BANK, MARKET = map(account_address, ("borrower", "liquidator", "bank", "market"))
"""Who acts: the borrower, who liquidates it, where dollars earn something, and everybody else in the reserve."""
PLENTY = 10**12
"""Whole dollars that accounts have which never run out."""

MARKET_COLLATERAL = 10**6
"""Whole tokens of collateral the rest of the market can put up; what it borrows more is backed by them."""


class Looked(NamedTuple):
    """What is read of a row after a step: words of the program, then exact integers."""

    collateral: Word
    debt: Word
    collateral_value_e8: Word
    debt_value_e8: Word
    threshold_bps: Word
    ltv_bps: Word
    health_factor_wad: Word
    price_e8: Word
    debt_price_e8: Word
    borrow_rate_ray: Word
    supply_rate_ray: Word


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
    supplied: int
    """What the reserve of the debt holds: all that was lent to it, and of this what is lent on."""
    borrowed: int
    least_debt: int


class Desk(ABC):
    """One collateral and one debt on a protocol. `prepare` sets the stage on a fork; the rest adds to programs."""

    spender: bytes
    """Who takes the tokens that are paid in."""

    def __init__(self, fork: Fork, collateral: str, debt: str) -> None:
        self.fork = fork
        self.collateral, self.debt = Erc20(fork, collateral), Erc20(fork, debt)
        self.unit, self.debt_unit = 10**self.collateral.decimals, 10**self.debt.decimals

    def prepare(self, most_collateral: int) -> None:
        """Give everybody what they need, and let the protocol take it."""
        fork = self.fork
        fork.deal(self.collateral.address, BORROWER, most_collateral)
        fork.deal(self.collateral.address, MARKET, MARKET_COLLATERAL * self.unit)
        for holder in (LIQUIDATOR, BANK, MARKET):
            fork.deal(self.debt.address, holder, PLENTY * self.debt_unit)
        for holder in (BORROWER, LIQUIDATOR, MARKET):
            self.debt.approve(self.spender, EVERYTHING, sender=holder)
        self.collateral.approve(self.spender, EVERYTHING, sender=BORROWER)
        self.collateral.approve(self.spender, EVERYTHING, sender=MARKET)

    @property
    @abstractmethod
    def feed(self) -> bytes:
        """The feed that tells the price of the collateral."""

    @abstractmethod
    def terms(self) -> Terms:
        """As they stand."""

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
    def health_factor_wad(self, program: Program) -> Word:
        """How the borrower stands in this block."""

    @abstractmethod
    def look(self, program: Program) -> Looked:
        """Everything that is read of the borrower and its market in this block."""
