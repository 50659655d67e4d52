"""The figures of an evaluation are held against SciPy's, and its intervals hold what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mayavi.errors import UsageError
from mayavi.statistics.bootstrap import Bootstrap, deviation, exact_mean, improvement, interquartile_mean, mean

stats = pytest.importorskip("scipy.stats")

FLOATS = st.floats(-1e6, 1e6, allow_subnormal=False)
SAMPLES = st.integers(1, 60).flatmap(lambda size: arrays(np.float64, size, elements=FLOATS))


@given(SAMPLES)
def test_the_interquartile_mean_is_scipys_trimmed_mean(values: np.ndarray) -> None:
    assert float(interquartile_mean(values)) == pytest.approx(float(stats.trim_mean(values, 0.25)), rel=1e-9, abs=1e-6)
    twice = interquartile_mean(np.stack([values, values[::-1]]))
    assert twice.shape == (2,)
    assert twice[0] == pytest.approx(twice[1], rel=1e-9, abs=1e-6)


@given(SAMPLES)
def test_mean_and_deviation_are_numpys_and_exact_where_all_are_equal(values: np.ndarray) -> None:
    assert exact_mean(values) == pytest.approx(float(values.mean()), rel=1e-9, abs=1e-6)
    assert deviation(values) == pytest.approx(float(values.std()), rel=1e-6, abs=1e-5)
    same = np.full(32, values[0])
    assert (exact_mean(same), deviation(same)) == (values[0], 0.0)
    whole = Bootstrap(resamples=100).estimate(same)
    assert (whole.value, whole.low, whole.high) == (values[0],) * 3
    assert exact_mean(values) == exact_mean(values[::-1])


@pytest.mark.parametrize("statistic", [mean, interquartile_mean])
@pytest.mark.parametrize("size", [20, 137, 500])
def test_intervals_are_those_of_scipys_bootstrap(statistic, size: int) -> None:
    values = np.random.default_rng(size).gamma(2.0, 0.01, size)
    ours = Bootstrap(seed=3).estimate(values, statistic)
    theirs = stats.bootstrap(
        (values,),
        lambda sample, axis: statistic(np.moveaxis(sample, axis, -1)),
        n_resamples=10_000,
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(8),
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.04 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.04 * width)


@pytest.mark.parametrize("draw", ["normal", "gamma"])
def test_a_95_percent_interval_holds_the_truth_about_95_times_in_100(draw: str) -> None:
    rng = np.random.default_rng(11)
    truth = 0.0 if draw == "normal" else 2.0
    held = 0
    for trial in range(400):
        values = rng.standard_normal(100) if draw == "normal" else rng.gamma(2.0, 1.0, 100)
        interval = Bootstrap(seed=trial, resamples=500).estimate(values)
        held += interval.low <= truth <= interval.high
    assert 0.91 <= held / 400 <= 0.98


def test_twenty_episodes_are_enough_for_nearly_95_and_five_are_not() -> None:
    rng = np.random.default_rng(5)
    held = {5: 0, 20: 0}
    for size in held:
        for trial in range(400):
            interval = Bootstrap(seed=trial, resamples=500).estimate(rng.standard_normal(size))
            held[size] += interval.low <= 0 <= interval.high
    assert held[20] / 400 > 0.90
    assert held[5] / 400 < 0.88


@pytest.mark.parametrize("trainings", [5, 12])
def test_a_pooled_interval_covers_the_chance_of_training_too(trainings: int) -> None:
    rng = np.random.default_rng(2)
    held = narrow = 0
    for trial in range(200):
        seeds = rng.standard_normal(trainings)[:, None]  # each training ends somewhere else
        values = seeds + 0.1 * rng.standard_normal((trainings, 40))
        pooled = Bootstrap(seed=trial, resamples=2_000).estimate_pooled(values)
        held += pooled.low <= 0 <= pooled.high
        alone = Bootstrap(seed=trial, resamples=400).estimate(values.mean(axis=0))
        narrow += alone.low <= 0 <= alone.high
    assert held / 200 > 0.88
    assert narrow / 200 < 0.2  # episodes alone would claim far too much


def test_a_pooled_interval_of_one_training_is_that_of_its_episodes() -> None:
    rng = np.random.default_rng(2)
    one = rng.standard_normal(50)
    assert Bootstrap().estimate_pooled(np.stack([one])).low == pytest.approx(Bootstrap().estimate(one).low)


def test_the_probability_of_improvement_counts_ties_half() -> None:
    assert float(improvement(np.array([1.0, -1.0, 0.0, 2.0]))) == 0.625
    assert improvement(np.array([[1.0, 1.0], [0.0, 0.0]])).tolist() == [1.0, 0.5]


def test_a_ratio_is_that_of_means_and_nothing_where_there_is_nothing_to_share() -> None:
    rng = np.random.default_rng(4)
    wholes = rng.uniform(1, 2, 200)
    found = Bootstrap().estimate_ratio(0.6 * wholes + 0.01 * rng.standard_normal(200), wholes)
    assert found is not None
    assert found.low < 0.6 < found.high
    assert found.high - found.low < 0.01
    assert Bootstrap().estimate_ratio(np.zeros(5), np.zeros(5)) is None


def test_the_same_values_give_the_same_interval_and_the_order_of_strategies_does_not_matter() -> None:
    values = np.random.default_rng(0).standard_normal(64)
    assert Bootstrap(seed=9).estimate(values) == Bootstrap(seed=9).estimate(values)
    assert Bootstrap(seed=9).estimate(values) != Bootstrap(seed=10).estimate(values)
    # what is resampled in parts is what is resampled at once
    large = np.random.default_rng(1).standard_normal(700)
    assert Bootstrap(resamples=5_000).estimate(large).value == pytest.approx(large.mean())


def test_what_is_no_sample_is_refused() -> None:
    with pytest.raises(UsageError, match="no episode"):
        Bootstrap().estimate(np.array([]))
    with pytest.raises(UsageError, match="nan is not a valid reward"):
        Bootstrap().estimate(np.array([1.0, np.nan]))
    with pytest.raises(UsageError, match="99 resamples"):
        Bootstrap(resamples=99)
    with pytest.raises(UsageError, match=r"confidence of 1\.0"):
        Bootstrap(confidence=1.0)


def test_many_figures_at_once_get_the_intervals_they_get_one_by_one():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(5, 300)) * np.array([[1.0], [10.0], [0.1], [3.0], [1e-6]])
    bootstrap = Bootstrap(seed=3, resamples=2_000)
    resampled = bootstrap.resampled_means(values)
    assert resampled.shape == (2_000, 5)
    for at, each in enumerate(values):
        alone, together = bootstrap.estimate(each), bootstrap.interval(each.mean(), resampled[:, at])
        assert [together.low, together.high] == pytest.approx([alone.low, alone.high], rel=1e-9, abs=1e-15)


def test_trainings_pooled_from_resampled_means_have_the_same_interval():
    values = np.random.default_rng(5).normal(size=(4, 100))
    bootstrap = Bootstrap(resamples=1_000)
    mixed = (bootstrap.resampled_means(values) * bootstrap.training_weights(4)).sum(axis=1)
    together, known = bootstrap.interval(values.mean(), mixed, 4), bootstrap.estimate_pooled(values)
    assert [together.low, together.high] == pytest.approx([known.low, known.high], rel=1e-9)
