"""Settings of the learner: the agent whose actions a policy chooses, what it observes, and what it is rewarded for."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from mayavi.errors import did_you_mean
from mayavi.scenarios.models.values.quantities import (
    Number,
    Positive,
    Share,
    Symbol,
    asset_of,
    fault,
    number_of,
    ratio_of,
)
from mayavi.settings.model import Model

VERBS = ("supply", "withdraw", "borrow", "repay", "sell")
"""Actions on a token that every agent's account can take."""
SCRIPTED = "scripted"
"""Action that does what the agent's own kind would do."""
HOLD = "hold"
"""Discrete action 0: do nothing."""
REWARDS = ("pnl", "final_pnl")
"""Named rewards: the relative change of the learner's wealth, in each step or at the end."""

LAST_ACTION = "own.last_action"
"""Figure that can only be observed: one number for each action."""

_ACTION = re.compile(
    r"(?P<do>[A-Za-z_]\w*)(?:\s+(?P<size>[0-9][0-9_,.]*\s*%?))?(?:\s+(?P<token>(?!for\b|on\b)\S+))?"
    r"(?:\s+for\s+(?P<into>\S+))?(?:\s+on\s+(?P<pool>\S+))?"
)
_END = re.compile(r"(?P<figure>\S+)\s*(?P<side>[<>])\s*(?P<level>[-+]?[0-9][0-9_.]*)")


class ActionChoice(Model):
    """One action of a learner.

    As text: `repay 25% USDC`, `borrow 500 USDC`, `sell 10% WETH for USDC on WETH/USDC.500`, `scripted`.
    """

    do: str
    """supply, withdraw, borrow, repay or sell; `scripted`, what the agent's kind would do; or an action of its own."""
    token: Symbol | None = None
    """Token that is supplied, borrowed, repaid or sold."""
    share: Share = Decimal(1)
    """Share of what is possible: of the wallet (supply, sell), the deposit, the headroom (borrow) or the debt."""
    amount: Positive | None = None
    """Amount in whole tokens, in place of a share; less if less is possible."""
    into: Symbol | None = None
    """sell: token that it receives."""
    pool: str | None = None
    """sell: Uniswap V3 or Curve pool; by default the deepest route over Uniswap V3."""
    opposite: Action | None = None
    """Continuous actions: what a number below zero does; by default nothing."""

    @model_validator(mode="after")
    def _fits(self) -> ActionChoice:
        if self.do == HOLD:
            raise fault("is 'hold', which is action 0 of every learner; leave it out")
        if self.do in VERBS and self.token is None:
            raise fault(f"does not say which token to {self.do}; write '{self.do} 25% USDC'")
        if self.do == "sell" and self.into is None:
            raise fault(f"does not say what to sell {self.token} for; write 'sell 25% {self.token} for USDC'")
        if self.do != "sell" and (self.into or self.pool):
            raise fault(f"is to {self.do}, and only a sale is 'for' a token or 'on' a pool")
        if self.do not in VERBS and (self.token or self.amount is not None):
            hint = did_you_mean(self.do, VERBS) or "an action of the agent's own takes a share and no token"
            raise fault(f"is '{self.do}', and only {', '.join(VERBS[:-1])} and {VERBS[-1]} take a token; {hint}")
        return self

    @property
    def label(self) -> str:
        """The action as text, `repay 25% USDC`; names are unique in a learner."""
        share = f"{(self.share * 100).normalize():f}%"
        size = f"{self.amount.normalize():f}" if self.amount is not None else share
        words = [self.do] if self.do not in VERBS and self.share == 1 else [self.do, size]
        words += [self.token] if self.token else []
        words += ["for", self.into] if self.into else []
        return " ".join([*words, "on", self.pool] if self.pool else words)


