"""Settings of a whole scenario: chain, length, prices, tokens and pools it creates, agents."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from mayavi.errors import did_you_mean
from mayavi.scenarios.models.agents.kinds import AgentModel
from mayavi.scenarios.models.agents.oracle import OracleShock
from mayavi.scenarios.models.agents.pool_use import trades_on_chain
from mayavi.scenarios.models.agents.positions import POSITIONS, TopLevelPositions
from mayavi.scenarios.models.chain.morpho import NewMorpho
from mayavi.scenarios.models.chain.new_exchanges import NewPendleMarket, NewV4Pool, pt_parts
from mayavi.scenarios.models.chain.new_markets import NewCurvePool, NewReserve, NewReserveV2
from mayavi.scenarios.models.chain.own_contracts import OwnContract
from mayavi.scenarios.models.chain.own_protocols import ProtocolModel
from mayavi.scenarios.models.chain.parameters import Changes, fault_of, misplaced_value
from mayavi.scenarios.models.learner import Learner, unknown_agent
from mayavi.scenarios.models.prices import (
    GbmPrice,
    JumpDiffusionPrice,
    OrnsteinUhlenbeckPrice,
    Price,
    RampPrice,
    StepPrice,
)
from mayavi.scenarios.models.values.quantities import NotNegative, Positive, PositiveRatio, Seconds, Symbol, Wei
from mayavi.scenarios.models.world import BlockId, Source, WorldName, world_fault
from mayavi.settings.model import Model
from mayavi.settings.on_use import OnUse

CHAINS = ("ethereum", "arbitrum", "optimism", "polygon", "base", "avalanche")
MARKET_CHAINS = (
    *("bnb", "celo", "gnosis", "ink", "linea", "mantle", "megaeth", "metis", "plasma", "scroll", "soneium", "sonic"),
)
"""Chains whose replicas hold a market of Aave V3.6 alone."""
ALL_CHAINS = CHAINS + MARKET_CHAINS
FEES = (100, 500, 3000, 10_000)
SEED_LIMIT = 1 << 63


def _known_chain(name: str) -> str:
    if name not in ALL_CHAINS:
        facts = {"message": f"unknown chain '{name}'"}
        raise PydanticCustomError("rule", "{message}", facts | {"hint": did_you_mean(name, ALL_CHAINS) or _chains()})
    return name


def _chains() -> str:
    return f"there are: {', '.join(ALL_CHAINS)}"


def _a_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        message = f"'{name}' cannot be a name: letters, digits, '-' and '_', and a letter first"
        raise PydanticCustomError("rule", "{message}", {"message": message})
    return name


ChainName = Annotated[str, AfterValidator(_known_chain), Field(json_schema_extra={"enum": list(ALL_CHAINS)})]
Name = Annotated[str, AfterValidator(_a_name)]


PoolDepth = Annotated[
    Annotated[PositiveRatio, Tag("all")] | Annotated[dict[str, PositiveRatio], Tag("by_pool")],
    Discriminator(lambda value: "by_pool" if isinstance(value, dict) else "all"),
]
"""A multiplier for all pools, or by the name of the pool."""


class Gas(Model):
    """Cost of transactions; free if both fees are zero."""

    base_fee: Wei = 0
    """Base fee per unit of gas, which is burned, such as 20 gwei."""
    priority_fee: Wei = 0
    """Tip of every agent without its own."""


class NewToken(Model):
    """A token that the scenario creates."""

    supply: Positive
    """Total supply in whole tokens."""
    decimals: Annotated[int, Field(ge=0, le=18)] = 18
    """Number of decimals."""


class NewPool(Model):
    """A Uniswap V3 pool that the scenario creates. Its name is TOKEN/OTHER.FEE: NOVA/USDC.3000."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"price", "liquidity", "range"})

    price: Positive | None = None
    """Initial price of one TOKEN in OTHER; by default that of the world's price feeds."""
    liquidity: dict[Symbol, NotNegative]
    """Most of each token that is deposited."""
    range: Annotated[list[Positive], Field(min_length=2, max_length=2)] | None = None
    """Lowest and highest price of the liquidity; by default all prices."""
    liquidity_factor: PositiveRatio = Decimal(1)
    """Multiplier of the liquidity."""


