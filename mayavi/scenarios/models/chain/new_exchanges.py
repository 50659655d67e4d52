"""Pools of Uniswap V4 and markets of Pendle that a scenario creates, and routes through them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from mayavi.scenarios.models.values.quantities import NotNegative, Positive, RatioFromZero, Share, Symbol, fault
from mayavi.settings.model import Model

_PT = re.compile(r"PT-(.+)-([0-9]{1,2}[A-Z]{3}[0-9]{4})")


class NewV4Pool(Model):
    """A Uniswap V4 pool that the scenario creates, called TOKEN/OTHER.FEE: ETH/USDC.500. ETH is the native coin."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"price", "liquidity", "range", "tick_spacing"})

    price: Positive | None = None
    """Initial price of one TOKEN in OTHER; by default that of the world's price feeds."""
    liquidity: dict[Symbol, NotNegative]
    """Most of each token that is deposited."""
    range: Annotated[list[Positive], Field(min_length=2, max_length=2)] | None = None
    """Lowest and highest price of the liquidity; by default all prices."""
    tick_spacing: Annotated[int, Field(ge=1, le=32_767)] | None = None
    """Tick spacing; by default that of Uniswap V3 for fees of 100, 500, 3000 and 10000."""


class NewPendleMarket(Model):
    """A Pendle market that the scenario creates. Its name is that of its PT, PT-wstETH-11JUL2024: token and expiry."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"asset", "rate", "liquidity"})

    asset: Symbol | None = None
    """Asset that a PT is worth at expiry; by default the yield token itself."""
    rate: Positive = Decimal(1)
    """Worth of one yield token in assets at the start."""
    growth: RatioFromZero = Decimal(0)
    """Growth of that worth in a year."""
    implied_rate: RatioFromZero
    """Yearly rate that a PT earns at its first price."""
    liquidity: Positive
    """Yield tokens in the market at the start, beside PT of the same worth."""
    scalar_root: Positive = Decimal(75)
    """Slope of the market's curve: the higher, the less a trade moves the rate."""
    fee: Share = Decimal("0.001")
    """Fee of a trade, as a yearly rate."""
    discount: RatioFromZero | None = None
    """Yearly discount of the price feed that lending markets use; by default `implied_rate`."""


class PoolRouteModel(Model):
    """Route over pools of Uniswap V3 or V4."""

    uniswap_v3: list[Symbol | int] | None = None
    """Tokens and fees in turn: [WETH, 500, USDC]."""
    uniswap_v4: list[Symbol | int | list[int]] | None = None
    """Tokens and fees in turn, a fee alone or with its tick spacing: [WETH, [700, 10], USDC]. ETH at an end
    stands for the wrapped coin."""

    @model_validator(mode="after")
    def _is_one_route(self) -> Self:
        if sum(each is not None for each in self._routes()) != 1:
            names = (
                "uniswap_v3, uniswap_v4 or pendle" if isinstance(self, SaleRouteModel) else "uniswap_v3 or uniswap_v4"
            )
            raise fault(f"is not one route; give {names}")
        return self

    def _routes(self) -> list[object]:
        return [self.uniswap_v3, self.uniswap_v4]


class SaleRouteModel(PoolRouteModel):
    """Route by which a liquidator sells a collateral: over pools of Uniswap V3 or V4, or out of a Pendle market."""

    pendle: Symbol | None = None
    """PT that is sold on its market: PT-wstETH-11JUL2024."""
    then: PoolRouteModel | None = None
    """With `pendle`: the route from the yield token on; none if that is the debt."""

    @model_validator(mode="after")
    def _goes_on(self) -> Self:
        if self.then is not None and self.pendle is None:
            raise fault("goes on with 'then' without `pendle`; write one route over all pools")
        return self

    def _routes(self) -> list[object]:
        return [*super()._routes(), self.pendle]


def pt_parts(name: str) -> tuple[str, int] | None:
    """Split the name of a PT into yield token and expiry, a Unix time; None if it is not of that form."""
    found = _PT.fullmatch(name)
    if found is None:
        return None
    try:
        day = datetime.strptime(found[2], "%d%b%Y").replace(tzinfo=UTC)
    except ValueError:
        return None
    return found[1], int(day.timestamp())