def _action_of(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = _ACTION.fullmatch(value.strip())
    if found is None:
        raise fault(f"is '{value}', not an action such as 'repay 25% USDC' or 'sell 10% WETH for USDC'")
    parts: dict[str, Any] = {key: text for key, text in found.groupdict().items() if text and key != "size"}
    size = found["size"]
    if size and size.endswith("%"):
        parts["share"] = ratio_of(size)
    elif size:
        parts["amount"] = number_of(size.replace(",", ""), "an amount")
    for key in ("token", "into"):
        if key in parts and asset_of(parts[key]).amount is not None:
            raise fault(f"is '{value}', and '{parts[key]}' is not a token")
    return parts


Action = Annotated[
    ActionChoice,
    BeforeValidator(_action_of),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]
"""An action as text or as a mapping."""


class Observed(Model):
    """A figure that the learner observes, and the form in which it does. A name alone takes the form of its unit."""

    figure: str
    """Name of the figure: own.health_factor, AaveV3.USDC.borrow_rate."""
    form: Literal["value", "log", "change", "since_start"] | None = None
    """value; log: signed logarithm of 1 + value; change, since_start: relative change since the last or first step."""
    scale: Positive = Decimal(1)
    """Divisor of the result."""
    bounds: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    """Lowest and highest value; others are clipped."""

    @model_validator(mode="after")
    def _rises(self) -> Observed:
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise fault(f"has bounds from {self.bounds[0]} to {self.bounds[1]}; give the lower one first")
        return self


class RewardTerm(Model):
    """One part of a reward: the change of a figure in each step, its value, or its change over the episode."""

    figure: str
    """Name of the figure: own.wealth, own.liquidations."""
    weight: Number = Decimal(1)
    """Factor; below zero for a penalty."""
    form: Literal["change", "value", "final"] = "change"
    """change: since the last step; value: after each step; final: change over the whole episode, in its last step."""
    relative: bool = False
    """Divide by the figure's value at the start of the episode."""


class End(Model):
    """A condition that ends an episode. As text: `own.liquidations > 0`."""

    figure: str
    """Name of the figure."""
    above: Number | None = None
    """End when the figure is above this."""
    below: Number | None = None
    """End when the figure is below this."""

    @model_validator(mode="after")
    def _one_side(self) -> End:
        if (self.above is None) == (self.below is None):
            raise fault("ends an episode 'above' or 'below' a number: give one of the two")
        return self


def _observed_of(value: Any) -> Any:
    return {"figure": value} if isinstance(value, str) else value


def _end_of(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = _END.fullmatch(value.strip())
    if found is None:
        raise fault(f"is '{value}', not a condition such as 'own.liquidations > 0'")
    return {"figure": found["figure"], "above" if found["side"] == ">" else "below": found["level"]}


def _reward_of(value: Any) -> Any:
    """Parse `pnl`, `{own.wealth: 0.001, own.liquidations: -1}` or a list of terms."""
    if isinstance(value, str):
        if value not in REWARDS:
            hint = did_you_mean(value, REWARDS) or f"there are: {', '.join(REWARDS)}"
            raise fault(f"is '{value}', which is not a named reward; {hint}, or weights of figures {{own.wealth: 1}}")
        form = "change" if value == "pnl" else "final"
        return [{"figure": "own.wealth", "form": form, "relative": True}]
    if isinstance(value, dict):
        return [
            {"figure": figure, **weight} if isinstance(weight, dict) else {"figure": figure, "weight": weight}
            for figure, weight in value.items()
        ]
    return value


def _any_form(*kinds: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": kind} for kind in kinds]})


class Learner(Model):
    """The agent that learns in the environment `mayavi/Scenario-v0`. `mayavi run` ignores it: the agent acts itself."""

    agent: str
    """Agent that learns: its name in `agents`, or one account of several: borrowers-3, bots-0."""
    observes: Annotated[
        list[Annotated[Observed, BeforeValidator(_observed_of), _any_form("string", "object")]], Field(min_length=1)
    ]
    """Figures by name, or mappings with `figure`, `form`, `scale` and `bounds`."""
    actions: Annotated[list[Action], Field(min_length=1)]
    """What it may do beside nothing, which is action 0: repay 25% USDC, sell 10% WETH for USDC, scripted."""
    action_space: Literal["discrete", "continuous"] = "discrete"
    """discrete: one of the actions a step. continuous: a number from -1 to 1 for each, a share of its size."""
    reward: Annotated[list[RewardTerm], BeforeValidator(_reward_of), _any_form("string", "object", "array"),
                      Field(min_length=1)]  # fmt: skip
    """pnl, final_pnl, weights of figures' changes {own.wealth: 1}, or a list of terms."""
    ends: list[Annotated[End, BeforeValidator(_end_of), _any_form("string", "object")]] = Field(default_factory=list)
    """Conditions that end an episode before its last step: own.liquidations > 0."""
    market: str | None = None
    """Lending market of its figures and actions: AaveV3, Spark, cUSDCv3; by default that of its kind, else AaveV3."""
    tokens: list[Symbol] | None = None
    """Tokens of its wallet that count as wealth; by default those of its settings and actions."""

    @model_validator(mode="after")
    def _fits(self) -> Learner:
        names = [each.label for each in self.actions]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise fault(f"has the action '{twice}' twice")
        seen = [each.figure for each in self.observes]
        twice = next((name for name in seen if seen.count(name) > 1), None)
        if twice is not None:
            raise fault(f"observes '{twice}' twice")
        if LAST_ACTION in [*(each.figure for each in self.reward), *(each.figure for each in self.ends)]:
            raise fault(f"is rewarded for, or ended by, '{LAST_ACTION}', which can only be observed")
        return self


def unknown_agent(learner: Learner, agents: Collection[str]) -> tuple[str, str] | None:
    """Return message and hint if no agent has the learner's name; None if one has."""
    name = learner.agent
    stem, dash, number = name.rpartition("-")
    if name in agents or (dash and stem in agents and number.isdigit()):
        return None
    hint = did_you_mean(name, agents) or f"there are: {', '.join(agents)}"
    return f"the learner is '{name}', which is not an agent here", hint
