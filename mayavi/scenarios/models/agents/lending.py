"""Settings of lending agents: borrowers, liquidators, Curve loopers."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    field_validator,
    model_validator,
)

from mayavi.scenarios.models.agents.shared import AgentSettings, BehaviourName, Count, Protocol
from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.chain.morpho import PROTOCOL, market_fault
from mayavi.scenarios.models.chain.new_exchanges import SaleRouteModel
from mayavi.scenarios.models.values.distributions import Constant, Distribution, LogNormal, LogNormalParameters, lowest
from mayavi.scenarios.models.values.mixes import Mix, TokenOrMix
from mayavi.scenarios.models.values.quantities import (
    Asset,
    NotNegative,
    PositiveRatio,
    RatioFromZero,
    Share,
    Symbol,
    TokenOrAmount,
    fault,
)


def _spread(median: int) -> LogNormal:
    return LogNormal(lognormal=LogNormalParameters(median=Decimal(median), sigma=Decimal(1)))


def _health_factors(what: Distribution) -> Distribution:
    """Return `what`, or raise if its lowest value is known to be 1 or less."""
    least = lowest(what)
    if least is not None and least <= 1:
        raise fault(
            f"is {least} at its lowest, and at a health factor of 1 and below a loan can be liquidated at once; "
            "stay above 1: {uniform: [1.05, 2.5]}"
        )
    return what


HealthFactors = Annotated[Distribution, AfterValidator(_health_factors)]


class Borrower(AgentSettings):
    """A borrower, or `count` of them drawn from distributions.

    `collateral` and `debt` name a token, or an amount of it per account. Without an amount of collateral its value is
    drawn from `size_usd`; without an amount of debt the account borrows up to a `health_factor`. Several tokens are a
    mapping: of shares, `{WETH: 60%, WBTC: 40%}`, or of amounts, `{WETH: 2, USDC: 1_000}`. Such a borrower, and one with
    an `emode`, opens its loan before the first step.
    """

    question_fields: ClassVar[frozenset[str]] = frozenset(
        {"count", "collateral", "debt", "size_usd", "health_factor", "emode"}
    )

    kind: Literal["borrower"]
    count: Count = 1
    """Number of borrowers; all are drawn from the same distributions."""
    protocol: Protocol = "aave_v3"
    """Lending protocol: aave_v3, spark, compound_v3, or aave_v2 and morpho if the scenario creates their markets."""
    market: str = "cUSDCv3"
    """Market of Compound V3, or of Morpho: wstETH/USDC.86."""
    collateral: TokenOrMix
    """A token, an amount such as `1 WETH`, or several: {WETH: 60%, WBTC: 40%}."""
    debt: TokenOrMix
    """A token, an amount such as `1_700 USDC`, or several: {USDC: 70%, DAI: 30%}."""
    emode: str | Annotated[int, Field(ge=0, le=255)] | None = None
    """Efficiency mode of Aave or Spark, by number or label: ETH correlated."""
    size_usd: Distribution = Field(default_factory=lambda: _spread(20_000))
    """Value of its collateral in dollars, where `collateral` names no amount."""
    health_factor: HealthFactors | None = None
    """Health factor at opening, above 1; where the market lends less, its limit, and the run notes it."""
    behaviour: dict[BehaviourName, RatioFromZero] | BehaviourName = "hold"
    """hold: never acts again. band: keeps its health factor inside `band`. panic: repays all it can below
    `panic_below`. Or shares of each: `{hold: 70%, band: 20%, panic: 10%}`."""
    band: Annotated[list[PositiveRatio], Field(min_length=2, max_length=2), Mark.LEVEL] = Field(
        default_factory=lambda: [Decimal("1.3"), Decimal("1.8")]
    )
    """Bounds for `behaviour: band`: below the first the borrower repays, above the second it borrows more."""
    panic_below: Annotated[PositiveRatio, Mark.LEVEL] = Decimal("1.1")
    """Health factor below which `behaviour: panic` repays."""
    cash: Share = Decimal("0.5")
    """Share of the borrowed amount that it keeps to repay with; the rest is spent."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Borrower:
        if not self.fixed_debt and self.health_factor is None:
            raise fault(
                f"borrows {_named(self.debt)} without an amount: give one ('1_700 {_named(self.debt)}') "
                "or a 'health_factor'"
                if not isinstance(self.debt, Mix)
                else "borrows shares of a debt: give a 'health_factor', or amounts ({USDC: 1_000, DAI: 500})"
            )
        if self.fixed_debt and self.health_factor is not None:
            raise fault("gives both an amount of debt and a 'health_factor'; leave one out")
        for side, asset in (("collateral", self.collateral), ("debt", self.debt)):
            if not isinstance(asset, Mix) and asset.amount == 0:
                raise fault(f"has no {side}; an amount is above zero")
        if self.emode and self.protocol == "compound_v3":
            raise fault("is in an eMode, and Compound V3 has none; leave 'emode' out")
        if self.protocol == PROTOCOL:
            if found := market_fault(self.market):
                raise fault(found)
            if self.mixed:
                raise fault("has several assets or an eMode, and a Morpho market has one collateral and one debt")
        if self.mixed and self.fixed_debt and not self.fixed_collateral:
            raise fault("gives an amount of debt and none of collateral; give both, or a 'health_factor'")
        if self.band[0] >= self.band[1]:
            raise fault(f"has a band from {self.band[0]} to {self.band[1]}; give the lower bound first")
        if isinstance(self.behaviour, dict) and not sum(self.behaviour.values()):
            raise fault("has a behaviour whose shares are all zero")
        return self

    @property
    def mixed(self) -> bool:
        """Whether it has several assets on a side, or an efficiency mode."""
        return isinstance(self.collateral, Mix) or isinstance(self.debt, Mix) or bool(self.emode)

    @property
    def fixed_collateral(self) -> bool:
        """Whether amounts of collateral are given."""
        return _is_fixed(self.collateral)

    @property
    def fixed_debt(self) -> bool:
        """Whether amounts of debt are given."""
        return _is_fixed(self.debt)


