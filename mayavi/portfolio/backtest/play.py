"""Portfolios hour by hour: everybody plays the same markets, thousands of them side by side.

`rl.play` keeps every action of every row, which evaluations need and a backtest of millions of hours cannot afford.
Here the markets of a batch are drawn once; then each strategy starts where all did, and what is kept is the value of
every hour and what trading cost. Strategies that need no observations go through `_blind_walk`, which does of the
environment's step what decides values, in the same operations and so to the same bits, and leaves out the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.action_clipping import clip_actions
from mayavi.gym_env.rows import Floats
from mayavi.portfolio.env.env import LEAST, RWAYieldEnv
from mayavi.rl.evaluation.play import Strategy
from mayavi.rl.evaluation.strategies import Chance, Planned, Scripted

BLIND = (Chance, Planned, Scripted)
"""Strategies that look at weights and markets, or at nothing: no observations are worked out for them."""


@dataclass(frozen=True, slots=True)
class Walked:
    """What a strategy made of some episodes, one entry for each. After an early end everything stays as it was."""

    values: Floats
    """(episodes, hours + 1) dollars."""
    turnover: Floats
    """(episodes, hours)."""
    cost: Floats
    """(episodes, hours) dollars, gas included."""
    weights: Floats
    """(episodes or 1, hours + 1, 3): of each episode, or their mean."""
    lengths: NDArray[np.int64]
    stopped: NDArray[np.bool_]


class Stage:
    """Rows at the start of their episodes, and the hours ahead of them: `walk` plays them again and again."""

    def __init__(self, env: RWAYieldEnv, episodes: Sequence[int]) -> None:
        """`env` stands at the start; the first of its rows play `episodes`, others are carried along unseen."""
        self.env, self.count = env, len(episodes)
        self.episodes = [*episodes, *(episodes[-1] for _ in range(env.rows - len(episodes)))]
        self._start = {name: column.copy() for name, column in env.columns.items()}
        hours, every = range(env.config.horizon + 1), np.ones(env.rows, dtype=np.int64)
        levels = np.stack([env.markets.levels_at(every * hour).T for hour in hours])
        self.factors: Floats = levels[1:] / levels[:-1]
        """(hours, 3, rows): what a dollar in each asset becomes in each hour."""
        self.gas: Floats = np.stack([env.markets.gas_at(every * hour) for hour in hours[:-1]])
        """(hours, rows): what a trade costs besides, in dollars."""

    def walk(self, strategy: Strategy, *, each_weight: bool = False) -> Walked:
        """Let `strategy` play all episodes from their start.

        With `each_weight` the weights of every episode are kept, otherwise their mean.
        """
        for name, column in self.env.columns.items():
            column[...] = self._start[name]
        strategy.begin(self.env, self.episodes)
        kept = _Kept(self.env, self.count, each_weight)
        continuous = self.env.config.actions == "continuous"
        (_blind_walk if continuous and isinstance(strategy, BLIND) else _seeing_walk)(self, strategy, kept)
        return kept.walked()


class _Kept:
    """What is written down while a strategy plays; hours first, as they come."""

    def __init__(self, env: RWAYieldEnv, count: int, each_weight: bool) -> None:
        horizon = env.config.horizon
        self.env, self.count, self.each_weight = env, count, each_weight
        self.values = np.empty((horizon + 1, count))
        self.values[0] = env.columns["value"][:count]
        self.turnover, self.cost = np.zeros((horizon, count)), np.zeros((horizon, count))
        self.weights = np.empty((horizon + 1, 3, count if each_weight else 1))
        self.lengths = np.zeros(count, dtype=np.int64)
        self.stopped = np.zeros(count, dtype=np.bool_)
        self.keep_weights(0)

    def keep_weights(self, hour: int) -> None:
        now = self.env.weights[:, : self.count]
        self.weights[hour] = now if self.each_weight else now.mean(axis=1, keepdims=True)

    def keep(self, hour: int, value: Floats, turnover: Floats, cost: Floats, live: NDArray[np.bool_]) -> None:
        """What the step from `hour` gave; `live` are those that played it."""
        count = self.count
        self.values[hour + 1] = value[:count]
        self.lengths += live[:count]
        np.copyto(self.turnover[hour], turnover[:count], where=live[:count])
        np.copyto(self.cost[hour], cost[:count], where=live[:count])
        self.keep_weights(hour + 1)

    def fill(self, hour: int) -> None:
        """Nobody plays any more from `hour` on."""
        self.values[hour + 1 :], self.weights[hour + 1 :] = self.values[hour], self.weights[hour]

    def walked(self) -> Walked:
        order: Callable[[Any], Any] = np.ascontiguousarray
        return Walked(
            order(self.values.T),
            order(self.turnover.T),
            order(self.cost.T),
            order(self.weights.transpose(2, 0, 1)),
            self.lengths,
            self.stopped,
        )


def _seeing_walk(stage: Stage, strategy: Strategy, kept: _Kept) -> None:
    """Through the environment's own step."""
    env, count = stage.env, stage.count
    live = np.arange(env.rows) < count
    for hour in range(env.config.horizon):
        _, terminated, _ = env.advance(strategy.actions(env, env.observe()), live)
        columns = env.columns
        kept.keep(hour, columns["value"], columns["turnover"], columns["cost"] + columns["gas"], live)
        kept.stopped |= (terminated & live)[:count]
        live = live & ~terminated
        if not live.any():
            kept.fill(hour + 1)
            break


def _blind_walk(stage: Stage, strategy: Strategy, kept: _Kept) -> None:
    """The trades, costs, growth and stops of `RWAYieldEnv.apply`, and none of what only observations need."""
    env, count, config = stage.env, stage.count, stage.env.config
    low, high, share = config.min_weight, config.max_weight, config.rebalance_cost_bps / 10_000.0
    weights, value, peak, steps = env.weights, env.columns["value"], env.columns["peak"], env.columns["steps"]
    live = np.arange(env.rows) < count
    nothing = np.zeros((0, 0), dtype=np.float32)
    last: Any = None
    asked = weights
    for hour in range(config.horizon):
        actions = strategy.actions(env, nothing)
        if actions is not last:  # who gives the same array again asks for the same again
            asked = env.targets(clip_actions(env.action_space, actions, live)[0])
            last = actions
        target = asked
        turnover = _total(np.abs(target - weights))
        small = turnover < config.least_turnover
        if small.any():
            rests = small & ((weights >= low) & (weights <= high)).all(axis=0)
            target, turnover = np.where(rests, weights, target), np.where(rests, 0.0, turnover)
        cost = np.minimum(turnover * share, 1.0) * value
        gas = np.where(turnover > 0.0, np.minimum(stage.gas[hour], value - cost), 0.0)
        held = target * (value - cost - gas)
        held += held * (stage.factors[hour] - 1.0)
        after = _total(held)
        held /= np.maximum(after, LEAST)
        np.copyto(weights, held, where=live)
        np.copyto(value, after, where=live)
        steps += 1  # of those who were stopped too: who decides by the day then has one day for all rows
        np.maximum(peak, value, out=peak)
        kept.keep(hour, value, turnover, cost + gas, live)
        fallen = ((1.0 - value / peak) > config.stop_drawdown) & live
        if fallen.any():
            kept.stopped |= fallen[:count]
            live = live & ~fallen
            if not live.any():
                kept.fill(hour + 1)
                break


def _total(parts: Floats) -> Floats:
    total: Floats = parts[0] + parts[1] + parts[2]
    return total
