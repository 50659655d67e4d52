"""Markets that a scenario creates: reserves of Aave V3 and V2, and Curve pools."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from mayavi.scenarios.models.chain.parameters import Bonus, Points
from mayavi.scenarios.models.values.quantities import NotNegative, Positive, RatioFromZero, Share, Symbol, fault
from mayavi.settings.model import Model


class _NewReserve(Model):
    """Terms of a reserve as collateral, and its interest rate curve."""

    ltv: Points
    """Loan to value, the share of collateral that can be borrowed."""
    liquidation_threshold: Points
    """Share of collateral that debt may reach before liquidation."""
    liquidation_bonus: Bonus
    """What a liquidator receives on top of the debt it repays: 4.5%."""
    reserve_factor: Points = Decimal(0)
    """Share of interest that goes to the treasury."""
    optimal_usage: Annotated[Share, Field(gt=0)] = Decimal("0.8")
    """Utilisation at which the interest rate curve bends."""
    base_rate: RatioFromZero = Decimal(0)
    """Variable rate a year at no utilisation."""
    slope1: RatioFromZero = Decimal("0.04")
    """What the rate gains up to `optimal_usage`."""
    slope2: RatioFromZero = Decimal("0.75")
    """What the rate gains beyond `optimal_usage`."""
    supplied: NotNegative = Decimal(0)
    """What other accounts have supplied, in whole tokens."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.ltv > self.liquidation_threshold:
            raise fault(f"has a loan to value of {self.ltv} above its liquidation threshold")
        return self


class NewReserve(_NewReserve):
    """A reserve that the scenario adds to the chain's Aave V3 market: collateral at the price of the chain's feed.
    `parameters` can cap it, let it be borrowed, and so on."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"emodes"})

    emodes: list[Annotated[int, Field(ge=1, le=255)]] = Field(default_factory=list)
    """Efficiency modes in which it is collateral, by number: [1]. V3.0 takes one at most."""


class NewReserveV2(_NewReserve):
    """A reserve of the Aave V2 market that the scenario creates. Its price is that of the chain's price feed."""

    price: Positive | None = None
    """Price in US dollars that the feed answers before the first step; by default its own."""


class NewCurvePool(Model):
    """A Curve StableSwap pool of two or three coins that the scenario creates, labelled `Curve.NAME`."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"balances"})

    balances: Annotated[dict[Symbol, Positive], Field(min_length=2, max_length=3)]
    """Coins in their order in the pool, and the amount of each that is deposited."""
    a: Annotated[int, Field(ge=1, le=1_000_000)]
    """Amplification."""
    fee: Share = Decimal("0.0004")
    """Fee of an exchange."""
    admin_fee: Share = Decimal(0)
    """Share of the fees that goes to the administrator."""