def _is_fixed(side: Asset | Mix) -> bool:
    return not side.shares if isinstance(side, Mix) else side.amount is not None


def _named(side: Asset | Mix) -> str:
    return " and ".join(side.symbols) if isinstance(side, Mix) else side.symbol


class Liquidator(AgentSettings):
    """A liquidator of accounts below a health factor of 1 that acts block by block, on what pays."""

    kind: Literal["liquidator"]
    count: Count = 1
    """Number of liquidators; they compete. A crash day on Aave has about ten."""
    protocol: Protocol = "aave_v3"
    """Lending protocol: aave_v3, spark, compound_v3, or aave_v2 and morpho if the scenario creates their markets."""
    market: str = "cUSDCv3"
    """Market of Compound V3, or of Morpho: wstETH/USDC.86."""
    capital: dict[Symbol, NotNegative] = Field(default_factory=dict)
    """Initial capital, such as {USDC: 5_000_000}."""
    watches: list[str] | None = None
    """Names of the borrowers it watches; by default all of its market."""
    frictionless: bool = False
    """Unlimited capital, no sales of what it seizes, no regard for gas or profit."""
    flash_loan: bool = False
    """Pay with a flash loan of Aave, for its premium, or of Morpho, which is free, instead of own capital."""
    routes: dict[str, SaleRouteModel] = Field(default_factory=dict)
    """Routes to sell by, for a collateral or a pair: {WETH/USDC: {uniswap_v4: [WETH, 500, USDC]}}; by default over the
    deepest pools of Uniswap V3."""
    least_profit: Annotated[int, Field(ge=0)] = 0
    """Least profit of a liquidation, in whole dollars."""
    most_a_block: Count = 9
    """Most liquidations it sends in one block. In 99.6 % of the blocks in which a liquidator of Aave V2 acted in 2021
    and 2022, it sent no more than nine."""
    latency_blocks: Annotated[int, Field(ge=0, le=10_000), Mark.DELAY] = 0
    """Blocks between noticing an account and acting on it."""
    notices: Share = Decimal("0.6")
    """Chance that it notices an account within a block. On four crash days of Aave V2 the most active of nine to
    eleven liquidators made 54 to 66 % of all liquidations; 100 % lets the first in the order make all of them."""

    @field_validator("notices")
    @classmethod
    def _is_a_chance(cls, value: Decimal) -> Decimal:
        if not value:
            raise fault("is 0; a liquidator that notices nothing does nothing")
        return value

    @model_validator(mode="after")
    def _has_money(self) -> Liquidator:
        if self.protocol == PROTOCOL and (found := market_fault(self.market)):
            raise fault(found)
        if not self.frictionless and not self.flash_loan and not any(self.capital.values()):
            raise fault("has no 'capital' to liquidate with; give some, or `flash_loan: true`, or `frictionless: true`")
        return self


class CurveBorrower(AgentSettings):
    """A borrower that loops one stablecoin against another through Curve, and unwinds when the peg is lost."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"count", "collateral", "size_usd", "health_factor"})

    kind: Literal["curve_borrower"]
    count: Count = 1
    """Number of agents."""
    protocol: Literal["aave_v3", "spark"] = "aave_v3"
    """Lending protocol: aave_v3 or spark."""
    pool: str = "Curve.3pool"
    """Curve pool it trades on."""
    collateral: TokenOrAmount
    debt: Symbol
    """Token it borrows and sells for more collateral."""
    size_usd: Distribution = Field(default_factory=lambda: _spread(500_000))
    """Own capital in dollars, where `collateral` names no amount."""
    health_factor: PositiveRatio = Decimal("1.1")
    """Health factor it loops down to."""
    loops: Annotated[int, Field(ge=0, le=50)] = 3
    """Most rounds of borrowing and buying collateral."""
    depeg: Distribution = Field(default_factory=lambda: Constant(constant=Decimal("0.01")))
    """Distance below par of the pool's price at which it unwinds."""
    floor: Share = Decimal("0.5")
    """Price below which it holds instead of unwinding."""
    repay_below: Annotated[PositiveRatio, Mark.LEVEL] = Decimal("1.02")
    """Health factor below which it repays what it can."""
