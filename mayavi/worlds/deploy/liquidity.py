"""Turn a price, a value and a liquidity profile into ticks and amounts.

A profile is a list of bands, each with a width and a share of the pool's value. A band of width w holds its share
between price / (1 + w) and price × (1 + w); without a width it is the whole range. Stacked bands form a pyramid that is
deepest at the price, like real pools.

Everything is computed with `decimal` at a fixed precision, so the result is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

MAX_TICK = 887_272
_TICK_BASE = Decimal("1.0001")
_Q96 = 2**96
_EXACT = Context(prec=60)


@dataclass(frozen=True, slots=True)
class Band:
    """One position: its tick range and the maximal amounts of both tokens, in smallest units."""

    lower_tick: int
    upper_tick: int
    amount0: int
    amount1: int


def sqrt_price_x96(price: Decimal) -> int:
    """Return the square root of `price` (token1 per token0, in smallest units) as Uniswap stores it."""
    with localcontext(_EXACT):
        return int((price.sqrt() * _Q96).to_integral_value(ROUND_FLOOR))


def bands(price: Decimal, value1: Decimal, profile: Sequence[tuple[str | None, str]], tick_spacing: int) -> list[Band]:
    """Return the positions of a pool worth `value1` of token1 in total; `price` as for `sqrt_price_x96`."""
    with localcontext(_EXACT):
        shares = sum(Decimal(share) for _, share in profile)
        return [
            _band(price, value1 * Decimal(share) / shares, *_tick_range(price, width, tick_spacing))
            for width, share in profile
        ]


def _tick_range(price: Decimal, width: str | None, spacing: int) -> tuple[int, int]:
    if width is None:
        edge = MAX_TICK // spacing * spacing
        return -edge, edge
    factor = 1 + Decimal(width)
    lower = _tick_at(price / factor) / spacing
    upper = _tick_at(price * factor) / spacing
    return int(lower.to_integral_value(ROUND_FLOOR)) * spacing, int(upper.to_integral_value(ROUND_CEILING)) * spacing


def _tick_at(price: Decimal) -> Decimal:
    return price.ln() / _TICK_BASE.ln()


def _band(price: Decimal, value1: Decimal, lower_tick: int, upper_tick: int) -> Band:
    root = price.sqrt()
    lower = (_TICK_BASE**lower_tick).sqrt()
    upper = (_TICK_BASE**upper_tick).sqrt()
    per_liquidity0 = 1 / root - 1 / upper
    per_liquidity1 = root - lower
    liquidity = value1 / (per_liquidity0 * price + per_liquidity1)
    return Band(lower_tick, upper_tick, int(liquidity * per_liquidity0), int(liquidity * per_liquidity1))
