"""Settings of agents: each is a mapping with its `kind` and the keys of that kind."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    AfterValidator,
    Field,
    SerializeAsAny,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from mayavi.scenarios.models.agent_settings import AgentSettings as AgentSettings
from mayavi.scenarios.models.agent_settings import BehaviourName as BehaviourName
from mayavi.scenarios.models.agent_settings import Protocol
from mayavi.scenarios.models.assumption_marks import Mark
from mayavi.scenarios.models.distributions import Constant, Distribution, LogNormal, LogNormalParameters, lowest
from mayavi.scenarios.models.mixes import Mix, TokenOrMix
from mayavi.scenarios.models.morpho import PROTOCOL, market_fault
from mayavi.scenarios.models.new_exchanges import SaleRouteModel
from mayavi.scenarios.models.positions import Positions
from mayavi.scenarios.models.quantities import (
    Asset,
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
    fault,
)
from mayavi.scenarios.models.recorded import CurveBalances, RecordedLiquidations

Count = Annotated[int, Field(ge=1, le=100_000)]
Step = Annotated[int, Field(ge=0, le=10_000_000), Mark.IN_STEPS]
Steps = Annotated[int, Field(ge=1, le=10_000_000), Mark.IN_STEPS]


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
    """Most liquidations it sends in one block. On Aave V2 in 2021 and 2022, 99.6 % of the blocks in which a liquidator
    acted had no more of it."""
    latency_blocks: Annotated[int, Field(ge=0, le=10_000), Mark.DELAY] = 0
    """Blocks between noticing an account and acting on it."""
    notices: Share = Decimal("0.6")
    """Chance that it notices an account within a block. On four crash days of Aave V2 the first of nine to eleven
    liquidators made 54 to 66 % of all liquidations; 100 % lets the first in the order make all of them."""

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


class Arbitrageur(AgentSettings):
    """An arbitrageur that trades a pool towards the outside price where that pays more than the fee."""

    kind: Literal["arbitrageur"]
    count: Count = 1
    """Number of agents."""
    pool: str
    """Uniswap V3 or Curve pool, or Uniswap V4 pool that the scenario creates: WETH/USDC.500, Curve.3pool,
    UniswapV4.ETH/USDC.500."""
    capital: dict[Symbol, NotNegative]
    """Initial capital in both tokens, such as {WETH: 200_000, USDC: 400_000_000}."""
    to: Literal["edge", "reference"] = "edge"
    """Trade while the next unit pays (edge), or up to the outside price if the whole trade pays (reference)."""


class OracleShock(AgentSettings):
    """A move of a price feed: at once, in equal parts over `steps`, or along a `path` of prices."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"at", "size", "steps", "path"})

    kind: Literal["oracle_shock"]
    asset: Symbol
    """Token whose feeds it moves."""
    at: Step = 0
    """Step in which agents first see the change."""
    size: Move | None = None
    """Relative change, such as -25%."""
    steps: Steps = 1
    """Number of equal parts, one per step; 1 is at once."""
    path: Annotated[list[Positive], Mark.IN_STEPS] | None = None
    """Prices in US dollars, one per step from `at` on."""

    @model_validator(mode="after")
    def _one_way(self) -> OracleShock:
        if (self.size is None) == (self.path is None):
            raise fault("moves by a 'size' or along a 'path': one of the two")
        return self

    @property
    def last_change(self) -> int:
        """Last step at which it moves the feed."""
        if self.path is not None:
            return self.at + max(0, len(self.path) - 1)
        return self.at + (self.steps if self.steps > 1 else 0)


class VestingRecipient(AgentSettings):
    """A holder of tokens in an OpenZeppelin VestingWallet that sells what is released into a pool."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"token", "cliff", "duration"})

    kind: Literal["vesting"]
    token: TokenAmount
    """Amount that vests: 5_000_000 NOVA."""
    pool: str
    """Pool it sells into: NOVA/USDC.3000."""
    cliff: Seconds = 0
    """Time after the start before anything is released."""
    duration: Seconds = 0
    """Time of linear vesting from the cliff on; 0 releases all at once."""
    sells: Literal["at_once", "twap", "threshold"] = "at_once"
    """at_once: sells what is released. twap: in parts over some steps. threshold: only above a price."""
    share: Share = Decimal(1)
    """Share of the released tokens that it sells."""
    over: Steps = 10
    """twap: number of steps of a sale."""
    threshold: Positive | None = None
    """threshold: lowest price per token at which it sells."""

    @model_validator(mode="after")
    def _threshold_given(self) -> VestingRecipient:
        if self.sells == "threshold" and self.threshold is None:
            raise fault("sells above a threshold without giving one: add `threshold: 0.80`")
        return self


class Traders(AgentSettings):
    """Noise traders of a pool: random purchases and sales."""

    kind: Literal["traders"]
    pool: str
    """Pool they trade on."""
    trades_a_step: Annotated[RatioFromZero, Mark.PER_STEP]
    """Average number of trades per step."""
    size: Distribution
    """Size of a trade in whole quote tokens: USDC in NOVA/USDC.3000."""
    buys: Share = Decimal("0.5")
    """Share of trades that are purchases."""
    capital: dict[Symbol, NotNegative]
    """Capital in both tokens."""


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


class CurveHolders(AgentSettings):
    """Holders of a coin that sell it on a Curve pool when its outside price falls below their threshold."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"count", "amount"})

    kind: Literal["curve_holders"]
    count: Count = 1
    """Number of agents."""
    pool: str = "Curve.3pool"
    """Curve pool they sell on."""
    holds: Symbol
    """Coin they hold."""
    wants: Symbol
    """Coin they sell it for."""
    amount: Distribution
    """Holdings in whole coins."""
    flees_below: Annotated[Distribution, Mark.LEVEL]
    """Outside price below which a holder sells, in dollars."""
    patience: Share = Decimal("0.98")
    """Least share of the outside price that the pool must pay; otherwise a holder waits."""


class LaunchTrader(AgentSettings):
    """Recorded purchases and sales of a token launch; the launch_replay page describes the file."""

    kind: Literal["launch"]
    pool: str
    """Pool that is created and traded on: NOVA/WETH.10000."""
    file: str | None = None
    """The record, a CSV or JSON file, relative to the scenario's folder."""
    data: str | None = None
    """The record as CSV text."""
    liquidity_factor: PositiveRatio = Decimal(1)
    """Multiplier of the recorded initial liquidity."""
    volume: PositiveRatio = Decimal(1)
    """Multiplier of every recorded trade."""

    @model_validator(mode="after")
    def _one_source(self) -> LaunchTrader:
        if (self.file is None) == (self.data is None):
            raise fault("needs its trades from a 'file' or as 'data': one of the two")
        return self


_BuiltIn = (
    Borrower
    | Liquidator
    | Arbitrageur
    | OracleShock
    | VestingRecipient
    | Traders
    | CurveBorrower
    | CurveHolders
    | LaunchTrader
    | Positions
    | RecordedLiquidations
    | CurveBalances
)
KINDS = frozenset(kind for model in get_args(_BuiltIn) for kind in get_args(model.model_fields["kind"].annotation))


def _other_kinds(data: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Check settings of a kind that another package registered against that package's model."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind not in KINDS:
        from mayavi.scenarios.build.registry import find_plugin

        plugin = find_plugin(kind)  # an import path was imported by `load_scenario`, or is unknown
        if plugin is not None:
            return plugin.model.model_validate(data)
    return check(data)


AgentModel = Annotated[_BuiltIn, Field(discriminator="kind"), WrapValidator(_other_kinds), SerializeAsAny()]