class Watch(Model):
    """Figures to record, beside those of markets and pools that agents use, and how often."""

    every: Annotated[int, Field(ge=1, le=10_000_000)] = 1
    """Steps from one record of all figures to the next. Before the first step and after the last one they are always
    recorded."""
    pools: list[str] = Field(default_factory=list)
    """Uniswap V3 pools."""
    assets: list[Symbol] = Field(default_factory=list)
    """Aave V3 reserves."""


class ScenarioConfig(Model):
    """A simulation on one chain: prices, agents, and how long it lasts."""

    question_fields: ClassVar[frozenset[str]] = frozenset(
        {"steps", "step_blocks", "step_time", "seed", "source", "block", "world", "tokens", "aave_v2", "morpho"}
        | {"aave_v3", "parameters"}
        | {"watch", "halt_on_exception", "learner", "specialise"}
    )
    """Fields that are no assumptions. `step_blocks` and `step_time` vary together with `steps`, not alone."""

    name: Name
    """Name of the scenario; by default that of the file."""
    title: str = ""
    """Description in one line."""
    chain: ChainName
    """Chain to run on; `--chain` overrides it."""
    chains: Annotated[list[ChainName], Field(min_length=1)]
    """Chains it can run on; in a file also a mapping of what differs on each."""
    source: Source = "replica"
    """World it starts from: replica, snapshot:FILE or rpc, a node; `--source` overrides it."""
    block: BlockId | None = None
    """Block of the world: of a replica one of `mayavi world list`, of a node any, as number, hash or latest; `--block`
    overrides it."""
    world: WorldName | None = None
    """Market of Aave V3.6 to start from, one of `mayavi world list`: ethereum@2025-12; by default the chain's own
    replica."""
    steps: Annotated[int, Field(ge=1, le=10_000_000)]
    """Number of steps."""
    step_blocks: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """Blocks per step; give this or `step_time`."""
    step_time: Seconds | None = None
    """Time per step; give this or `step_blocks`."""
    seed: Annotated[int, Field(ge=0, lt=SEED_LIMIT)] = 0
    """Seed of all random numbers; `--seed` overrides it."""
    prices: dict[Symbol, Price] = Field(default_factory=dict)
    """Price processes off chain, by token; price feeds follow them."""
    correlations: dict[str, Annotated[Decimal, Field(ge=-1, le=1)]] = Field(default_factory=dict)
    """Correlations between the random parts of two prices: {WETH/WBTC: 0.8}."""
    tokens: Annotated[dict[Symbol, NewToken], OnUse()] = Field(default_factory=dict)
    """Tokens that the scenario creates."""
    pools: Annotated[dict[str, NewPool], OnUse()] = Field(default_factory=dict)
    """Uniswap V3 pools that the scenario creates."""
    pool_depth: PoolDepth = Decimal(1)
    """Multiplier of the liquidity of the chain's Uniswap V3 pools: one for all, or by pool {WETH/USDC.500: 50%}."""
    curve_pools: Annotated[dict[Name, NewCurvePool], OnUse()] = Field(default_factory=dict)
    """Curve pools that the scenario creates."""
    uniswap_v4_pools: Annotated[dict[str, NewV4Pool], OnUse()] = Field(default_factory=dict)
    """Uniswap V4 pools that the scenario creates, for `routes` of liquidators; the run then has the rules of Cancun."""
    pendle_markets: Annotated[dict[str, NewPendleMarket], OnUse()] = Field(default_factory=dict)
    """Pendle markets that the scenario creates, by PT: {PT-wstETH-11JUL2024: {asset: WETH, …}}; the same rules."""
    aave_v3: Annotated[dict[Symbol, NewReserve], OnUse()] = Field(default_factory=dict)
    """Reserves that the scenario adds to the chain's Aave V3 market, such as a PT of `pendle_markets`."""
    aave_v2: Annotated[dict[Symbol, NewReserveV2], OnUse()] = Field(default_factory=dict)
    """Reserves of an Aave V2 market that the scenario creates, for agents with `protocol: aave_v2`."""
    morpho: Annotated[NewMorpho | None, OnUse()] = None
    """Morpho Blue with markets and vaults that the scenario creates, for agents with `protocol: morpho`."""
    agents: Annotated[dict[Name, AgentModel], Field(min_length=1)]
    """Agents by name."""
    positions: Annotated[TopLevelPositions | None, OnUse()] = Field(default=None, exclude=True)
    """Positions on a lending market that the run starts with: a CSV or Parquet file, or a mapping with the keys of
    `kind: positions`. They become an agent called `positions`."""
    contracts: Annotated[dict[Name, OwnContract], OnUse()] = Field(default_factory=dict)
    """Contracts of your own to deploy before the agents: {vault: {file: Vault.sol, constructor: [USDC]}}."""
    protocols: Annotated[dict[Name, ProtocolModel], OnUse()] = Field(default_factory=dict)
    """Protocols of your own, or of installed packages, to deploy before the agents: {vault: {kind: vault:Vault}}."""
    parameters: Annotated[dict[str, Changes], OnUse()] = Field(default_factory=dict)
    """Protocol parameters to set, from the start or at a step: {aave_v3.WETH: {liquidation_threshold: 81%}}."""
    blocks: dict[Name, list[str]] | None = None
    """Agents of each block of a step, in order; by default price feeds first, then all other agents."""
    ordering: Literal["fifo", "shuffle", "priority_fee"] = "shuffle"
    """Order of transactions in a block: as listed, random, or by priority fee."""
    gas: Gas = Field(default_factory=Gas)
    """Cost of transactions; by default free."""
    watch: Watch = Field(default_factory=Watch)
    """More figures to record, and after how many steps."""
    halt_on_exception: bool = False
    """Stop the run if an agent's code raises; by default the error is recorded and the run goes on."""
    specialise: Literal["off", "on", "check"] | None = None
    """Whether known paths of calls are replayed: off, on or check, where every replay is also interpreted and compared;
    by default MAYAVI_SPECIALISE, or on. No result depends on it."""
    learner: Annotated[Learner | None, OnUse()] = None
    """Agent that learns in the environment `mayavi/Scenario-v0`; `mayavi run` ignores it."""

    @model_validator(mode="after")
    def _makes_sense(self) -> ScenarioConfig:
        self._add_positions()
        for complaint in (
            self._chain_fits,
            self._world_fits,
            self._pace,
            self._blocks_fit,
            self._pools_fit,
            self._depths_fit,
            self._prices_fit,
            self._parameters_fit,
            self._learner_fits,
        ):
            complaint()
        return self

    def _add_positions(self) -> None:
        """Make an agent of the top-level `positions`."""
        if self.positions is None:
            return
        if POSITIONS in self.agents and self.agents[POSITIONS] != self.positions:
            raise _rule(("positions",), "'positions' is also the name of an agent", "rename that agent")
        self.agents[POSITIONS] = self.positions

    def _parameters_fit(self) -> None:
        for key, changes in self.parameters.items():
            found = fault_of(key, changes, self.steps)
            if found is not None:
                raise _rule(("parameters", key), *found, involved=(("steps",),) if "the last step" in found[0] else ())
        if self.governed and GOVERNANCE in self.agents:
            raise _rule(("agents", GOVERNANCE), f"'{GOVERNANCE}' is the name of what changes parameters", "rename it")

    def _learner_fits(self) -> None:
        if self.learner is not None and (found := unknown_agent(self.learner, self.agents)) is not None:
            raise _rule(("learner", "agent"), *found)

    @property
    def governed(self) -> bool:
        """Whether parameters change during the run."""
        return any(change.at is not None for changes in self.parameters.values() for change in changes)

    @property
    def _first_agents(self) -> list[str]:
        """Names in `blocks` of agents that the scenario has beside those of `agents`."""
        return [PRICES, *([GOVERNANCE] if self.governed else [])]

    def _chain_fits(self) -> None:
        if self.chain not in self.chains:
            message = f"'{self.name}' cannot be run on '{self.chain}'"
            raise _rule(("chain",), message, f"it runs on: {', '.join(self.chains)}")

    def _world_fits(self) -> None:
        if found := world_fault(self.source, self.block, self.chain, self.world):
            key = "block" if self.world is None else "world"
            raise _rule((key,), *found, involved=(("source",), ("chain",), *((("block",),) if self.world else ())))

    def _pace(self) -> None:
        if self.step_blocks is not None and self.step_time is not None:
            raise _rule(
                ("step_time",),
                "'step_blocks' and 'step_time' say the same; leave one of them out",
                involved=(("step_blocks",),),
            )
        if self.step_blocks is None and self.step_time is None:
            raise _rule(
                (), "'step_blocks' is missing", "give the length of a step: `step_blocks: 300` or `step_time: 1h`"
            )
        if self.step_time == 0:
            raise _rule(("step_time",), "step_time is 0, and a step takes some time")

    def _blocks_fit(self) -> None:
        if self.blocks is None:
            return
        placed: dict[str, str] = {}
        for block, members in self.blocks.items():
            for name in members:
                if name not in (*self.agents, *self._first_agents):
                    known = [*self.agents, *self._first_agents]
                    hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
                    raise _rule(
                        ("blocks", block),
                        f"block '{block}' names '{name}', which is not an agent here",
                        hint,
                    )
                if name in placed:
                    raise _rule(("blocks", block), f"'{name}' is in the blocks '{placed[name]}' and '{block}'")
                placed[name] = block
        missing = [name for name in self.agents if name not in placed]
        if missing:
            raise _rule(("blocks",), f"'{missing[0]}' is in no block and would never act")

    def _pools_fit(self) -> None:
        for name in self.pendle_markets:
            if pt_parts(name) is None:
                message = f"'{name}' is not a PT of the form PT-TOKEN-DATE"
                raise _rule(("pendle_markets", name), message, "such as PT-wstETH-11JUL2024")
        created: list[tuple[str, str, NewPool | NewV4Pool]] = [("pools", *each) for each in self.pools.items()]
        created += [("uniswap_v4_pools", *each) for each in self.uniswap_v4_pools.items()]
        for key, name, pool in created:
            tokens = pool_tokens(name)
            if tokens is None:
                hint = f"such as NOVA/USDC.3000; fees are {', '.join(map(str, FEES))} millionths"
                raise _rule((key, name), f"'{name}' is not a pool name of the form TOKEN/OTHER.FEE", hint)
            for symbol in pool.liquidity:
                if symbol not in tokens[:2]:
                    raise _rule((key, name, "liquidity"), f"'{symbol}' is not in the pool '{name}'")
            if not any(pool.liquidity.values()):
                raise _rule((key, name, "liquidity"), f"the pool '{name}' has no liquidity")
            if pool.range is not None and not pool.range[0] < pool.range[1]:
                raise _rule((key, name, "range"), f"the range of '{name}' is empty; give the lower price first")

    def _depths_fit(self) -> None:
        for name in self.pool_depth if isinstance(self.pool_depth, dict) else ():
            if name.startswith("Curve."):
                message = f"the depth of '{name}' cannot be changed: that works for pools of Uniswap V3 only"
                raise _rule(("pool_depth", name), message, "such as WETH/USDC.500")
            if pool_tokens(name) is None:
                message = f"'{name}' is not a pool name of the form TOKEN/OTHER.FEE"
                raise _rule(("pool_depth", name), message, "such as WETH/USDC.500")
            if name in self.pools:
                message = f"the scenario creates the pool '{name}' itself"
                raise _rule(("pool_depth", name), message, f"give pools.{name}.liquidity_factor instead")
        if self.pool_depth != 1 and not trades_on_chain(self.agents.values(), self.pools, unknown=True):
            message = "no agent trades in a Uniswap V3 pool of the chain, so pool_depth would change nothing"
            own = next(iter(self.pools), None)
            hint = f"for a pool of the scenario give pools.{own}.liquidity_factor" if own else "leave it out"
            raise _rule(("pool_depth",), message, hint)

    def _prices_fit(self) -> None:
        for symbol, price in self.prices.items():
            last = last_change(price)
            if last >= self.steps:
                message = f"the price of {symbol} changes at step {last}, and the last step is {self.steps - 1}"
                raise _rule(("prices", symbol), message, "take more steps, or let it change earlier", (("steps",),))
        for name, agent in self.agents.items():
            if isinstance(agent, OracleShock) and agent.last_change >= self.steps:
                message = f"'{name}' moves {agent.asset} at step {agent.last_change}, and the last is {self.steps - 1}"
                raise _rule(("agents", name), message, "take more steps, or let it move earlier", (("steps",),))
        for pair in self.correlations:
            sides = pair.split("/")
            if len(sides) != 2 or sides[0] == sides[1]:
                raise _rule(("correlations", pair), f"'{pair}' is not a pair of tokens such as WETH/WBTC")
            for side in sides:
                if side not in self.prices:
                    hint = did_you_mean(side, self.prices) or f"prices move for: {', '.join(self.prices)}"
                    raise _rule(("correlations", pair), f"'{side}' has no price process", hint)
            for side in sides:
                if not is_random(self.prices[side]):
                    message = f"'{pair}' are correlated, but the price of {side} is not random"
                    hint = "make it random, for instance by `then: {process: gbm, volatility: 80%}`"
                    raise _rule(("correlations", pair), message, hint, (("prices", side),))

    @model_validator(mode="before")
    @classmethod
    def _parameters_are_named(cls, data: Any) -> Any:
        parameters = data.get("parameters") if isinstance(data, dict) else None
        for key, value in parameters.items() if isinstance(parameters, dict) else ():
            if found := misplaced_value(str(key), value):
                raise _rule(("parameters", str(key)), *found)
        return data

    @model_validator(mode="before")
    @classmethod
    def _chains_as_list(cls, data: Any) -> Any:
        if isinstance(data, dict):
            data = dict(data)
            chains = data.get("chains")
            if isinstance(chains, dict):
                data["chains"] = list(chains)
            elif chains is None and isinstance(data.get("chain"), str):
                data["chains"] = [data["chain"]]
        return data


