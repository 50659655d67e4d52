"""Backtest policies and rule-based strategies in the same markets, with fees and out of sample.

    results = Backtester(optimizer, env).run_backtest(n_episodes=200)
    results["rl_agent"][0]["sharpe"], results["equal_weight"][0]["sharpe"]

`backtest` returns everything: metrics with confidence intervals, paired differences with verdicts, and curves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mayavi.errors import UsageError
from mayavi.gym_env.configuration import configured
from mayavi.portfolio.backtest.episodes import Make, Outcome, Runs, run_drawn, run_windows, window_count
from mayavi.portfolio.backtest.history import annualised, historical_figures
from mayavi.portfolio.backtest.metrics import HOURS_A_YEAR, METRICS, Floats, ratio
from mayavi.portfolio.env.config import RWAConfig
from mayavi.portfolio.env.env import RWAYieldRows
from mayavi.rl.evaluation.comparison import pooled_name
from mayavi.rl.evaluation.play import Progress, Strategy
from mayavi.rl.evaluation.strategies import OPTIMUM, RandomPlay, Trained, baseline, check_strategies
from mayavi.rl.evaluation.verdict import MINIMUM_DISTINCT, Verdict, check_minimum, judged
from mayavi.sim.world_state import checked_seed
from mayavi.statistics.block_means import block_count, estimate_over_blocks
from mayavi.statistics.bootstrap import Bootstrap
from mayavi.statistics.estimate import Estimate

RL_AGENT = "rl_agent"
BOUND = "hindsight"
EPISODES = 1_000
BLOCK_HOURS = 168
"""Default length of the blocks of a historical market: a week."""
MOST_EPISODES = 1_000_000
JUDGED = {
    "log_growth": ("grows by", "more", "less"),
    "sharpe": ("has a Sharpe ratio", "higher", "lower"),
}
"""Metrics that get a verdict, and the words for their differences."""


@dataclass(frozen=True, slots=True)
class BacktestSettings:
    """Settings of a backtest besides the environment and the strategies."""

    episodes: int = EPISODES
    """Number of simulated markets; in a historical market all windows are played."""
    seed: int = 0
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    minimum_distinct: int = MINIMUM_DISTINCT
    block_hours: int = BLOCK_HOURS
    """Length of the blocks of a historical market, whose means its intervals are computed from."""

    def __post_init__(self) -> None:
        if type(self.episodes) is not int or not 1 <= self.episodes <= MOST_EPISODES:
            raise UsageError(
                f"a backtest cannot play {self.episodes} episodes", f"give a number from 1 to {MOST_EPISODES:,}"
            )
        if type(self.block_hours) is not int or self.block_hours < 1:
            raise UsageError(f"blocks of {self.block_hours} hours hold nothing", "an hour at least; a week is 168")
        checked_seed(self.seed)
        check_minimum(self.minimum_distinct)


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Outcome of one strategy: every metric with its confidence interval."""

    outcome: Outcome
    figures: dict[str, Estimate]
    terms: dict[str, Floats]
    """Contribution of each block of a historical market to each metric; all strategies share the blocks."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Comparison of two strategies in the same markets."""

    strategy: str
    against: str
    metric: str
    difference: Estimate
    wins: float
    """Share of episodes or windows in which `strategy` has the greater metric, ties counting half."""
    verdict: Verdict
    trainings: int = 1


@dataclass(frozen=True, slots=True)
class Backtest:
    """Results of a backtest."""

    env: RWAYieldRows
    settings: BacktestSettings
    runs: Runs
    subjects: tuple[str, ...]
    portfolios: dict[str, Portfolio]
    comparisons: tuple[Paired, ...]
    pooled: tuple[Paired, ...]
    """Comparisons over all trainings of one algorithm, where there are several."""
    bound: dict[str, Estimate]
    """Hindsight bound of `total_return` and `log_growth`."""

    @property
    def historical(self) -> bool:
        """Whether the market is historical."""
        return self.env.config.data is not None


def rules(env: type[RWAYieldRows] | RWAYieldRows) -> list[str]:
    """Names of the baselines: all strategies of the environment except `noop`, an alias."""
    return [name for name in env.strategies if name != "noop"]


