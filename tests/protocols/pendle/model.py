"""Integer model of a Pendle market, written from its formulas, to compare the contract with.

PT trade against SY on a logit curve: with p the share of PT in the market, one asset buys ln(p / (1 - p)) / scalar +
anchor PT. Before each trade the anchor is set so that the implied rate of the last trade holds; scalar grows towards
expiry. All numbers have 18 decimals; logarithm and exponential are those of the contract's fixed-point series.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from math import isqrt

ONE = 10**18
YEAR = 365 * 86_400
HIGHEST_SHARE = ONE * 96 // 100
LOCKED_LP = 1_000
_E18, _E20, _E36 = 10**18, 10**20, 10**36


class RefusedError(Exception):
    """A trade that the market refuses, by the name of its error."""


def div(a: int, b: int) -> int:
    """Divide towards zero, as the EVM does."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _powers() -> list[tuple[int, int]]:
    """Powers of two from 128 to 1/16 with their exponentials, to 21 digits; the first two have no decimals."""
    with localcontext(Context(prec=21)):
        exponents = [Decimal(2) ** n for n in range(7, -5, -1)]
        exponentials = [each.exp() for each in exponents]
    scales = [(_E18, 1)] * 2 + [(_E20, _E20)] * 10
    return [(int(x * of), int(e * to)) for x, e, (of, to) in zip(exponents, exponentials, scales, strict=True)]


POWERS = _powers()


def exp(x: int) -> int:
    """Exponential of a number from 0 to 130."""
    assert 0 <= x <= 130 * ONE
    whole = 1
    for power, exponential in POWERS[:2]:
        if x >= power:
            x, whole = x - power, exponential
            break
    x *= 100
    product = _E20
    for power, exponential in POWERS[2:10]:
        if x >= power:
            x, product = x - power, product * exponential // _E20
    series = term = _E20
    for n in range(1, 13):
        term = term * x // _E20 // n
        series += term
    return product * series // _E20 * whole // 100


