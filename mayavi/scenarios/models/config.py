"""A scenario whole: where it plays, how long, how prices move, what is created for it and who acts."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from mayavi.errors import did_you_mean
from mayavi.scenarios.models.agents import AgentModel, OracleShock
from mayavi.scenarios.models.prices import (
    GbmPrice,
    JumpDiffusionPrice,
    OrnsteinUhlenbeckPrice,
    Price,
    RampPrice,
    StepPrice,
)
from mayavi.scenarios.models.quantities import NotNegative, Positive, PositiveRatio, Seconds, Symbol, Wei
from mayavi.settings.model import Model

CHAINS = ("ethereum", "arbitrum", "optimism", "polygon", "base", "avalanche")
FEES = (100, 500, 3000, 10_000)
SEED_LIMIT = 1 << 63


def _known_chain(name: str) -> str:
    if name not in CHAINS:
        facts = {"message": f"unknown chain '{name}'"}
        raise PydanticCustomError("rule", "{message}", facts | {"hint": did_you_mean(name, CHAINS) or _chains()})
    return name


def _chains() -> str:
    return f"there are: {', '.join(CHAINS)}"


def _a_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        message = f"'{name}' cannot be a name: letters, digits, '-' and '_', and a letter first"
        raise PydanticCustomError("rule", "{message}", {"message": message})
    return name


ChainName = Annotated[str, AfterValidator(_known_chain), Field(json_schema_extra={"enum": list(CHAINS)})]
Name = Annotated[str, AfterValidator(_a_name)]


class Gas(Model):
    """What a transaction costs. Zero base fee and zero priority fee: nothing."""

    base_fee: Wei = 0
    """Burned for every unit of gas: 20 gwei."""
    priority_fee: Wei = 0
    """Offered by every agent that does not say its own."""


class NewToken(Model):
    """A token that the scenario creates."""

    supply: Positive
    """How many whole ones there are."""
    decimals: Annotated[int, Field(ge=0, le=18)] = 18
    """How many decimals its smallest unit has."""


class NewPool(Model):
    """A pool of Uniswap V3 that the scenario creates: its name is TOKEN/OTHER.FEE, as in NOVA/USDC.3000."""

    price: Positive
    """What one TOKEN costs in OTHER at first."""
    liquidity: dict[Symbol, NotNegative]
    """What is put in at most, of each token."""
    range: Annotated[list[Positive], Field(min_length=2, max_length=2)] | None = None
    """The lowest and the highest price at which it trades; without it, all prices."""
    liquidity_factor: PositiveRatio = Decimal(1)
    """What if there were so many times the liquidity."""


class Watch(Model):
    """What is recorded of the market after every step, beside what the agents have to do with."""

    pools: list[str] = Field(default_factory=list)
    """Pools of Uniswap V3 by their names."""
    assets: list[Symbol] = Field(default_factory=list)
    """Reserves of Aave V3."""


class ScenarioConfig(Model):
    """A market and what happens on it."""

    name: Name
    """What it is called; by default the name of the file."""
    title: str = ""
    """What happens, in one line."""
    chain: ChainName
    """Where it plays, where `--chain` names no other."""
    chains: Annotated[list[ChainName], Field(min_length=1)]
    """The chains it can be run on. In a file also a mapping: what differs on each."""
    steps: Annotated[int, Field(ge=1, le=10_000_000)]
    """How many steps it takes."""
    step_blocks: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """How many blocks a step takes …"""
    step_time: Seconds | None = None
    """… or how long."""
    seed: Annotated[int, Field(ge=0, lt=SEED_LIMIT)] = 0
    """The seed where `--seed` gives none."""
    prices: dict[Symbol, Price] = Field(default_factory=dict)
    """How prices move outside the chain, by token; the oracles follow."""
    correlations: dict[str, Annotated[Decimal, Field(ge=-1, le=1)]] = Field(default_factory=dict)
    """Between the random parts of two prices: {WETH/WBTC: 0.8}."""
    tokens: dict[Symbol, NewToken] = Field(default_factory=dict)
    """Tokens that are created for it."""
    pools: dict[str, NewPool] = Field(default_factory=dict)
    """Pools of Uniswap V3 that are created for it."""
    agents: Annotated[dict[Name, AgentModel], Field(min_length=1)]
    """Who acts, by name."""
    blocks: dict[Name, list[str]] | None = None
    """Who acts together, block after block in a step; by default the oracles first, then everybody else."""
    ordering: Literal["fifo", "shuffle", "priority_fee"] = "shuffle"
    """Who comes first in a block: as listed, by lot, or by the higher priority fee."""
    gas: Gas = Field(default_factory=Gas)
    """What a transaction costs; without it, nothing."""
    watch: Watch = Field(default_factory=Watch)
    """What else to record of the market after every step."""
    halt_on_exception: bool = False
    """Stop where an agent's own code breaks; otherwise it is recorded and the run goes on."""

    @model_validator(mode="after")
    def _makes_sense(self) -> ScenarioConfig:
        for complaint in (self._chain_fits, self._pace, self._blocks_fit, self._pools_fit, self._prices_fit):
            complaint()
        return self

    def _chain_fits(self) -> None:
        if self.chain not in self.chains:
            message = f"'{self.name}' cannot be run on '{self.chain}'"
            raise _rule(("chain",), message, f"it runs on: {', '.join(self.chains)}")

    def _pace(self) -> None:
        if self.step_blocks is not None and self.step_time is not None:
            raise _rule(
                ("step_time",),
                "'step_blocks' and 'step_time' say the same; leave one of them out",
                involved=(("step_blocks",),),
            )
        if self.step_blocks is None and self.step_time is None:
            raise _rule(
                (), "'step_blocks' is missing", "say how long a step takes: `step_blocks: 300` or `step_time: 1h`"
            )
        if self.step_time == 0:
            raise _rule(("step_time",), "step_time is 0, and a step takes some time")

    def _blocks_fit(self) -> None:
        if self.blocks is None:
            return
        placed: dict[str, str] = {}
        for block, members in self.blocks.items():
            for name in members:
                if name not in (*self.agents, PRICES):
                    known = [*self.agents, PRICES]
                    hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
                    raise _rule(("blocks", block), f"block '{block}' names '{name}', who is no agent here", hint)
                if name in placed:
                    raise _rule(("blocks", block), f"'{name}' is in the blocks '{placed[name]}' and '{block}'")
                placed[name] = block
        missing = [name for name in self.agents if name not in placed]
        if missing:
            raise _rule(("blocks",), f"'{missing[0]}' is in no block, and would never act")

    def _pools_fit(self) -> None:
        for name, pool in self.pools.items():
            tokens = pool_tokens(name)
            if tokens is None:
                hint = f"such as NOVA/USDC.3000; fees are {', '.join(map(str, FEES))} millionths"
                raise _rule(("pools", name), f"'{name}' is no name of a pool: TOKEN/OTHER.FEE", hint)
            for symbol in pool.liquidity:
                if symbol not in tokens[:2]:
                    raise _rule(("pools", name, "liquidity"), f"'{symbol}' is not in the pool '{name}'")
            if not any(pool.liquidity.values()):
                raise _rule(("pools", name, "liquidity"), f"the pool '{name}' gets no liquidity")
            if pool.range is not None and not pool.range[0] < pool.range[1]:
                raise _rule(("pools", name, "range"), f"the range of '{name}' is empty; give the lower price first")

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
                raise _rule(("correlations", pair), f"'{pair}' is no pair of tokens, such as WETH/WBTC")
            for side in sides:
                if side not in self.prices:
                    hint = did_you_mean(side, self.prices) or f"prices move for: {', '.join(self.prices)}"
                    raise _rule(("correlations", pair), f"no price process of '{side}' is given", hint)
            for side in sides:
                if not is_random(self.prices[side]):
                    message = f"'{pair}' are to move together, and nothing about the price of {side} is left to chance"
                    hint = "let it move at random too, for instance by `then: {process: gbm, volatility: 80%}`"
                    raise _rule(("correlations", pair), message, hint, (("prices", side),))

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
    """The last step at which a price is said to change."""
    if isinstance(price, StepPrice | RampPrice):
        own = price.at + (price.steps if isinstance(price, RampPrice) else 0)
        after = last_change(price.then) if price.then else 0
        return own + after
    return 0


def is_random(price: Price | None) -> bool:
    """Whether chance moves a price all along, before or after a change."""
    if isinstance(price, StepPrice | RampPrice):
        return is_random(price.before) or is_random(price.then)
    return isinstance(price, GbmPrice | OrnsteinUhlenbeckPrice | JumpDiffusionPrice)


PRICES = "prices"
"""What the agent that posts the processes' prices is called in `blocks`."""


def pool_tokens(name: str) -> tuple[str, str, int] | None:
    """The two tokens and the fee that `NOVA/USDC.3000` names."""
    pair, dot, fee = name.removeprefix("UniswapV3.").rpartition(".")
    tokens = pair.split("/")
    if not dot or not fee.isdigit() or len(tokens) != 2 or not all(tokens):
        return None
    return tokens[0], tokens[1], int(fee)


def _rule(
    at: tuple[str, ...], message: str, hint: str | None = None, involved: tuple[tuple[str, ...], ...] = ()
) -> PydanticCustomError:
    """An error at a place; `involved` are others that it follows from as well."""
    return PydanticCustomError("rule", "{message}", {"message": message, "at": at, "hint": hint, "involved": involved})
