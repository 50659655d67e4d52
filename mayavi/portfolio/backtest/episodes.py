"""Play the episodes of a backtest: simulated markets in batches on all cores, or windows of a historical one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import SimulationError, UsageError
from mayavi.portfolio.backtest.hindsight import hindsight_bound
from mayavi.portfolio.backtest.metrics import Floats, portfolio_metrics
from mayavi.portfolio.backtest.play import Stage, Walked
from mayavi.portfolio.env.env import RWAYieldRows
from mayavi.portfolio.env.markets import SharedMarket
from mayavi.rl.evaluation.play import Progress, Strategy

Make = Callable[[int], RWAYieldRows]
Players = Callable[[RWAYieldRows], Sequence[Strategy]]
"""Builds new strategies for a batch: some are stateful, so threads do not share them."""

BATCH = 1_024
"""Episodes per batch. Network outputs depend on it in the last bits, so it is the same on every machine."""
CURVE_POINTS = 61
"""Number of hours of an episode that charts show."""
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(slots=True)
class Curves:
    """Curves for charts: quantiles over all simulated episodes, or the course in a historical market."""

    hours: NDArray[np.int64]
    equity: Floats
    """Value relative to the start, (3 or 1, hours): the 5 %, 50 % and 95 % quantiles, or the value itself."""
    drawdown: Floats
    """Mean loss from the peak, (hours,)."""
    weights: Floats
    """Mean weights, (hours, 3)."""


@dataclass(slots=True)
class Outcome:
    """Outcome of a strategy in all episodes."""

    name: str
    metrics: dict[str, Floats]
    """Metrics of each episode, by name."""
    final_values: Floats
    lengths: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    curves: Curves
    hourly: tuple[Floats, Floats, Floats] | None = None
    """Hourly growth, turnover and cost over all windows of a historical market."""


@dataclass(slots=True)
class Runs:
    """Outcomes of all strategies in the same episodes."""

    outcomes: dict[str, Outcome]
    bound: Floats
    """Hindsight bound on the final value in dollars, (episodes,)."""
    windows: list[tuple[float, float]] = field(default_factory=list)
    """Begin and end of each window of a historical market, in seconds since 1970."""


def run_drawn(
    make: Make, players: Players, episodes: int, *, threads: int | None = None, progress: Progress | None = None
) -> Runs:
    """Play the first `episodes` of the split with all strategies, in the same simulated markets."""
    rows = min(episodes, BATCH)
    starts = range(0, episodes, rows)
    workers = min(len(starts), threads or os.cpu_count() or 1)
    idle: list[RWAYieldRows] = []
    done = 0

    def batch(start: int) -> tuple[dict[str, Any], Floats, int]:
        env = idle.pop() if idle else make(rows)
        if workers > 1:
            env.threads = 1  # every core simulates a batch of its own
        numbers = range(start, min(start + rows, episodes))
        filled = [*numbers, *(numbers[-1] for _ in range(rows - len(numbers)))]
        env.begin(range(rows), filled)
        stage = Stage(env, numbers)
        bound = _bound(env, stage)
        found = {}
        for player in players(env):
            walked = stage.walk(player)
            _check_bound(player.name, walked, bound)
            found[player.name] = _batch_results(env, walked)
        idle.append(env)
        return found, bound, len(numbers)

    parts = []
    with ThreadPoolExecutor(workers) as pool:
        for part in pool.map(batch, starts):
            parts.append(part)
            done += part[2]
            if progress is not None:
                progress(done, episodes)
    outcomes = {name: _merge_batches(name, [part[0][name] for part in parts]) for name in parts[0][0]}
    return Runs(outcomes, np.concatenate([part[1] for part in parts]))


def run_windows(env: RWAYieldRows, players: Players, *, progress: Progress | None = None) -> Runs:
    """Play all consecutive windows of a historical market; `env` has a row for each."""
    market = env.markets
    assert isinstance(market, SharedMarket)
    starts = market.consecutive(env.config.horizon)
    env.begin_at(range(env.rows), starts)
    stage = Stage(env, starts)
    bound = _bound(env, stage)
    strategies = list(players(env))
    outcomes = {}
    for at, player in enumerate(strategies):
        walked = stage.walk(player, each_weight=True)
        _check_bound(player.name, walked, bound)
        outcomes[player.name] = _window_outcome(player.name, env, walked)
        if progress is not None:
            progress(at + 1, len(strategies))
    times = market.market.times
    windows = [] if times is None else [(float(times[at]), float(times[at + env.config.horizon])) for at in starts]
    return Runs(outcomes, bound, windows)


def window_count(env: RWAYieldRows) -> int:
    """Number of consecutive windows of a historical market."""
    if not isinstance(env.markets, SharedMarket):
        raise UsageError("simulated markets have no windows", "give a number of episodes")
    return len(env.markets.consecutive(env.config.horizon))


def _bound(env: RWAYieldRows, stage: Stage) -> Floats:
    config = env.config
    ahead = stage.factors[:, :, : stage.count].transpose(2, 0, 1)
    grown = hindsight_bound(
        ahead,
        np.array(config.initial_weights),
        low=config.min_weight,
        high=config.max_weight,
        cost_bps=config.rebalance_cost_bps,
        stop_drawdown=config.stop_drawdown,
    )
    bound: Floats = grown[:, -1] * config.initial_capital
    return bound


def _check_bound(name: str, walked: Walked, bound: Floats) -> None:
    """Raise `SimulationError` where a value exceeds the hindsight bound: one of them must be wrong."""
    beyond = np.flatnonzero(walked.values[:, -1] > bound * (1 + 1e-9))
    if len(beyond):
        raise SimulationError(
            f"'{name}' ended episode {beyond[0]} of its batch with more than is possible",
            "report this: docs/how-to/backtest.md says how the bound is found",
        )


def _points(horizon: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, horizon, CURVE_POINTS).round().astype(np.int64))


def _figures(env: RWAYieldRows, walked: Walked) -> dict[str, Floats]:
    return portfolio_metrics(
        walked.values,
        risk_free_rate=env.config.risk_free_rate,
        turnover=walked.turnover.sum(axis=1),
        cost=walked.cost.sum(axis=1),
    )


def _batch_results(env: RWAYieldRows, walked: Walked) -> dict[str, Any]:
    points = _points(env.config.horizon)
    peaks = np.maximum.accumulate(walked.values, axis=1)
    return {
        "metrics": _figures(env, walked),
        "final": walked.values[:, -1].copy(),
        "lengths": walked.lengths,
        "stopped": walked.stopped,
        "points": points,
        "equity": walked.values[:, points] / walked.values[:, :1],
        "drawdown": 1.0 - walked.values[:, points] / peaks[:, points],
        "weights": walked.weights[0, points],
    }


def _merge_batches(name: str, parts: list[dict[str, Any]]) -> Outcome:
    def joined(key: str) -> Any:
        return np.concatenate([part[key] for part in parts])

    counts = np.array([len(part["final"]) for part in parts])
    weights = np.average([part["weights"] for part in parts], axis=0, weights=counts)
    curves = Curves(
        parts[0]["points"],
        np.quantile(joined("equity"), QUANTILES, axis=0),
        np.asarray(joined("drawdown").mean(axis=0)),
        weights,
    )
    metrics = {metric: np.concatenate([part["metrics"][metric] for part in parts]) for metric in parts[0]["metrics"]}
    return Outcome(name, metrics, joined("final"), joined("lengths"), joined("stopped"), curves)


def _window_outcome(name: str, env: RWAYieldRows, walked: Walked) -> Outcome:
    growth = (walked.values[:, 1:] / walked.values[:, :-1]).ravel()
    equity = np.concatenate([[1.0], np.cumprod(growth)])
    weights = np.concatenate([walked.weights[:, :-1].reshape(-1, 3), walked.weights[-1:, -1]])
    curves = Curves(np.arange(len(equity)), equity[None], 1.0 - equity / np.maximum.accumulate(equity), weights)
    hourly = growth, walked.turnover.ravel(), walked.cost.ravel()
    final = walked.values[:, -1].copy()
    return Outcome(name, _figures(env, walked), final, walked.lengths, walked.stopped, curves, hourly)
