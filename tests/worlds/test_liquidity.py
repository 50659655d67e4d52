"""Profiles become positions: around the price, of the requested value, the same on every machine."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.worlds.deploy.liquidity import MAX_TICK, bands, sqrt_price_x96

PROFILE: list[tuple[str | None, str]] = [(None, "0.1"), ("1.00", "0.3"), ("0.04", "0.6")]
PRICES = st.decimals(min_value=Decimal("1e-12"), max_value=Decimal("1e12"), places=14).filter(lambda price: price > 0)


@given(PRICES)
def test_the_square_root_is_exact_to_the_last_bit(price: Decimal) -> None:
    scaled = int(price.scaleb(14))
    assert sqrt_price_x96(price) == isqrt((scaled << 192) // 10**14)


@given(PRICES, st.integers(10**9, 10**30), st.sampled_from([1, 10, 60, 200]))
def test_bands_hold_the_price_and_the_whole_value(price: Decimal, value: int, spacing: int) -> None:
    positions = bands(price, Decimal(value), PROFILE, spacing)
    exact_price = Fraction(price)
    worth = sum((band.amount0 * exact_price + band.amount1 for band in positions), Fraction())
    # Each band loses less than one unit of each token to rounding.
    assert 0 <= value - worth <= len(positions) * (exact_price + 1)
    for band in positions:
        assert -MAX_TICK <= band.lower_tick < band.upper_tick <= MAX_TICK
        assert band.lower_tick % spacing == band.upper_tick % spacing == 0
    for outer, inner in pairwise(positions):
        assert outer.lower_tick <= inner.lower_tick
        assert inner.upper_tick <= outer.upper_tick


def test_a_known_pool_has_known_ticks() -> None:
    price = 1 / (Decimal("2562.990364482078") * Decimal(10) ** (6 - 18))  # WETH per USDC, in smallest units
    whole, wide, narrow = bands(price, Decimal(10**22), PROFILE, 10)
    assert (whole.lower_tick, whole.upper_tick) == (-887_270, 887_270)
    assert (wide.upper_tick - wide.lower_tick) == pytest.approx(2 * 6_932, abs=20)
    assert (narrow.lower_tick + narrow.upper_tick) / 2 == pytest.approx(197_830, abs=20)
