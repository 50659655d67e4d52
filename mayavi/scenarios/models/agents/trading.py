"""Settings of trading agents: arbitrageurs, vesting recipients, traders, Curve holders, replayed launches."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import (
    model_validator,
)

from mayavi.scenarios.models.agents.shared import AgentSettings, Count, Steps
from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.values.distributions import Distribution
from mayavi.scenarios.models.values.quantities import (
    NotNegative,
    Positive,
    PositiveRatio,
    RatioFromZero,
    Seconds,
    Share,
    Symbol,
    TokenAmount,
    fault,
)


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
