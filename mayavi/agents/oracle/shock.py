"""Shocks to price feeds: sudden, gradual, or along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.quantities import Number, to_fraction
from mayavi.errors import BadArgument
from mayavi.protocols.chainlink.price_feed import PriceFeed


class Shock(Protocol):
    """Shape of a price shock."""

    def share(self, step: int) -> Fraction | None:
        """Return the price at `step` as a share of that before the shock; None before it begins."""


@dataclass(frozen=True, slots=True)
class StepShock:
    """Sudden shock by `by`, such as -0.3 for minus 30 %, at step `at`."""

    at: int
    by: Number

    def __post_init__(self) -> None:
        _check_shock(self.by, self.at)

    def share(self, step: int) -> Fraction | None:
        """Return the full shock from `at` on."""
        return 1 + to_fraction(self.by) if step >= self.at else None


@dataclass(frozen=True, slots=True)
class RampShock:
    """Linear shock from step `start`, where the price is unchanged, to `by` at step `end`."""

    start: int
    end: int
    by: Number

    def __post_init__(self) -> None:
        _check_shock(self.by, self.start)
        if self.end <= self.start:
            raise BadArgument(f"a ramp from step {self.start} to {self.end} has no length", "give a later end")

    def share(self, step: int) -> Fraction | None:
        """Return the share interpolated between `start` and `end`."""
        if step < self.start:
            return None
        passed = Fraction(min(step, self.end) - self.start, self.end - self.start)
        return 1 + to_fraction(self.by) * passed


@dataclass(frozen=True, slots=True)
class PathShock:
    """Shock along shares of the original price, one per step from `start`, such as 0.97, 0.90; the last stays."""

    shares: Sequence[Number]
    start: int = 0

    def __post_init__(self) -> None:
        if not self.shares:
            raise BadArgument("a path without prices leads nowhere", "give a share for each step, such as [0.97, 0.9]")
        for share in self.shares:
            _check_shock(to_fraction(share, "a share of a price") - 1, self.start)

    def share(self, step: int) -> Fraction | None:
        """Return the share of this step."""
        if step < self.start:
            return None
        return to_fraction(self.shares[min(step - self.start, len(self.shares) - 1)])


class OracleShockAgent(Agent):
    """Agent that moves `feeds` by a `StepShock`, `RampShock` or `PathShock`.

    Each feed moves relative to its answer when the shock begins, rounded down to its decimals, and only if its answer
    changes. Feeds derived from it, such as the adapter of a staked token, follow. If another agent posts to a feed too,
    the last post wins.

        OracleShockAgent("crash", feeds=["Chainlink.ETH/USD"], shock=StepShock(at=5, by=-0.3))
    """

    def __init__(self, name: str, *, feeds: Sequence[str], shock: Shock) -> None:
        super().__init__(name)
        if isinstance(feeds, str) or not feeds:
            raise BadArgument(f"'{name}' shocks the feeds {feeds!r}", "give a list of names, at least one")
        self.feeds, self.shock = tuple(feeds), shock

    def prepare(self, world: World) -> None:
        """Open the feeds."""
        self._open = [PriceFeed(world.fork, feed) for feed in self.feeds]
        self._before: dict[str, int] = {}

    def step(self, world: World, step_idx: int) -> StepResult:
        """Move the feeds that change at this step."""
        del world
        share = self.shock.share(step_idx)
        if share is None:
            return self.rests("the shock has not begun")
        intents = []
        for feed in self._open:
            now = feed.answer
            before = self._before.setdefault(feed.name, now)
            wanted = before * share.numerator // share.denominator
            if wanted != now:
                intents.append(post_intent("shock_price", feed, now, wanted))
        return StepResult(tuple(intents), f"{float(share):.6g} of the price before")


def post_intent(kind: str, feed: PriceFeed, now: int, answer: int, **more: str) -> Intent:
    """Return the intent that moves `feed` from `now` to `answer`."""

    def run() -> Details:
        return {"round": feed.move(answer).round_id}

    facts: Details = {"feed": feed.name, "answer_before": now, "answer": answer, "decimals": feed.decimals, **more}
    return Intent(kind, run, facts)


def _check_shock(by: Number, step: int) -> None:
    if to_fraction(by, "a fraction of a price") <= -1:
        raise BadArgument(f"a shock of {by} leaves no price", "-0.3 is minus 30 %, and more than -1 it cannot be")
    if step < 0:
        raise BadArgument(f"step {step} is before the first", "steps count from 0")