def backtest(
    make: Make,
    subjects: Sequence[Strategy],
    against: Sequence[str] | None = None,
    settings: BacktestSettings | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Backtest:
    """Play all strategies in the same markets, and compare each of `subjects` with each baseline in `against`.

    Without subjects, every baseline is compared with the first. `make(rows)` builds the environment. In a historical
    market all consecutive windows of the split are played.
    """
    settings = settings or BacktestSettings()
    env = make(1)
    names = _baselines(env, against)
    own = [each.name for each in subjects]
    if clash := [name for name in own if name in names or own.count(name) > 1 or name == BOUND]:
        raise UsageError(f"two portfolios are called '{clash[0]}'", "each needs a name of its own")

    def players(here: RWAYieldRows) -> list[Strategy]:
        rest: list[Strategy] = [
            RandomPlay(settings.seed) if name == "random" else baseline(here, name, seed=settings.seed)
            for name in names
        ]
        return [*(replace(each) if isinstance(each, Trained) else each for each in subjects), *rest]

    if env.config.data is not None:
        env = make(window_count(env))
        runs = run_windows(env, players, progress=progress)
        portfolios = _historical_portfolios(runs, settings, env.config)
    else:
        if not all(isinstance(each, Trained) for each in subjects):
            threads = 1  # an unknown strategy may keep state that threads would share
        runs = run_drawn(make, players, settings.episodes, threads=threads, progress=progress)
        portfolios = _simulated_portfolios(runs, settings, env.config.horizon)
    pairs = [(one, other) for one in own for other in names] or [(one, names[0]) for one in names[1:]]
    comparisons = tuple(
        _compare([portfolios[one]], portfolios[other], metric, settings, env.config)
        for one, other in pairs
        for metric in JUDGED
    )
    pooled: tuple[Paired, ...] = ()
    for together in _trainings(own, portfolios):
        pooled += tuple(
            _compare(together, portfolios[other], metric, settings, env.config) for other in names for metric in JUDGED
        )
    bound = _bound(runs, settings, env.config)
    return Backtest(env, settings, runs, tuple(own), portfolios, comparisons, pooled, bound)


class Backtester:
    """Compare an agent with the baselines, episode by episode.

    `agent` is a `PPOYieldOptimizer`, a `Model`, a policy or a strategy, or None for the baselines alone; `env` is any
    form of the portfolio environment, whose settings are used. Episodes are those of `split`; an agent trained on them
    is refused.
    """

    def __init__(self, agent: Any, env: Any, *, split: str = "test", seed: int = 0) -> None:
        from mayavi.portfolio.backtest.policies import config_of, subject_of

        self.config = configured(RWAConfig, config_of(env), {"split": split})
        self.settings = BacktestSettings(seed=seed)
        self.subject = None if agent is None else subject_of(RL_AGENT, agent, self.config, seed=seed)

    def run_backtest(self, n_episodes: int = 10) -> dict[str, list[dict[str, float]]]:
        """Results of each episode for `rl_agent` and every baseline.

        `final_value` is in dollars, `total_return` in percent, `max_drawdown` a share, `sharpe` for a year.
        """
        subjects = [] if self.subject is None else [self.subject]
        done = backtest(self.make, subjects, None, replace(self.settings, episodes=n_episodes))
        return {name: episode_results(each.outcome) for name, each in done.portfolios.items()}

    def make(self, rows: int) -> RWAYieldRows:
        """Build the environment with `rows` rows."""
        return RWAYieldRows(self.config, rows)


def episode_results(outcome: Outcome) -> list[dict[str, float]]:
    """Final value, total return, drawdown and Sharpe ratio of each episode."""
    metrics = outcome.metrics
    return [
        {"final_value": value, "total_return": grown * 100, "max_drawdown": fallen, "sharpe": sharpe}
        for value, grown, fallen, sharpe in zip(
            outcome.final_values.tolist(),
            metrics["total_return"].tolist(),
            metrics["max_drawdown"].tolist(),
            metrics["sharpe"].tolist(),
            strict=True,
        )
    ]


def _trainings(own: Sequence[str], portfolios: dict[str, Portfolio]) -> list[list[Portfolio]]:
    """Group the trainings of each algorithm that was trained more than once."""
    groups: dict[str, list[Portfolio]] = {}
    for name in own:
        groups.setdefault(pooled_name(name), []).append(portfolios[name])
    return [group for group in groups.values() if len(group) > 1]


def _baselines(env: RWAYieldRows, against: Sequence[str] | None) -> list[str]:
    names = list(dict.fromkeys(rules(env) if against is None else against))
    check_strategies(env, names)
    if OPTIMUM in names:
        raise UsageError("a backtest searches no optimum", f"it always reports the bound '{BOUND}'; leave it out")
    if not names:
        raise UsageError("no strategy to compare with is given", f"there are {', '.join(rules(env))}")
    return names


def _simulated_portfolios(runs: Runs, settings: BacktestSettings, horizon: int) -> dict[str, Portfolio]:
    years = horizon / HOURS_A_YEAR
    return {
        name: Portfolio(outcome, simulated_figures(outcome.metrics, years, settings.bootstrap), {})
        for name, outcome in runs.outcomes.items()
    }


def simulated_figures(metrics: Mapping[str, Floats], years: float, bootstrap: Bootstrap) -> dict[str, Estimate]:
    """A metric is the mean over the episodes, which are independent and last `years`.

    There are two exceptions, because annualised returns of single months have extreme outliers: the CAGR is that of the
    mean log growth, and the Calmar ratio divides it by the mean drawdown.
    """
    figures = {metric: bootstrap.estimate(metrics[metric]) for metric in METRICS}
    figures["cagr"] = annualised(figures["log_growth"], years)
    figures["calmar"] = _calmar(metrics, years, bootstrap)
    return figures


def _calmar(metrics: Mapping[str, Floats], years: float, bootstrap: Bootstrap) -> Estimate:
    """Annual growth rate over the mean drawdown.

    Both get an interval with half the error, so both hold at once with the confidence asked for, and the quotients of
    their ends are the bounds. A linear approximation would not do: an annual rate is far from linear in short episodes.
    """
    half = replace(bootstrap, confidence=(1 + bootstrap.confidence) / 2)
    drawdown = half.estimate(metrics["max_drawdown"])
    rate = annualised(half.estimate(metrics["log_growth"]), years)
    value = float(ratio(np.array(rate.value), np.array(drawdown.value)))
    if not value or rate.low is None or rate.high is None or not drawdown.low or drawdown.high is None:
        needed = [each.runs_needed for each in (rate, drawdown) if each.runs_needed is not None]
        return Estimate(value, None, None, max(needed, default=None))
    low = rate.low / (drawdown.high if rate.low > 0 else drawdown.low)
    high = rate.high / (drawdown.low if rate.high > 0 else drawdown.high)
    return Estimate(value, low, high)


def _historical_portfolios(runs: Runs, settings: BacktestSettings, config: RWAConfig) -> dict[str, Portfolio]:
    """A metric is that of all hours; its interval is over blocks of hours, as there is only one history."""
    found = {}
    for name, outcome in runs.outcomes.items():
        figures, terms = historical_figures(
            _hourly(outcome), config.risk_free_rate, settings.block_hours, settings.bootstrap.confidence
        )
        found[name] = Portfolio(outcome, figures, terms)
    return found


def _hourly(outcome: Outcome) -> tuple[Floats, Floats, Floats]:
    assert outcome.hourly is not None
    return outcome.hourly


def _compare(
    ours: Sequence[Portfolio], other: Portfolio, metric: str, settings: BacktestSettings, config: RWAConfig
) -> Paired:
    """Compare one portfolio, or several trainings of one algorithm, with another."""
    bootstrap, trainings = settings.bootstrap, len(ours)
    by_episode = np.stack([each.outcome.metrics[metric] for each in ours]) - other.outcome.metrics[metric]
    if config.data is None:
        difference = bootstrap.estimate_pooled(by_episode)
    else:
        each_training = np.array([each.figures[metric].value for each in ours]) - other.figures[metric].value
        mean_terms, other_terms = np.mean([each.terms[metric] for each in ours], axis=0), other.terms[metric]
        difference = estimate_over_blocks(
            float(each_training.mean()), mean_terms - other_terms, bootstrap.confidence, (mean_terms, other_terms)
        )
        difference = bootstrap.pooled(difference, each_training)
    wins = float((by_episode > 0).mean() + (by_episode == 0).mean() / 2)
    name = ours[0].outcome.name
    if trainings > 1:
        name = pooled_name(name)
    evidence, of = _evidence(ours, other, settings, historical=config.data is not None)
    verdict = judged(
        name,
        other.outcome.name,
        difference,
        **evidence,
        confidence=bootstrap.confidence,
        minimum=settings.minimum_distinct,
        of=of,
        wording=JUDGED[metric],
    )
    return Paired(name, other.outcome.name, metric, difference, wins, verdict, trainings)


def _evidence(
    ours: Sequence[Portfolio], other: Portfolio, settings: BacktestSettings, *, historical: bool
) -> tuple[dict[str, int], tuple[str, str]]:
    """Count independent episodes or blocks, distinct ones, and those with equal results; and name their unit."""
    if not historical:
        theirs = other.outcome
        distinct = min(_distinct(each.outcome, theirs) for each in ours)
        equal = np.all([each.outcome.final_values == theirs.final_values for each in ours], axis=0)
        return {"episodes": len(equal), "distinct": distinct, "equal": int(equal.sum())}, ("episode", "episodes")
    same = np.all([_hourly(each.outcome)[0] == _hourly(other.outcome)[0] for each in ours], axis=0)
    hours = settings.block_hours
    blocks = block_count(len(same), hours)
    equal = np.array([same[at * hours : (at + 1) * hours].all() for at in range(blocks)])
    of = (f"block of {hours} hours", f"blocks of {hours} hours")
    return {"episodes": blocks, "distinct": blocks, "equal": int(equal.sum())}, of


def _distinct(one: Outcome, other: Outcome) -> int:
    """Count distinct pairs of outcomes; equal final values and volatilities mean one episode played twice."""
    marks = [each for outcome in (one, other) for each in (outcome.final_values, outcome.metrics["volatility"])]
    return len(np.unique(np.stack(marks, axis=1), axis=0))


def _bound(runs: Runs, settings: BacktestSettings, config: RWAConfig) -> dict[str, Estimate]:
    grown = runs.bound / config.initial_capital
    if config.data is not None:
        total = float(np.log(grown).sum())
        grown_to = float(np.expm1(min(total, 700.0)))
        return {
            "total_return": Estimate(grown_to, grown_to, grown_to),
            "log_growth": Estimate(total, total, total),
        }
    both = {"total_return": grown - 1.0, "log_growth": np.log(grown)}
    return {name: settings.bootstrap.estimate(values) for name, values in both.items()}
