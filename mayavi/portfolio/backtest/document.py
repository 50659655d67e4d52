"""JSON document of a backtest: schema `mayavi-backtest`, version 2, described in docs/how-to/backtest.md.

It depends on the markets, the strategies and their names, and on the versions of the software. It contains no time of
day, and run ids only in the command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mayavi.markets.timestamps import say_time
from mayavi.portfolio.backtest.backtest import BOUND, Backtest, Paired, Portfolio, episode_results
from mayavi.portfolio.backtest.episodes import Curves
from mayavi.portfolio.backtest.history import AT_THIS_VOLATILITY, NO_INTERVAL
from mayavi.portfolio.backtest.metrics import METRICS, Floats
from mayavi.portfolio.env.markets import SharedMarket
from mayavi.rl.evaluation.document import env_facts
from mayavi.statistics.block_means import ERRORS, block_count, widening
from mayavi.statistics.estimate import Estimate
from mayavi.statistics.means import FEWEST_RUNS

SCHEMA, VERSION = "mayavi-backtest", 2
MOST_LISTED = 200
"""Most episodes that are listed one by one; beyond that the document has aggregates only."""
_MUCH_WIDER = 2.5
"""Factor from which on wide intervals are explained."""


def document_of(
    done: Backtest,
    *,
    command: str | None = None,
    models: Sequence[Mapping[str, Any]] = (),
    versions: Mapping[str, str] | None = None,
    in_sample: bool = False,
) -> dict[str, Any]:
    """Convert a backtest to plain data."""
    settings = done.settings
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "versions": dict(sorted((versions or {}).items())),
        "command": command,
        "env": env_facts(done.env),
        "market": market_facts(done),
        "models": [dict(each) for each in models],
        "in_sample": in_sample,
        "settings": {
            "seed": settings.seed,
            "confidence": settings.bootstrap.confidence,
            "minimum_distinct": settings.minimum_distinct,
            "block_hours": settings.block_hours if done.historical else None,
        },
        "subjects": list(done.subjects),
        "strategies": {name: _portfolio(each) for name, each in done.portfolios.items()},
        "no_interval": _without_interval(done),
        "interval_notes": _about_intervals(done),
        BOUND: {name: estimate.to_json() for name, estimate in done.bound.items()},
        "comparisons": [_paired(each) for each in done.comparisons],
        "pooled": [_paired(each) for each in done.pooled],
        "curves": {name: _curves(each.outcome.curves) for name, each in done.portfolios.items()},
    }


def _without_interval(done: Backtest) -> list[str]:
    """Why figures of a historical market have no interval; empty for a simulated one."""
    if not done.historical:
        return []
    found, size = [*NO_INTERVAL], done.settings.block_hours
    hours = done.env.config.horizon * len(done.runs.windows)
    blocks = block_count(hours, size)
    if blocks < FEWEST_RUNS:
        text = f"{hours:,} hours are {blocks} blocks of {size:,}, and an interval takes {FEWEST_RUNS}"
        found.append(f"{text}: about {FEWEST_RUNS * size:,} hours are needed, or a shorter --block-hours")
    elif deciding := _metrics_with(done, lambda figure, terms: not figure.complete and bool(terms.any())):
        text = f"one block of {size:,} hours makes up most of the spread"
        found.append(f"{text}, so some intervals of {', '.join(deciding)} are missing: a longer history is needed")
    return found


def _about_intervals(done: Backtest) -> list[str]:
    """What the reader of the intervals of a historical market must know; empty for a simulated one."""
    if not done.historical:
        return []
    found = [AT_THIS_VOLATILITY]
    wide = _metrics_with(done, lambda figure, terms: figure.complete and float(widening(terms, ERRORS)) >= _MUCH_WIDER)
    if wide:
        text = f"neighbouring blocks of {done.settings.block_hours:,} hours may depend on each other, so some intervals"
        found.append(f"{text} of {', '.join(wide)} are wide: a longer history or --block-hours may narrow them")
    return found


def _metrics_with(done: Backtest, holds: Callable[[Estimate, Floats], bool]) -> list[str]:
    """Metrics for which the estimate and the block terms of some portfolio satisfy a condition."""
    return [
        name
        for name in METRICS
        if any(name in each.terms and holds(each.figures[name], each.terms[name]) for each in done.portfolios.values())
    ]


def market_facts(done: Backtest) -> dict[str, Any]:
    """Describe the market: number of simulated episodes, or the windows of a file."""
    markets, horizon = done.env.markets, done.env.config.horizon
    facts: dict[str, Any] = {"kind": "simulated", "episodes": done.settings.episodes, "hours": horizon}
    if isinstance(markets, SharedMarket) and done.historical:
        windows = [[say_time(begin), say_time(end)] for begin, end in done.runs.windows]
        facts = {
            "kind": "historical",
            "source": markets.market.source,
            "assumed": list(markets.market.assumed),
            "digest": markets.digest,
            "episodes": len(windows),
            "hours": horizon,
            "windows": windows,
        }
    return facts


def _portfolio(portfolio: Portfolio) -> dict[str, Any]:
    outcome = portfolio.outcome
    lost = -np.sort(outcome.metrics["total_return"])
    document: dict[str, Any] = {
        "metrics": {name: estimate.to_json() for name, estimate in portfolio.figures.items()},
        "mean_final_value": float(outcome.final_values.mean()),
        "losing_episodes": float((outcome.metrics["total_return"] < 0).mean()),
        "worst_episode": float(-lost[0]),
        "stopped": int(outcome.stopped.sum()),
        "mean_length": float(outcome.lengths.mean()),
    }
    if len(lost) <= MOST_LISTED:
        document["episodes"] = episode_results(outcome)
    return document


def _paired(paired: Paired) -> dict[str, Any]:
    return {
        "strategy": paired.strategy,
        "against": paired.against,
        "metric": paired.metric,
        "trainings": paired.trainings,
        "difference": paired.difference.to_json(),
        "wins": paired.wins,
        "verdict": paired.verdict.word,
        "reason": paired.verdict.reason,
    }


def _curves(curves: Curves) -> dict[str, Any]:
    """Curves at no more than 361 hours, enough for charts."""
    chosen = np.unique(np.linspace(0, len(curves.hours) - 1, min(len(curves.hours), 361)).round().astype(int))

    def rounded(values: Any) -> Any:
        return np.round(values, 6).tolist()

    return {
        "hours": curves.hours[chosen].tolist(),
        "equity": rounded(curves.equity[:, chosen]),
        "drawdown": rounded(curves.drawdown[chosen]),
        "weights": rounded(curves.weights[chosen]),
    }
