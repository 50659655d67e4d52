"""A backtest as a specification: paired, bounded by hindsight, judged as evaluations are."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import mayavi.gym_env  # noqa: F401  registers the environments
from mayavi.errors import UnknownName, UsageError
from mayavi.numerics.streams import stream
from mayavi.portfolio.backtest.backtest import JUDGED, Backtester, BacktestSettings, backtest, rules
from mayavi.portfolio.backtest.document import document_of
from mayavi.portfolio.backtest.history import AT_THIS_VOLATILITY, WITHOUT_INTERVAL
from mayavi.portfolio.backtest.metrics import METRICS
from mayavi.portfolio.market.data import PLACE, RWAMarket
from mayavi.portfolio.market.history import write_rwa
from mayavi.portfolio.market.model import RWAModel
from mayavi.rl.evaluation.strategies import RandomPlay, Trained
from tests.portfolio.backtest.worlds import QUICK, Fixed, config_with, making, past_market

RULES = [
    "equal_weight", "usdy_only", "meth_only", "mi4_only", "buy_and_hold", "minimum_variance", "risk_parity",
    "momentum", "volatility_targeting",
]  # fmt: skip


def test_the_rules_are_all_of_the_baselines_that_are_asked_for():
    assert rules(making()(1)) == RULES


def test_results_have_the_agent_and_every_rule_an_entry_for_each_episode():
    env = gymnasium.make("mayavi/RWAYield-v0", horizon=48)
    results = Backtester(Fixed(1 / 3, 1 / 3, 1 / 3), env).run_backtest(7)
    assert list(results) == ["rl_agent", *RULES]
    for episodes in results.values():
        assert len(episodes) == 7
        for each in episodes:
            assert list(each) == ["final_value", "total_return", "max_drawdown", "sharpe"]
            assert each["total_return"] == pytest.approx((each["final_value"] / 100_000 - 1) * 100)
    assert results["rl_agent"] == results["equal_weight"]
    assert len({each["final_value"] for each in results["equal_weight"]}) == 7


def test_an_agent_with_predict_alone_is_asked_for_weights_and_none_is_for_the_rules_alone():
    class Stubborn:
        def predict(self, observation: Any) -> Any:
            assert observation.ndim == 1
            return np.array([0.6, 0.2, 0.2])

    results = Backtester(Stubborn(), config_with()).run_backtest(3)
    assert results["rl_agent"] == results["usdy_only"]
    assert "rl_agent" not in Backtester(None, config_with()).run_backtest(1)
    with pytest.raises(UsageError, match="a int plays nothing"):
        Backtester(3, config_with())
    with pytest.raises(UsageError, match="plays the environment 'rwa'"):
        Backtester(None, gymnasium.make("CartPole-v1"))


def test_everybody_plays_the_same_markets_and_nobody_beats_hindsight():
    done = backtest(making(), [], None, QUICK)
    finals = np.stack([each.outcome.final_values for each in done.portfolios.values()])
    assert finals.shape == (9, 60)
    assert (finals <= done.runs.bound).all()
    assert done.bound["log_growth"].value > max(each.figures["log_growth"].value for each in done.portfolios.values())
    alone = backtest(making(), [], ["momentum"], QUICK)
    assert (alone.portfolios["momentum"].outcome.final_values == finals[7]).all()


@pytest.mark.slow
def test_more_episodes_begin_with_the_same_ones_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mayavi.portfolio.backtest.episodes.BATCH", 16)
    one = backtest(making(), [], ["momentum", "random"], replace(QUICK, episodes=40), threads=1)
    two = backtest(making(), [], ["momentum", "random"], QUICK, threads=3)
    for name in ("momentum", "random"):
        few, many = one.portfolios[name].outcome, two.portfolios[name].outcome
        assert (few.final_values == many.final_values[:40]).all()
    again = backtest(making(), [], ["momentum", "random"], QUICK, threads=1)
    assert document_of(again) == document_of(two)


def test_figures_are_means_of_episodes_within_their_intervals():
    done = backtest(making(), [], ["equal_weight", "meth_only"], QUICK)
    for portfolio in done.portfolios.values():
        assert list(portfolio.figures) == list(METRICS)
        for metric, estimate in portfolio.figures.items():
            assert estimate.low <= estimate.value <= estimate.high, metric
            if metric not in {"cagr", "calmar"}:
                assert estimate.value == pytest.approx(portfolio.outcome.metrics[metric].mean())
        growth = portfolio.figures["log_growth"].value
        assert portfolio.figures["cagr"].value == pytest.approx(np.expm1(growth * 8_760 / 48))


def test_each_subject_meets_each_rule_and_differences_are_paired():
    subject = Trained("mine", Fixed(0.6, 0.2, 0.2))
    done = backtest(making(), [subject], ["equal_weight", "usdy_only"], QUICK)
    assert [(each.strategy, each.against, each.metric) for each in done.comparisons] == [
        ("mine", other, metric) for other in ("equal_weight", "usdy_only") for metric in JUDGED
    ]
    mine, equal = (done.portfolios[name].outcome.metrics["log_growth"] for name in ("mine", "equal_weight"))
    against = done.comparisons[0]
    assert against.difference.value == pytest.approx((mine - equal).mean())
    known = QUICK.bootstrap.estimate(mine - equal)
    assert [against.difference.low, against.difference.high] == pytest.approx([known.low, known.high], rel=1e-6)
    assert against.wins == pytest.approx((mine > equal).mean())
    same = done.comparisons[2]
    assert same.verdict.word == "indistinguishable"
    assert same.verdict.reason == "mine earned exactly what usdy_only did in each of 60 episodes"
    assert same.wins == 0.5


def test_what_costs_more_and_does_the_same_is_worse():
    """A random policy trades everything every hour: fees alone decide, and the interval says so."""
    done = backtest(making(rebalance_cost_bps=50.0), [], ["equal_weight", "random"], QUICK)
    verdict = done.comparisons[0].verdict
    assert verdict.word == "worse"
    assert verdict.reason.startswith("random grows by ")
    assert "less than equal_weight on the same 60 episodes" in verdict.reason


def test_few_episodes_and_one_episode_again_and_again_prove_nothing():
    few = backtest(making(), [], ["equal_weight", "random"], replace(QUICK, episodes=5))
    assert few.comparisons[0].verdict.word == "saturated"
    fixed = backtest(making(start="fixed"), [], ["equal_weight", "meth_only"], QUICK)
    assert fixed.comparisons[0].verdict.word == "saturated"
    assert "60 episodes are 1 distinct trajectory" in fixed.comparisons[0].verdict.reason


def test_trainings_of_one_algorithm_are_pooled_with_a_wider_interval():
    trainings = [Trained(f"ppo@{at}", Fixed(0.6 - at / 10, 0.2 + at / 10, 0.2)) for at in range(3)]
    done = backtest(making(), [*trainings, Trained("other", Fixed(0.3, 0.3, 0.4))], ["buy_and_hold"], QUICK)
    assert [(each.strategy, each.trainings, each.metric) for each in done.pooled] == [
        ("ppo", 3, metric) for metric in JUDGED
    ]
    single = [each.difference.value for each in done.comparisons if each.metric == "log_growth"][:3]
    assert done.pooled[0].difference.value == pytest.approx(np.mean(single))
    grown = {name: each.outcome.metrics["log_growth"] for name, each in done.portfolios.items()}
    ahead = np.stack([grown[f"ppo@{at}"] - grown["buy_and_hold"] for at in range(3)])
    as_evaluated = QUICK.bootstrap.estimate_pooled(ahead)  # what `mayavi eval` makes of several trainings
    pooled = done.pooled[0].difference
    assert (pooled.low, pooled.high) == pytest.approx((as_evaluated.low, as_evaluated.high))
    alone = QUICK.bootstrap.estimate(ahead.mean(axis=0))  # as if the mean of three trainings were one
    assert pooled.high - pooled.low > 1.1 * (alone.high - alone.low)


# -- a real market ----------------------------------------------------------------------------------------------------


@pytest.mark.slow(0.5)
def test_a_real_market_is_walked_through_window_by_window(tmp_path: Path):
    done = backtest(making(data=str(past_market(tmp_path))), [], ["equal_weight", "meth_only"], QUICK)
    assert done.historical
    windows = done.runs.windows
    assert len(windows) == 9
    assert all(before[1] == after[0] for before, after in itertools.pairwise(windows))
    for portfolio in done.portfolios.values():
        whole = np.prod(portfolio.outcome.final_values / 100_000) - 1
        assert portfolio.figures["total_return"].value == pytest.approx(whole)
        assert portfolio.figures["cost"].value == pytest.approx(portfolio.outcome.metrics["cost"].sum())
        assert portfolio.outcome.curves.equity.shape == (1, 9 * 48 + 1)
        assert portfolio.outcome.curves.weights.shape == (9 * 48 + 1, 3)
    paired = done.comparisons[0]
    assert (paired.difference.low, paired.difference.runs_needed) == (None, 20)
    assert paired.verdict.word == "saturated"  # nine windows of two days are eighteen blocks of a day
    assert "18 blocks of 24 hours are too few" in paired.verdict.reason
    assert done.bound["log_growth"].value == pytest.approx(np.log(done.runs.bound / 100_000).sum())


@pytest.mark.slow(0.5)
def test_enough_of_a_real_market_gets_a_verdict(tmp_path: Path):
    settings = replace(QUICK, block_hours=12)
    done = backtest(
        making(data=str(past_market(tmp_path)), rebalance_cost_bps=100.0), [], ["buy_and_hold", "random"], settings
    )
    assert done.comparisons[0].verdict.word == "worse"
    assert "on the same 36 blocks of 12 hours" in done.comparisons[0].verdict.reason
    for metric, found in done.portfolios["random"].figures.items():
        assert found.complete == (metric not in WITHOUT_INTERVAL), metric
        assert found.covers(found.value), metric


@pytest.mark.slow(1)
def test_a_document_says_why_figures_of_a_history_have_no_interval(tmp_path: Path):
    market = making(data=str(past_market(tmp_path)))
    few = document_of(backtest(market, [], ["usdy_only"], QUICK))["no_interval"]
    assert len(few) == 3
    assert all("no interval" in each for each in few[:2])
    assert few[2].startswith("432 hours are 18 blocks of 24, and an interval takes 20: about 480 hours are needed")
    enough = document_of(backtest(market, [], ["usdy_only"], replace(QUICK, block_hours=12)))
    assert enough["no_interval"] == few[:2]
    assert enough["interval_notes"] == [AT_THIS_VOLATILITY]
    simulated = document_of(backtest(making(), [], ["usdy_only"], QUICK))
    assert (simulated["no_interval"], simulated["interval_notes"]) == ([], [])


@pytest.mark.slow(1)
def test_hours_that_hang_together_are_not_taken_for_independent_ones(tmp_path: Path):
    market = RWAModel().draw([stream(5, "past")], 2_400)
    noise, moves = np.random.default_rng(4).normal(0, 3e-3, 2_401), np.zeros(2_401)
    for hour in range(1, 2_401):
        moves[hour] = 0.9 * moves[hour - 1] + noise[hour]  # a move goes on for hours
    values = market.values.copy()
    values[0, :, PLACE["eth_price"]] = 2_000 * np.exp(np.cumsum(moves))
    file = tmp_path / "trends.csv"
    write_rwa(RWAMarket(None, values), file)
    hours, blocks = (
        backtest(making(data=str(file)), [], ["usdy_only", "meth_only"], replace(QUICK, block_hours=block))
        for block in (1, 20)
    )
    short, long = (each.comparisons[0].difference.half_width for each in (hours, blocks))
    assert short is not None
    assert long is not None
    assert 0.6 * long < short < 3 * long  # single hours, taken for independent, would give a quarter
    assert "blocks of 1 hours may depend on each other" in document_of(hours)["interval_notes"][1]
    assert len(document_of(blocks)["interval_notes"]) == 1


# -- misuse -----------------------------------------------------------------------------------------------------------


def test_misuse_is_told():
    with pytest.raises(UnknownName, match="unknown strategy 'momentun'") as caught:
        backtest(making(), [], ["momentun"], QUICK)
    assert "momentum" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="searches no optimum"):
        backtest(making(), [], ["optimum"], QUICK)
    with pytest.raises(UsageError, match="no strategy to compare with"):
        backtest(making(), [], [], QUICK)
    with pytest.raises(UsageError, match="two portfolios are called 'random'"):
        backtest(making(), [RandomPlay(1)], ["random"], QUICK)
    for episodes in (0, -3, 2_000_000, 1.5):
        with pytest.raises(UsageError, match="cannot play"):
            BacktestSettings(episodes=episodes)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="blocks of 0 hours"):
        BacktestSettings(block_hours=0)
