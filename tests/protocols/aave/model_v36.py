"""Aave V3.6 in Python integers: an independent model of its accounts, written from the protocol's rules.

A refused operation raises `RefusedError` with the name of the error and leaves the model as it was.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.protocols.aave.market_v36 import Mode, Terms

WAD, RAY, BPS, YEAR = 10**18, 10**27, 10_000, 365 * 86_400
EVERYTHING = NO_DEBT = 2**256 - 1
USD = 10**8
TREASURY = "treasury"


class RefusedError(Exception):
    """Operation that the pool refuses, by the name of its error."""


def require(condition: object, error: str) -> None:
    if not condition:
        raise RefusedError(error)


def nearest(a: int, b: int, c: int) -> int:
    """`a * b / c`, halves up."""
    return (a * b + c // 2) // c


def down(a: int, b: int, c: int) -> int:
    return a * b // c


def up(a: int, b: int, c: int) -> int:
    return -(-a * b // c)


@dataclass
class ReserveModel:
    terms: Terms
    price: int
    updated: int
    liquidity_index: int = RAY
    borrow_index: int = RAY
    supply_rate: int = 0
    borrow_rate: int = 0
    virtual: int = 0
    deficit: int = 0
    accrued: int = 0
    supplies: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    debts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def unit(self) -> int:
        return int(10**self.terms.decimals)

    def income(self, now: int) -> int:
        growth = RAY + self.supply_rate * (now - self.updated) // YEAR
        return nearest(growth, self.liquidity_index, RAY)

    def owing(self, now: int) -> int:
        x = self.borrow_rate * (now - self.updated) // YEAR
        growth = RAY + x + nearest(x, x // 2 + nearest(x, x // 6, RAY), RAY)
        return nearest(growth, self.borrow_index, RAY)

    def supplied(self, who: str, now: int) -> int:
        return down(self.supplies[who], self.income(now), RAY)

    def debt(self, who: str, now: int) -> int:
        return up(self.debts[who], self.owing(now), RAY)

    def total_supply(self, now: int) -> int:
        return down(sum(self.supplies.values()), self.income(now), RAY)

    def accrue(self, now: int, *, again: bool = False) -> None:
        """Bring the indexes up to date. `again` counts the treasury's share twice, as a liquidation in kind does."""
        if self.updated == now:
            return
        shares, before = sum(self.debts.values()), self.borrow_index
        liquidity = self.income(now) if self.supply_rate else self.liquidity_index
        borrow = self.owing(now) if shares else before
        self.liquidity_index, self.borrow_index, self.updated = liquidity, borrow, now
        interest = down(shares, borrow - before, RAY)
        minted = down(nearest(interest, self.terms.factor_bps, BPS), RAY, liquidity)
        self.accrued += 2 * minted if again else minted

    def set_rates(self, added: int = 0, taken: int = 0) -> None:
        optimal, base, slope1, slope2 = (each * 10**23 for each in self.terms.rates_bps)
        debt = up(sum(self.debts.values()), self.borrow_index, RAY)
        require(self.virtual + added >= taken, "Panic")
        self.supply_rate, self.borrow_rate = 0, base
        if debt:
            there = self.virtual + added - taken + debt
            used, used_supply = nearest(debt, RAY, there), nearest(debt, RAY, there + self.deficit)
            if used > optimal:
                self.borrow_rate += slope1 + nearest(slope2, nearest(used - optimal, RAY, RAY - optimal), RAY)
            else:
                self.borrow_rate += nearest(nearest(slope1, used, RAY), RAY, optimal)
            earned = nearest(self.borrow_rate, used_supply, RAY)
            self.supply_rate = nearest(earned, BPS - self.terms.factor_bps, BPS)
        self.virtual += added - taken

    def burn_supply(self, who: str, shares: int) -> None:
        require(shares, "InvalidBurnAmount")
        require(shares <= self.supplies[who], "Panic")
        self.supplies[who] -= shares

    def burn_debt(self, who: str, shares: int) -> None:
        require(shares, "InvalidBurnAmount")
        require(shares <= self.debts[who], "Panic")
        self.debts[who] -= shares


