"""JSON document of a backtest: schema `mayavi-backtest`, version 2, described in docs/how-to/backtest.md.

It depends on the markets, the strategies and their names, and on the versions of the software. It contains no time of
day, and run ids only in the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mayavi.markets.timestamps import say_time
from mayavi.portfolio.backtest.backtest import BOUND, Backtest, Paired, Portfolio, episode_results
from mayavi.portfolio.backtest.episodes import Curves
from mayavi.portfolio.backtest.history import NO_INTERVAL, WITHOUT_INTERVAL
from mayavi.portfolio.backtest.metrics import METRICS
from mayavi.portfolio.env.markets import SharedMarket
from mayavi.rl.evaluation.document import env_facts
from mayavi.statistics.block_jackknife import block_count
from mayavi.statistics.means import FEWEST_RUNS

SCHEMA, VERSION = "mayavi-backtest", 2
MOST_LISTED = 200
"""Most episodes that are listed one by one; beyond that the document has aggregates only."""


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
        BOUND: {name: estimate.to_json() for name, estimate in done.bound.items()},
        "comparisons": [_paired(each) for each in done.comparisons],
        "pooled": [_paired(each) for each in done.pooled],
        "curves": {name: _curves(each.outcome.curves) for name, each in done.portfolios.items()},
    }


def _without_interval(done: Backtest) -> list[str]:
    """Why figures of a historical market have no interval; empty for a simulated one."""
    if not done.historical:
        return []
    found, size = [NO_INTERVAL], done.settings.block_hours
    hours = done.env.config.horizon * len(done.runs.windows)
    blocks = block_count(hours, size)
    if blocks < FEWEST_RUNS:
        text = f"{hours:,} hours are {blocks} blocks of {size:,}, and an interval takes {FEWEST_RUNS}"
        found.append(f"{text}: about {FEWEST_RUNS * size:,} hours are needed, or a shorter --block-hours")
        return found
    alike = {
        name
        for each in done.portfolios.values()
        for name, figure in each.figures.items()
        if name not in WITHOUT_INTERVAL and not figure.complete and each.terms[name].any()
    }
    if alike:
        names = ", ".join(name for name in METRICS if name in alike)
        text = f"neighbouring blocks of {size:,} hours are too much alike, or one of them decides"
        found.append(f"{text}, so some intervals of {names} are missing: try a longer --block-hours")
    return found


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
