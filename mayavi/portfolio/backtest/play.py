"""Play strategies hour by hour in the same markets, thousands of episodes at once.

`rl.evaluation.play` records every action of every row, which a backtest of millions of hours cannot afford. Here the
markets of a batch are simulated once; each strategy starts from the same state, and only the hourly values and trading
costs are recorded. Strategies that need no observations use `_blind_walk`: it performs those operations of the
environment's step that decide the value, in the same order and so to the same bits, and skips the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.action_clipping import clip_actions
from mayavi.gym_env.rows import Floats
from mayavi.portfolio.env.env import LEAST, RWAYieldRows, total_over_assets
from mayavi.rl.evaluation.play import Strategy
from mayavi.rl.evaluation.strategies import Planned, RandomPlay, Scripted

BLIND = (RandomPlay, Planned, Scripted)
"""Strategies that do not use observations, which are then not computed."""


@dataclass(frozen=True, slots=True)
class Walked:
    """Record of a strategy over some episodes. After an early end the last values are repeated."""

    values: Floats
    """Value in dollars, (episodes, hours + 1)."""
    turnover: Floats
    """Turnover, (episodes, hours)."""
    cost: Floats
    """Costs in dollars including gas, (episodes, hours)."""
    weights: Floats
    """Weights of each episode or their mean, (episodes or 1, hours + 1, 3)."""
    lengths: NDArray[np.int64]
    stopped: NDArray[np.bool_]


class Stage:
    """Batch of episodes at their start, which `walk` replays with one strategy after another."""

    def __init__(self, env: RWAYieldRows, episodes: Sequence[int]) -> None:
        """`env` is at the start; its first rows play `episodes`, further rows are padding."""
        self.env, self.count = env, len(episodes)
        self.episodes = [*episodes, *(episodes[-1] for _ in range(env.rows - len(episodes)))]
        self._start = {name: column.copy() for name, column in env.columns.items()}
        hours, every = range(env.config.horizon + 1), np.ones(env.rows, dtype=np.int64)
        levels = np.stack([env.markets.levels_at(every * hour).T for hour in hours])
        self.factors: Floats = levels[1:] / levels[:-1]
        """Hourly growth factors, (hours, 3, rows)."""
        self.gas: Floats = np.stack([env.markets.gas_at(every * hour) for hour in hours[:-1]])
        """Gas cost of a trade in dollars, (hours, rows)."""

    def walk(self, strategy: Strategy, *, each_weight: bool = False) -> Walked:
        """Play all episodes from their start with `strategy`.

        With `each_weight` the weights of every episode are recorded, else their mean.
        """
        for name, column in self.env.columns.items():
            column[...] = self._start[name]
        strategy.begin(self.env, self.episodes)
        record = _Recorder(self.env, self.count, each_weight)
        continuous = self.env.config.actions == "continuous"
        (_blind_walk if continuous and isinstance(strategy, BLIND) else _observing_walk)(self, strategy, record)
        return record.walked()


class _Recorder:
    """Record values, costs and weights while a strategy plays; hours are the first axis."""

    def __init__(self, env: RWAYieldRows, count: int, each_weight: bool) -> None:
        horizon = env.config.horizon
        self.env, self.count, self.each_weight = env, count, each_weight
        self.values = np.empty((horizon + 1, count))
        self.values[0] = env.columns["value"][:count]
        self.turnover, self.cost = np.zeros((horizon, count)), np.zeros((horizon, count))
        self.weights = np.empty((horizon + 1, 3, count if each_weight else 1))
        self.lengths = np.zeros(count, dtype=np.int64)
        self.stopped = np.zeros(count, dtype=np.bool_)
        self._record_weights(0)

    def _record_weights(self, hour: int) -> None:
        now = self.env.weights[:, : self.count]
        self.weights[hour] = now if self.each_weight else now.mean(axis=1, keepdims=True)

    def add(self, hour: int, value: Floats, turnover: Floats, cost: Floats, live: NDArray[np.bool_]) -> None:
        """Record the step from `hour`, which the `live` rows played."""
        count = self.count
        self.values[hour + 1] = value[:count]
        self.lengths += live[:count]
        np.copyto(self.turnover[hour], turnover[:count], where=live[:count])
        np.copyto(self.cost[hour], cost[:count], where=live[:count])
        self._record_weights(hour + 1)

    def fill(self, hour: int) -> None:
        """Repeat the state at `hour` to the end: all episodes have ended."""
        self.values[hour + 1 :], self.weights[hour + 1 :] = self.values[hour], self.weights[hour]

    def walked(self) -> Walked:
        """Build the record with episodes as the first axis."""
        order: Callable[[Any], Any] = np.ascontiguousarray
        return Walked(
            order(self.values.T),
            order(self.turnover.T),
            order(self.cost.T),
            order(self.weights.transpose(2, 0, 1)),
            self.lengths,
            self.stopped,
        )


def _observing_walk(stage: Stage, strategy: Strategy, record: _Recorder) -> None:
    """Play through the environment's own step."""
    env, count = stage.env, stage.count
    live = np.arange(env.rows) < count
    for hour in range(env.config.horizon):
        _, terminated, _ = env.advance(strategy.actions(env, env.observe()), live)
        columns = env.columns
        record.add(hour, columns["value"], columns["turnover"], columns["cost"] + columns["gas"], live)
        record.stopped |= (terminated & live)[:count]
        live = live & ~terminated
        if not live.any():
            record.fill(hour + 1)
            break


def _blind_walk(stage: Stage, strategy: Strategy, record: _Recorder) -> None:
    """Play the trades, costs, growth and stops of `RWAYieldRows.apply` without what only observations need."""
    env, count, config = stage.env, stage.count, stage.env.config
    low, high, share = config.min_weight, config.max_weight, config.rebalance_cost_bps / 10_000.0
    weights, value, peak, steps = env.weights, env.columns["value"], env.columns["peak"], env.columns["steps"]
    live = np.arange(env.rows) < count
    nothing = np.zeros((0, 0), dtype=np.float32)
    last: Any = None
    asked = weights
    for hour in range(config.horizon):
        actions = strategy.actions(env, nothing)
        if actions is not last:  # the same array requests the same weights
            asked = env.targets(clip_actions(env.action_space, actions, live)[0])
            last = actions
        target = asked
        turnover = total_over_assets(np.abs(target - weights))
        small = turnover < config.least_turnover
        if small.any():
            rests = small & ((weights >= low) & (weights <= high)).all(axis=0)
            target, turnover = np.where(rests, weights, target), np.where(rests, 0.0, turnover)
        cost = np.minimum(turnover * share, 1.0) * value
        gas = np.where(turnover > 0.0, np.minimum(stage.gas[hour], value - cost), 0.0)
        held = target * (value - cost - gas)
        held += held * (stage.factors[hour] - 1.0)
        after = total_over_assets(held)
        held /= np.maximum(after, LEAST)
        np.copyto(weights, held, where=live)
        np.copyto(value, after, where=live)
        steps += 1  # of stopped rows too: daily strategies then decide for all rows at once
        np.maximum(peak, value, out=peak)
        record.add(hour, value, turnover, cost + gas, live)
        fallen = ((1.0 - value / peak) > config.stop_drawdown) & live
        if fallen.any():
            record.stopped |= fallen[:count]
            live = live & ~fallen
            if not live.any():
                record.fill(hour + 1)
                break
