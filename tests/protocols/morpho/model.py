"""Independent model of a Morpho market and of the adaptive curve model, in integers, from Morpho's documentation.

It shares no code with the adapter. Divisions round down unless `ceil` says otherwise; those of the interest rate model,
whose numbers are signed, round towards zero.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

WAD = 10**18
PRICE_UNIT = 10**36
YEAR = 365 * 86_400
UNDERFLOW = "panic 0x11"


class RefusedError(Exception):
    """The contract would revert with this text."""


def ceil(numerator: int, denominator: int) -> int:
    whole, rest = divmod(numerator, denominator)
    return whole + (rest > 0)


def cut(numerator: int, denominator: int) -> int:
    """Divide and round towards zero."""
    whole = abs(numerator) // abs(denominator)
    return whole if (numerator < 0) == (denominator < 0) else -whole


# -- interest rate model ----------------------------------------------------------------------------------------------

TARGET = 9 * WAD // 10
STEEPNESS = 4 * WAD
FIRST_RATE, LEAST_RATE, MOST_RATE = (WAD * share // 1000 // YEAR for share in (40, 1, 2000))
SPEED = 50 * WAD // YEAR
LN_2 = 693_147_180_559_945_309
LN_WEI = -41_446_531_673_892_822_312
MOST_EXPONENT, MOST_POWER = (
    93_859_467_695_000_404_319,
    57_716_089_161_558_943_949_701_069_502_944_508_345_128_422_502_756_744_429_568,
)


def power(exponent: int) -> int:
    """e to the exponent: powers of two, times three terms of Taylor's series."""
    if exponent < LN_WEI:
        return 0
    if exponent >= MOST_EXPONENT:
        return MOST_POWER
    half = LN_2 // 2
    twos = cut(exponent + (half if exponent >= 0 else -half), LN_2)
    rest = exponent - twos * LN_2
    series = WAD + rest + rest * rest // WAD // 2
    return series << twos if twos >= 0 else series >> -twos


