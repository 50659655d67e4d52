"""Who acts in a scenario: each agent is a mapping that says its `kind`, and what that kind wants to know."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from mayavi.scenarios.models.distributions import Constant, Distribution, LogNormal, LogNormalParameters, lowest
from mayavi.scenarios.models.quantities import (
    Move,
    NotNegative,
    Positive,
    PositiveRatio,
    RatioFromZero,
    Seconds,
    Share,
    Symbol,
    TokenAmount,
    TokenOrAmount,
    Wei,
    fault,
)
from mayavi.settings.model import Model

Count = Annotated[int, Field(ge=1, le=100_000)]
Step = Annotated[int, Field(ge=0, le=10_000_000)]
Steps = Annotated[int, Field(ge=1, le=10_000_000)]
Protocol = Literal["aave_v3", "spark", "compound_v3"]
BehaviourName = Literal["hold", "band", "panic"]


def _spread(median: int) -> LogNormal:
    return LogNormal(lognormal=LogNormalParameters(median=Decimal(median), sigma=Decimal(1)))


def _health_factors(what: Distribution) -> Distribution:
    """`what`, as far as one can see from it that all of it is above 1."""
    least = lowest(what)
    if least is not None and least <= 1:
        raise fault(
            f"is {least} at its lowest, and at a health factor of 1 and below a loan can be liquidated at once; "
            "stay above 1: {uniform: [1.05, 2.5]}"
        )
    return what


HealthFactors = Annotated[Distribution, AfterValidator(_health_factors)]


class _Agent(Model):
    priority_fee: Wei = 0
    """What its transactions offer above the base fee; counts where `ordering` is priority_fee."""


class Borrower(_Agent):
    """Somebody who borrows against collateral, or `count` of them drawn from distributions.

    `collateral` and `debt` name a token, or an amount of it for each. Without an amount of collateral an account has a
    value drawn from `size_usd`; without an amount of debt it borrows up to a `health_factor`.
    """

    kind: Literal["borrower"]
    count: Count = 1
    """How many there are. All are drawn from the same distributions."""
    protocol: Protocol = "aave_v3"
    """Where: aave_v3, spark or compound_v3."""
    market: str = "cUSDCv3"
    """The market of Compound V3."""
    collateral: TokenOrAmount
    debt: TokenOrAmount
    size_usd: Distribution = Field(default_factory=lambda: _spread(20_000))
    """The value of its collateral in dollars, where `collateral` names no amount."""
    health_factor: HealthFactors | None = None
    """What it opens at, above 1. Below what the market lends at it is the market's limit, and the run says so."""
    behaviour: dict[BehaviourName, RatioFromZero] | BehaviourName = "hold"
    """hold: never acts again. band: keeps its health factor inside `band`. panic: pays back all it can below
    `panic_below`. Or shares of each: `{hold: 70%, band: 20%, panic: 10%}`."""
    band: Annotated[list[PositiveRatio], Field(min_length=2, max_length=2)] = Field(
        default_factory=lambda: [Decimal("1.3"), Decimal("1.8")]
    )
    """Inside of it who keeps a band rests; below the first it pays back, above the second it borrows more."""
    panic_below: PositiveRatio = Decimal("1.1")
    """The health factor below which who panics leaves."""
    cash: Share = Decimal("0.5")
    """The share of what it borrowed that it still has to pay back with; the rest is spent."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Borrower:
        if self.debt.amount is None and self.health_factor is None:
            raise fault(
                f"borrows {self.debt.symbol}, and does not say how much: give an amount ('1_700 {self.debt.symbol}') "
                "or a 'health_factor'"
            )
        if self.debt.amount is not None and self.health_factor is not None:
            raise fault("gives an amount of debt and a 'health_factor' too; leave one of them out")
        for side, asset in (("collateral", self.collateral), ("debt", self.debt)):
            if asset.amount == 0:
                raise fault(f"has no {side}; an amount is above zero")
        if self.band[0] >= self.band[1]:
            raise fault(f"has a band from {self.band[0]} to {self.band[1]}; give the lower bound first")
        if isinstance(self.behaviour, dict) and not sum(self.behaviour.values()):
            raise fault("has a behaviour whose shares are all zero")
        return self


class Liquidator(_Agent):
    """Looks for accounts below a health factor of 1, and liquidates those that pay, the most profitable first."""

    kind: Literal["liquidator"]
    count: Count = 1
    """How many there are. They race."""
    protocol: Protocol = "aave_v3"
    """Where: aave_v3, spark or compound_v3."""
    market: str = "cUSDCv3"
    """The market of Compound V3."""
    capital: dict[Symbol, NotNegative] = Field(default_factory=dict)
    """What it starts with: {USDC: 5_000_000}."""
    watches: list[str] | None = None
    """The names of the borrowers it looks at; without it, all of them."""
    frictionless: bool = False
    """The liquidator of theory: all the money it needs, keeps what it seizes, minds neither gas nor profit."""
    flash_loan: bool = False
    """Borrow on Aave for the length of the transaction instead of having capital."""
    least_profit: Annotated[int, Field(ge=0)] = 0
    """In whole dollars; less is not worth the trouble."""
    most_a_step: Count = 20
    """How many accounts it takes on in a step."""

    @model_validator(mode="after")
    def _has_money(self) -> Liquidator:
        if not self.frictionless and not self.flash_loan and not any(self.capital.values()):
            raise fault("has no 'capital' to liquidate with; give some, or `flash_loan: true`, or `frictionless: true`")
        return self


class Arbitrageur(_Agent):
    """Trades a pool towards the outside price where the difference is worth more than the fee."""

    kind: Literal["arbitrageur"]
    count: Count = 1
    """How many there are."""
    pool: str
    """A pool of Uniswap V3 or Curve by its name: WETH/USDC.500, Curve.3pool."""
    capital: dict[Symbol, NotNegative]
    """What it starts with of both tokens: {WETH: 200_000, USDC: 400_000_000}."""
    to: Literal["edge", "reference"] = "edge"
    """Trade as long as the next unit pays (edge), or up to the outside price itself where all of it pays."""


class OracleShock(_Agent):
    """Moves a price feed: at once, in equal parts over `steps`, or along a `path` of prices."""

    kind: Literal["oracle_shock"]
    asset: Symbol
    """Whose feeds it moves."""
    at: Step = 0
    """The step in which agents first see it."""
    size: Move | None = None
    """By how much: -25%."""
    steps: Steps = 1
    """Over how many steps it moves in equal parts; 1 is at once."""
    path: list[Positive] | None = None
    """Prices in US dollars, one a step from `at` on."""

    @model_validator(mode="after")
    def _one_way(self) -> OracleShock:
        if (self.size is None) == (self.path is None):
            raise fault("moves by a 'size' or along a 'path': one of the two")
        return self

    @property
    def last_change(self) -> int:
        """The last step at which it moves the feed."""
        if self.path is not None:
            return self.at + max(0, len(self.path) - 1)
        return self.at + (self.steps if self.steps > 1 else 0)


class VestingRecipient(_Agent):
    """Holds tokens in a VestingWallet of OpenZeppelin's, and sells what is released into a pool."""

    kind: Literal["vesting"]
    token: TokenAmount
    """How much vests: 5_000_000 NOVA."""
    pool: str
    """The pool it sells into: NOVA/USDC.3000."""
    cliff: Seconds = 0
    """Nothing is released before this time after the start."""
    duration: Seconds = 0
    """From the cliff on it vests evenly over this time; 0 releases all at once."""
    sells: Literal["at_once", "twap", "threshold"] = "at_once"
    """at_once: what is released. twap: in parts over some steps. threshold: only above a price."""
    share: Share = Decimal(1)
    """The share of what is released that it sells."""
    over: Steps = 10
    """twap: over how many steps it spreads a sale."""
    threshold: Positive | None = None
    """threshold: it sells only while one token costs at least so much."""

    @model_validator(mode="after")
    def _threshold_given(self) -> VestingRecipient:
        if self.sells == "threshold" and self.threshold is None:
            raise fault("sells above a threshold and does not give one: add `threshold: 0.80`")
        return self