def last_change(price: Price) -> int:
    """Return the last step at which a price process changes."""
    if isinstance(price, StepPrice | RampPrice):
        own = price.at + (price.steps if isinstance(price, RampPrice) else 0)
        after = last_change(price.then) if price.then else 0
        return own + after
    return 0


def is_random(price: Price | None) -> bool:
    """Whether a price is random, before or after a change."""
    if isinstance(price, StepPrice | RampPrice):
        return is_random(price.before) or is_random(price.then)
    return isinstance(price, GbmPrice | OrnsteinUhlenbeckPrice | JumpDiffusionPrice)


PRICES = "prices"
"""Name in `blocks` of the agent that posts the price processes to feeds."""
GOVERNANCE = "governance"
"""Name in `blocks` of the agent that changes parameters."""


def pool_tokens(name: str) -> tuple[str, str, int] | None:
    """Split `NOVA/USDC.3000` into both tokens and the fee; None if it is not of that form."""
    pair, dot, fee = name.removeprefix("UniswapV3.").rpartition(".")
    tokens = pair.split("/")
    if not dot or not fee.isdigit() or len(tokens) != 2 or not all(tokens):
        return None
    return tokens[0], tokens[1], int(fee)


def _rule(
    at: tuple[str, ...], message: str, hint: str | None = None, involved: tuple[tuple[str, ...], ...] = ()
) -> PydanticCustomError:
    """Return an error at the place `at`; `involved` are other places that cause it."""
    return PydanticCustomError("rule", "{message}", {"message": message, "at": at, "hint": hint, "involved": involved})