@dataclass
class Totals:
    """What `getUserAccountData` answers, and whether some collateral has no borrowing power."""

    collateral: int
    debt: int
    ltv: int
    threshold: int
    health: int
    zero_ltv: bool

    @property
    def available(self) -> int:
        return max(0, self.collateral * self.ltv // BPS - self.debt)


class Model:
    """A market: reserves in the order of their ids, modes, and the accounts in it."""

    def __init__(self, reserves: dict[str, Terms], modes: dict[int, Mode], now: int) -> None:
        self.now, self.modes = now, modes
        self.reserves = {symbol: ReserveModel(terms, terms.price_usd_e8, now) for symbol, terms in reserves.items()}
        self.collateral: defaultdict[str, set[str]] = defaultdict(set)
        self.borrowing: defaultdict[str, set[str]] = defaultdict(set)
        self.emode: defaultdict[str, int] = defaultdict(int)
        self.wallet: defaultdict[tuple[str, str], int] = defaultdict(int)

    def do(self, operation: str, *arguments: Any) -> Any:
        """Run an operation; nothing changes if it is refused."""
        before = pickle.dumps(self.__dict__)  # ten times as fast as a deep copy
        try:
            act: Callable[..., Any] = getattr(self, operation)
            return act(*arguments)
        except RefusedError:
            self.__dict__ = pickle.loads(before)
            raise

    # -- reading ------------------------------------------------------------------------------------------------------

    def ltv(self, symbol: str, category: int) -> int:
        mode = self.modes.get(category)
        if mode and symbol in mode.collateral:
            return 0 if symbol in mode.ltvzero else mode.ltv_bps
        return self.reserves[symbol].terms.ltv_bps

    def totals(self, who: str, category: int | None = None) -> Totals:
        category = self.emode[who] if category is None else category
        mode, zero = self.modes.get(category), False
        total = owed = by_ltv = by_threshold = 0
        for symbol, reserve in self.reserves.items():
            if symbol in self.collateral[who]:
                value = reserve.supplied(who, self.now) * reserve.price // reserve.unit
                ltv, total = self.ltv(symbol, category), total + value
                zero, by_ltv = zero or not ltv, by_ltv + value * ltv
                inside = mode and symbol in mode.collateral
                by_threshold += value * (mode.threshold_bps if mode and inside else reserve.terms.threshold_bps)
            if symbol in self.borrowing[who]:
                owed += up(reserve.debt(who, self.now), reserve.price, reserve.unit)
        health = nearest(by_threshold, WAD, owed) // BPS if owed else NO_DEBT
        averages = (by_ltv // total, by_threshold // total) if total else (0, 0)
        return Totals(total, owed, *averages, health, zero)

    def _check_health(self, who: str) -> Totals:
        totals = self.totals(who)
        require(totals.health >= WAD, "HealthFactorLowerThanLiquidationThreshold")
        return totals

    def _check_leaving(self, who: str, symbol: str) -> None:
        """Collateral without borrowing power has to leave first."""
        if self._check_health(who).zero_ltv:
            require(self.ltv(symbol, self.emode[who]) == 0, "LtvValidationFailed")

    # -- operations ---------------------------------------------------------------------------------------------------

    def advance(self, seconds: int) -> None:
        self.now += seconds

    def move_price(self, symbol: str, price: int) -> None:
        self.reserves[symbol].price = price

    def supply(self, who: str, symbol: str, amount: int) -> None:
        reserve = self.reserves[symbol]
        reserve.accrue(self.now)
        shares = down(amount, RAY, reserve.liquidity_index)
        require(shares, "InvalidAmount")
        after = down(sum(reserve.supplies.values()) + shares + reserve.accrued, reserve.liquidity_index, RAY)
        cap = reserve.terms.supply_cap
        require(not cap or after <= cap * reserve.unit, "SupplyCapExceeded")
        reserve.set_rates(added=amount)
        first = not reserve.supplies[who]
        reserve.supplies[who] += shares
        self.wallet[who, symbol] -= amount
        if first and self.ltv(symbol, self.emode[who]):
            self.collateral[who].add(symbol)

    def withdraw(self, who: str, symbol: str, amount: int) -> None:
        reserve = self.reserves[symbol]
        reserve.accrue(self.now)
        held = reserve.supplies[who]
        if amount == EVERYTHING:
            shares, amount = held, down(held, reserve.liquidity_index, RAY)
        else:
            shares = up(amount, RAY, reserve.liquidity_index)
        require(shares, "InvalidAmount")
        require(shares <= held, "NotEnoughAvailableUserBalance")
        reserve.set_rates(taken=amount)
        reserve.burn_supply(who, shares)
        self.wallet[who, symbol] += amount
        if symbol in self.collateral[who]:
            if not reserve.supplies[who]:
                self.collateral[who].discard(symbol)
            if self.borrowing[who]:
                self._check_leaving(who, symbol)

    def borrow(self, who: str, symbol: str, amount: int) -> None:
        reserve, mode = self.reserves[symbol], self.modes.get(self.emode[who])
        reserve.accrue(self.now)
        shares = up(amount, RAY, reserve.borrow_index)
        require(shares, "InvalidAmount")
        require(not mode or symbol in mode.borrowable, "NotBorrowableInEMode")
        require(reserve.total_supply(self.now) >= up(shares, reserve.borrow_index, RAY), "InvalidAmount")
        cap = reserve.terms.borrow_cap * reserve.unit
        after = up(sum(reserve.debts.values()) + shares, reserve.borrow_index, RAY)
        require(not cap or after <= cap, "BorrowCapExceeded")
        reserve.debts[who] += shares
        self.borrowing[who].add(symbol)
        reserve.set_rates(taken=amount)
        self.wallet[who, symbol] += amount
        totals = self.totals(who)
        require(totals.ltv, "LtvValidationFailed")
        require(totals.health >= WAD, "HealthFactorLowerThanLiquidationThreshold")
        require(totals.collateral >= up(totals.debt, BPS, totals.ltv), "CollateralCannotCoverNewBorrow")

    def repay(self, who: str, symbol: str, amount: int) -> None:
        reserve = self.reserves[symbol]
        reserve.accrue(self.now)
        require(amount, "InvalidAmount")
        require(reserve.debts[who], "NoDebtOfSelectedType")
        amount = min(amount, up(reserve.debts[who], reserve.borrow_index, RAY))
        reserve.burn_debt(who, down(amount, RAY, reserve.borrow_index))
        reserve.set_rates(added=amount)
        self.wallet[who, symbol] -= amount
        if not reserve.debts[who]:
            self.borrowing[who].discard(symbol)

    def set_collateral(self, who: str, symbol: str, use: bool) -> None:
        if use == (symbol in self.collateral[who]):
            return
        if use:
            require(self.reserves[symbol].supplies[who], "UnderlyingBalanceZero")
            require(self.ltv(symbol, self.emode[who]), "UserInIsolationModeOrLtvZero")
            self.collateral[who].add(symbol)
        else:
            self.collateral[who].discard(symbol)
            self._check_leaving(who, symbol)

    def set_emode(self, who: str, category: int) -> None:
        if self.emode[who] == category:
            return
        mode = self.modes.get(category)
        require(not category or mode, "InconsistentEModeCategory")
        for symbol in self.reserves:
            if symbol in self.borrowing[who]:
                require(not mode or symbol in mode.borrowable, "InvalidDebtInEmode")
            if symbol in self.collateral[who]:
                require(self.ltv(symbol, category), "InvalidCollateralInEmode")
        self.emode[who] = category
        self._check_health(who)

    def transfer(self, who: str, symbol: str, to: str, amount: int) -> None:
        """Transfer aTokens."""
        reserve = self.reserves[symbol]
        shares, held = up(amount, RAY, reserve.income(self.now)), reserve.supplies[who]
        require(shares <= held, "Panic")
        reserve.supplies[who] -= shares
        reserve.supplies[to] += shares
        if who != to and shares and symbol in self.collateral[who]:
            if shares == held:
                self.collateral[who].discard(symbol)
            if self.borrowing[who]:
                self._check_leaving(who, symbol)

    def eliminate_deficit(self, who: str, symbol: str, amount: int) -> None:
        reserve = self.reserves[symbol]
        require(amount, "InvalidAmount")
        require(reserve.deficit, "ReserveNotInDeficit")
        require(not self.borrowing[who], "UserCannotHaveDebt")
        reserve.accrue(self.now)
        amount = min(amount, reserve.deficit)
        shares = up(amount, RAY, reserve.liquidity_index)
        require(shares <= reserve.supplies[who], "NotEnoughAvailableUserBalance")
        if shares == reserve.supplies[who]:
            self.collateral[who].discard(symbol)
        reserve.burn_supply(who, shares)
        reserve.deficit -= amount
        reserve.set_rates()