class Traders(_Agent):
    """Everybody else in a pool: buys and sells at random."""

    kind: Literal["traders"]
    pool: str
    """Where they trade."""
    trades_a_step: RatioFromZero
    """How many on average."""
    size: Distribution
    """In whole tokens of what the price is counted in: dollars in NOVA/USDC.3000."""
    buys: Share = Decimal("0.5")
    """The share of trades that are purchases."""
    capital: dict[Symbol, NotNegative]
    """What they have of both tokens."""


class CurveBorrower(_Agent):
    """Loops one stablecoin against another on Aave through Curve, and unwinds when the peg is lost."""

    kind: Literal["curve_borrower"]
    count: Count = 1
    """How many there are."""
    protocol: Literal["aave_v3", "spark"] = "aave_v3"
    """Where it borrows: aave_v3 or spark."""
    pool: str = "Curve.3pool"
    """The Curve pool it trades on."""
    collateral: TokenOrAmount
    debt: Symbol
    """What it borrows, and sells for more collateral."""
    size_usd: Distribution = Field(default_factory=lambda: _spread(500_000))
    """Its own money, where `collateral` names no amount."""
    health_factor: PositiveRatio = Decimal("1.1")
    """What it loops down to."""
    loops: Annotated[int, Field(ge=0, le=50)] = 3
    """How often it borrows and buys more collateral at most."""
    depeg: Distribution = Field(default_factory=lambda: Constant(constant=Decimal("0.01")))
    """How far below par the pool's price may fall before it unwinds."""
    floor: Share = Decimal("0.5")
    """Below this price it is too late, and it holds."""
    repay_below: PositiveRatio = Decimal("1.02")
    """The health factor below which it pays back what it can."""