@dataclass
class CurveRate:
    """Rate at target of one market; zero before its first interaction."""

    at_target: int = 0

    def charge(self, supplied: int, borrowed: int, seconds: int) -> int:
        """Return the average rate a second since the last interaction, and move the rate at target."""
        usage = borrowed * WAD // supplied if supplied else 0
        distance = cut((usage - TARGET) * WAD, WAD - TARGET if usage > TARGET else TARGET)
        before = self.at_target
        if not before:
            average = self.at_target = FIRST_RATE
        else:
            change = cut(SPEED * distance, WAD) * seconds
            if not change:
                average = before
            else:
                middle = self.moved(before, cut(change, 2))
                self.at_target = self.moved(before, change)
                average = (before + self.at_target + 2 * middle) // 4
        slope = STEEPNESS - WAD if distance >= 0 else WAD - WAD * WAD // STEEPNESS
        return (cut(slope * distance, WAD) + WAD) * average // WAD

    @staticmethod
    def moved(rate: int, change: int) -> int:
        return max(LEAST_RATE, min(MOST_RATE, rate * power(change) // WAD))


# -- market -----------------------------------------------------------------------------------------------------------


@dataclass
class Position:
    supply_shares: int = 0
    borrow_shares: int = 0
    collateral: int = 0


@dataclass
class Market:
    """One market: its totals, positions and interest."""

    lltv: int
    now: int
    price: int
    fee: int = 0
    fee_recipient: bytes = b""
    supplied: int = 0
    supply_shares: int = 0
    borrowed: int = 0
    borrow_shares: int = 0
    updated: int = 0
    irm: CurveRate = field(default_factory=CurveRate)
    positions: dict[bytes, Position] = field(default_factory=dict)
    bad_debt: int = 0

    def __post_init__(self) -> None:
        self.updated = self.now
        self.irm.charge(0, 0, 0)

    def copied(self) -> Market:
        """Return a copy that shares nothing with this market."""
        twin = copy(self)
        twin.irm, twin.positions = copy(self.irm), {user: copy(each) for user, each in self.positions.items()}
        return twin

    def of(self, user: bytes) -> Position:
        return self.positions.setdefault(user, Position())

    @property
    def incentive(self) -> int:
        return min(115 * WAD // 100, WAD * WAD // (WAD - 3 * (WAD - self.lltv) // 10))

    def accrue(self) -> None:
        seconds = self.now - self.updated
        if not seconds:
            return
        rate = self.irm.charge(self.supplied, self.borrowed, seconds)
        linear = rate * seconds
        square = linear * linear // (2 * WAD)
        cube = square * linear // (3 * WAD)
        interest = self.borrowed * (linear + square + cube) // WAD
        self.borrowed += interest
        self.supplied += interest
        if self.fee:
            fee = interest * self.fee // WAD
            shares = fee * (self.supply_shares + 10**6) // (self.supplied - fee + 1)
            self.of(self.fee_recipient).supply_shares += shares
            self.supply_shares += shares
        self.updated = self.now

    def owed(self, user: bytes) -> int:
        return ceil(self.of(user).borrow_shares * (self.borrowed + 1), self.borrow_shares + 10**6)

    def healthy(self, user: bytes) -> bool:
        position = self.of(user)
        limit = position.collateral * self.price // PRICE_UNIT * self.lltv // WAD
        return not position.borrow_shares or limit >= self.owed(user)

    # Each operation returns assets and shares, as the contract does.

    def supply(self, user: bytes, assets: int, shares: int) -> tuple[int, int]:
        self.accrue()
        if assets:
            shares = assets * (self.supply_shares + 10**6) // (self.supplied + 1)
        else:
            assets = ceil(shares * (self.supplied + 1), self.supply_shares + 10**6)
        self.of(user).supply_shares += shares
        self.supply_shares += shares
        self.supplied += assets
        return assets, shares

    def withdraw(self, user: bytes, assets: int, shares: int) -> tuple[int, int]:
        self.accrue()
        if assets:
            shares = ceil(assets * (self.supply_shares + 10**6), self.supplied + 1)
        else:
            assets = shares * (self.supplied + 1) // (self.supply_shares + 10**6)
        position = self.of(user)
        if shares > position.supply_shares or assets > self.supplied:
            raise RefusedError(UNDERFLOW)
        if self.borrowed > self.supplied - assets:
            raise RefusedError("insufficient liquidity")
        position.supply_shares -= shares
        self.supply_shares -= shares
        self.supplied -= assets
        return assets, shares

    def borrow(self, user: bytes, assets: int, shares: int) -> tuple[int, int]:
        self.accrue()
        if assets:
            shares = ceil(assets * (self.borrow_shares + 10**6), self.borrowed + 1)
        else:
            assets = shares * (self.borrowed + 1) // (self.borrow_shares + 10**6)
        self.of(user).borrow_shares += shares
        self.borrow_shares += shares
        self.borrowed += assets
        reason = "" if self.healthy(user) else "insufficient collateral"
        if not reason and self.borrowed > self.supplied:
            reason = "insufficient liquidity"
        if reason:
            self.of(user).borrow_shares -= shares
            self.borrow_shares -= shares
            self.borrowed -= assets
            raise RefusedError(reason)
        return assets, shares

    def repay(self, user: bytes, assets: int, shares: int) -> tuple[int, int]:
        self.accrue()
        if assets:
            shares = assets * (self.borrow_shares + 10**6) // (self.borrowed + 1)
        else:
            assets = ceil(shares * (self.borrowed + 1), self.borrow_shares + 10**6)
        if shares > self.of(user).borrow_shares:
            raise RefusedError(UNDERFLOW)
        self.of(user).borrow_shares -= shares
        self.borrow_shares -= shares
        self.borrowed = max(0, self.borrowed - assets)
        return assets, shares

    def supply_collateral(self, user: bytes, amount: int) -> None:
        self.of(user).collateral += amount  # the one operation without interest

    def withdraw_collateral(self, user: bytes, amount: int) -> None:
        self.accrue()
        position = self.of(user)
        if amount > position.collateral:
            raise RefusedError(UNDERFLOW)
        position.collateral -= amount
        if not self.healthy(user):
            position.collateral += amount
            raise RefusedError("insufficient collateral")

    def liquidate(self, user: bytes, seized: int, shares: int) -> tuple[int, int]:
        """Return seized collateral and repaid assets."""
        self.accrue()
        if self.healthy(user):
            raise RefusedError("position is healthy")
        assets, total = self.borrowed + 1, self.borrow_shares + 10**6
        if seized:
            worth = ceil(seized * self.price, PRICE_UNIT)
            shares = ceil(ceil(worth * WAD, self.incentive) * total, assets)
        else:
            seized = shares * assets // total * self.incentive // WAD * PRICE_UNIT // self.price
        repaid, position = ceil(shares * assets, total), self.of(user)
        if shares > position.borrow_shares or seized > position.collateral:
            raise RefusedError(UNDERFLOW)
        position.borrow_shares -= shares
        self.borrow_shares -= shares
        self.borrowed = max(0, self.borrowed - repaid)
        position.collateral -= seized
        if not position.collateral:
            lost = min(self.borrowed, self.owed(user))
            self.borrowed -= lost
            self.supplied -= lost
            self.borrow_shares -= position.borrow_shares
            position.borrow_shares = 0
            self.bad_debt += lost
        return seized, repaid
