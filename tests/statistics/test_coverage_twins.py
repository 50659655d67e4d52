"""Experiments side by side have the intervals that single results have, so their coverage is that of the product."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from mayavi.portfolio.backtest.backtest import simulated_figures
from mayavi.portfolio.backtest.history import WITH_INTERVAL, historical_figures, historical_terms
from mayavi.statistics.block_means import block_distances
from mayavi.statistics.bootstrap import Bootstrap, interquartile_mean
from mayavi.statistics.estimate import Estimate
from mayavi.statistics.summary import summarise
from tools.coverage_tables.backtests import RATE, drawn_episodes, episode_pool, growth_of, simulated_bounds
from tools.coverage_tables.estimates import (
    DISTRIBUTIONS,
    STATISTICS,
    Distribution,
    samples,
    summary_bounds,
)
from tools.coverage_tables.evaluations import (
    RESAMPLES,
    interquartile_bounds,
    pooled_bounds,
    pooled_samples,
    ratio_bounds,
    ratio_samples,
)
from tools.coverage_tables.processes import CLUSTERS, INDEPENDENT

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]
COUNTS = (6, 20, 100)


def check_bounds(many: Bounds, single: list[Estimate]) -> None:
    expected = [[math.nan if each is None else each for each in (one.low, one.high)] for one in single]
    assert np.stack(many, axis=1) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda each: each.name)
def test_summaries(distribution: Distribution) -> None:
    for count in (6, 20, 100):
        drawn = np.stack(list(samples(distribution, count, 30)))
        many = summary_bounds(drawn)
        for at, sample in enumerate(drawn):
            one = summarise(sample)
            for name in STATISTICS:
                figure = getattr(one, name)
                low, high = (math.nan if each is None else each for each in (figure.low, figure.high))
                assert (many[name][0][at], many[name][1][at]) == pytest.approx((low, high), nan_ok=True), name


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda each: each.name)
def test_interquartile_means(distribution: Distribution) -> None:
    for count in COUNTS:
        drawn = np.stack(list(samples(distribution, count, 20)))
        single = [Bootstrap(at, RESAMPLES).estimate(each, interquartile_mean) for at, each in enumerate(drawn)]
        check_bounds(interquartile_bounds(drawn), single)


def test_ratios() -> None:
    for count in COUNTS:
        parts, wholes = ratio_samples(count, 30)
        single = [Bootstrap().estimate_ratio(*each) for each in zip(parts, wholes, strict=True)]
        check_bounds(ratio_bounds(parts, wholes), [each for each in single if each])
    assert single[0]
    assert single[0].complete


@pytest.mark.parametrize("trainings", [2, 5])
@pytest.mark.parametrize("interquartile", [False, True])
def test_pooled_trainings(trainings: int, interquartile: bool) -> None:
    statistic = {"statistic": interquartile_mean} if interquartile else {}
    for count in COUNTS:
        values = pooled_samples(trainings, count, 0.3, 20, skewed=not interquartile)
        single = [Bootstrap(at, RESAMPLES).estimate_pooled(each, **statistic) for at, each in enumerate(values)]
        check_bounds(pooled_bounds(values, interquartile=interquartile), single)
    assert single[0].complete


def test_simulated_backtests() -> None:
    pool, drawn = episode_pool(INDEPENDENT), drawn_episodes(INDEPENDENT, 20, 40)
    many = simulated_bounds({name: values[drawn] for name, values in pool.items()})
    for at, episodes in enumerate(drawn):
        one = simulated_figures({name: values[episodes] for name, values in pool.items()}, 48 / 8_760, Bootstrap())
        for name, figure in one.items():
            low, high = (math.nan if each is None else each for each in (figure.low, figure.high))
            assert (many[name][0][at], many[name][1][at]) == pytest.approx((low, high), nan_ok=True), name


def test_historical_backtests() -> None:
    growth = growth_of(CLUSTERS[1].noise(np.random.default_rng(5), 6, 26 * 24 + 5))
    terms, nothing = historical_terms(growth, RATE, 26), np.zeros(growth.shape[1])
    for at, each in enumerate(growth):
        figures, alone = historical_figures((each, nothing, nothing), RATE, 24)
        assert {name for name, figure in figures.items() if figure.complete} == set(WITH_INTERVAL)
        for name in terms:
            below, above = block_distances(terms[name])
            value = figures[name].value
            assert (figures[name].low, figures[name].high) == pytest.approx((value - below[at], value + above[at]))
            assert alone[name] == pytest.approx(terms[name][at])