class CurveHolders(_Agent):
    """Holders of a coin who sell it on a Curve pool when its outside price falls below their own threshold."""

    kind: Literal["curve_holders"]
    count: Count = 1
    """How many there are."""
    pool: str = "Curve.3pool"
    """The Curve pool they sell on."""
    holds: Symbol
    """The coin they have."""
    wants: Symbol
    """The coin they flee into."""
    amount: Distribution
    """In whole coins."""
    flees_below: Distribution
    """In dollars."""
    patience: Share = Decimal("0.98")
    """It waits where the pool pays less than this share of the outside price."""


class LaunchTrader(_Agent):
    """Buys and sells at recorded times: see docs/reference/scenarios/launch_replay.md for the form of the file."""

    kind: Literal["launch"]
    pool: str
    """The pool that is created and traded on: NOVA/WETH.10000."""
    file: str | None = None
    """The record, a CSV or JSON file, relative to the scenario's own place."""
    data: str | None = None
    """The same as CSV text."""
    liquidity_factor: PositiveRatio = Decimal(1)
    """What if the pool had begun with so many times the liquidity."""
    volume: PositiveRatio = Decimal(1)
    """What if every trade had been so many times as large."""

    @model_validator(mode="after")
    def _one_source(self) -> LaunchTrader:
        if (self.file is None) == (self.data is None):
            raise fault("needs its trades from a 'file' or as 'data': one of the two")
        return self


AgentModel = Annotated[
    Borrower
    | Liquidator
    | Arbitrageur
    | OracleShock
    | VestingRecipient
    | Traders
    | CurveBorrower
    | CurveHolders
    | LaunchTrader,
    Field(discriminator="kind"),
]