def ln(a: int) -> int:
    """Natural logarithm; near one with 36 decimals inside."""
    if ONE - ONE // 10 < a < ONE + ONE // 10:
        return div(_series(a * _E18, _E36, 15), _E18)
    if a < ONE:
        return -ln_large(_E36 // a)
    return ln_large(a)


def ln_large(a: int) -> int:
    total = 0
    for power, exponential in POWERS[:2]:
        if a >= exponential * ONE:
            a, total = a // exponential, total + power
    a, total = a * 100, total * 100
    for power, exponential in POWERS[2:]:
        if a >= exponential:
            a, total = a * _E20 // exponential, total + power
    return div(total + _series(a, _E20, 11), 100)


def _series(a: int, one: int, last: int) -> int:
    """Twice the area hyperbolic tangent of (a - 1) / (a + 1): the logarithm of a number near one."""
    z = div((a - one) * one, a + one)
    square = div(z * z, one)
    total = term = z
    for n in range(3, last + 1, 2):
        term = div(term * square, one)
        total += div(term, n)
    return 2 * total


@dataclass
class Market:
    """State of a market and what trades do to it."""

    scalar_root: int
    anchor: int
    ln_fee_root: int
    expiry: int
    reserve_percent: int = 80
    pt: int = 0
    sy: int = 0
    lp: int = 0
    ln_rate: int = 0

    def add(self, sy: int, pt: int, index: int, now: int) -> tuple[int, int, int]:
        """Add liquidity; return LP, SY and PT."""
        self._check_open(now)
        if self.lp == 0:
            minted, used_sy, used_pt, locked = isqrt(sy * pt) - LOCKED_LP, sy, pt, LOCKED_LP
        else:
            by_pt, by_sy, locked = pt * self.lp // self.pt, sy * self.lp // self.sy, 0
            minted = min(by_pt, by_sy)
            used_sy, used_pt = (
                (-(-self.sy * minted // self.lp), pt) if by_pt < by_sy else (sy, -(-self.pt * minted // self.lp))
            )
        self.sy, self.pt, self.lp = self.sy + used_sy, self.pt + used_pt, self.lp + minted + locked
        if locked:
            self.ln_rate = self._implied(index, self.scalar(now), self.anchor, now)
        return minted, used_sy, used_pt

    def remove(self, lp: int) -> tuple[int, int]:
        """Remove liquidity; return SY and PT."""
        sy, pt = lp * self.sy // self.lp, lp * self.pt // self.lp
        self.lp, self.sy, self.pt = self.lp - lp, self.sy - sy, self.pt - pt
        return sy, pt

    def sell(self, pt: int, index: int, now: int) -> tuple[int, int]:
        """Sell PT; return SY and fee."""
        sy, fee, _ = self._trade(-pt, index, now)
        return sy, fee

    def buy(self, pt: int, index: int, now: int) -> tuple[int, int]:
        """Buy PT; return SY paid and fee."""
        sy, fee, _ = self._trade(pt, index, now)
        return -sy, fee

    def price(self, now: int) -> int:
        """Price of a PT in assets, at the last trade's rate."""
        if now >= self.expiry:
            return ONE
        return ONE * ONE // exp(self.ln_rate * (self.expiry - now) // YEAR)

    def scalar(self, now: int) -> int:
        return self.scalar_root * YEAR // (self.expiry - now)

    def _trade(self, bought: int, index: int, now: int) -> tuple[int, int, int]:
        """Trade `bought` PT, negative if sold; return SY received, fee in SY and its part for the treasury."""
        self._check_open(now)
        if self.pt <= bought:
            raise RefusedError("MarketInsufficientPtForTrade")
        left, scalar, assets = self.expiry - now, self.scalar(now), self.sy * index // ONE
        exchange = exp(self.ln_rate * left // YEAR)
        anchor = exchange - div(_logit(self.pt * ONE // (self.pt + assets)) * ONE, scalar)
        fee_factor = exp(self.ln_fee_root * left // YEAR)
        before_fee = _curve(self.pt, assets, scalar, anchor, bought)
        asset = -div(bought * ONE, before_fee)
        if bought > 0:
            after_fee = before_fee * ONE // fee_factor
            if after_fee < ONE:
                raise RefusedError("MarketExchangeRateBelowOne")
            fee = div(asset * (ONE - fee_factor), ONE)
        else:
            fee = -div(asset * (ONE - fee_factor), fee_factor)
        kept = fee * self.reserve_percent // 100
        net = asset - fee
        sy = -((-net * ONE + index - 1) // index) if net < 0 else net * ONE // index
        fee_sy, kept_sy = fee * ONE // index, kept * ONE // index
        after = Market(**{**self.__dict__, "pt": self.pt - bought, "sy": self.sy - sy - kept_sy})
        if self.sy < sy + kept_sy:
            raise RefusedError("Error")
        after.ln_rate = after._implied(index, scalar, anchor, now)
        if after.ln_rate == 0:
            raise RefusedError("MarketZeroLnImpliedRate")
        if (fee_sy - kept_sy) * index // ONE == 0:
            raise RefusedError("MarketZeroNetLPFee")
        self.__dict__.update(after.__dict__)
        return sy, fee_sy, kept_sy

    def _implied(self, index: int, scalar: int, anchor: int, now: int) -> int:
        rate = _curve(self.pt, self.sy * index // ONE, scalar, anchor, 0)
        return ln(rate) * YEAR // (self.expiry - now)

    def _check_open(self, now: int) -> None:
        if now >= self.expiry:
            raise RefusedError("MarketExpired")


def _logit(share: int) -> int:
    return ln(share * ONE // (ONE - share))


def _curve(pt: int, assets: int, scalar: int, anchor: int, bought: int) -> int:
    """PT for one asset once `bought` PT are gone."""
    share = (pt - bought) * ONE // (pt + assets)
    if share > HIGHEST_SHARE:
        raise RefusedError("MarketProportionTooHigh")
    rate = div(_logit(share) * ONE, scalar) + anchor
    if rate < ONE:
        raise RefusedError("MarketExchangeRateBelowOne")
    return rate
