"""The figures of an evaluation are held against SciPy's, and its intervals hold what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mayavi.errors import UsageError
from mayavi.statistics.bootstrap import (
    Bootstrap,
    deviation,
    expanded_tail,
    improvement,
    interquartile_mean,
)
from mayavi.statistics.means import estimate_mean, exact_mean
from mayavi.statistics.proportions import estimate_share

scipy = pytest.importorskip("scipy")

FLOATS = st.floats(-1e6, 1e6, allow_subnormal=False)
SAMPLES = st.integers(1, 60).flatmap(lambda size: arrays(np.float64, size, elements=FLOATS))


@pytest.mark.slow(1)
@given(SAMPLES)
def test_the_interquartile_mean_is_scipys_trimmed_mean(values: np.ndarray) -> None:
    assert float(interquartile_mean(values)) == pytest.approx(
        float(scipy.stats.trim_mean(values, 0.25)), rel=1e-9, abs=1e-6
    )
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
    assert (whole.value, whole.low, whole.high) == (values[0], None, None)
    assert exact_mean(values) == exact_mean(values[::-1])


@pytest.mark.parametrize("size", [20, 137, 500])
def test_the_interval_of_an_interquartile_mean_is_scipys_bootstrap_widened_after_student(size: int) -> None:
    values = np.random.default_rng(size).gamma(2.0, 0.01, size)
    ours = Bootstrap(seed=3).estimate(values, interquartile_mean)
    theirs = scipy.stats.bootstrap(
        (values,),
        lambda sample, axis: interquartile_mean(np.moveaxis(sample, axis, -1)),
        n_resamples=10_000,
        confidence_level=1 - 2 * expanded_tail(0.025, size),
        method="percentile",
        rng=np.random.default_rng(8),
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.05 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.05 * width)


def test_tails_widen_as_scipys_normal_and_student_distributions_say() -> None:
    known = scipy.stats.norm.cdf(-np.sqrt(20 / 19) * scipy.stats.t.ppf(0.975, 19))
    assert expanded_tail(0.025, 20) == pytest.approx(known, rel=1e-9)
    assert expanded_tail(0.025, 100_000) == pytest.approx(0.025, rel=1e-3)


def test_means_and_probabilities_have_the_closed_intervals() -> None:
    values = np.random.default_rng(1).gamma(2.0, 1.0, 80) - 1.5
    assert Bootstrap().estimate(values) == estimate_mean(values)
    wins = int((values > 0).sum())
    share, known = Bootstrap().estimate(values, improvement), estimate_share(wins, 80)
    assert (share.value, share.low, share.high) == (known.value, known.low, known.high)


def test_few_episodes_have_no_interval() -> None:
    values = np.random.default_rng(1).standard_normal(19)
    assert Bootstrap().estimate(values).low is None
    assert Bootstrap().estimate(values, interquartile_mean).complete
    assert Bootstrap().estimate(values[:5], interquartile_mean).low is None
    equal = Bootstrap().estimate(np.zeros(100), interquartile_mean)
    assert (equal.value, equal.low, equal.runs_needed) == (0.0, None, None)


@pytest.mark.parametrize("trainings", [5, 12])
def test_a_pooled_interval_covers_the_chance_of_training_too(trainings: int) -> None:
    rng = np.random.default_rng(2)
    held = narrow = 0
    for _ in range(200):
        seeds = rng.standard_normal(trainings)[:, None]  # each training ends somewhere else
        values = seeds + 0.1 * rng.standard_normal((trainings, 40))
        held += Bootstrap().estimate_pooled(values).covers(0)
        narrow += Bootstrap().estimate(values.mean(axis=0)).covers(0)
    assert held / 200 > 0.91
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
    one, two, other = (Bootstrap(seed=seed).estimate(values, interquartile_mean) for seed in (9, 9, 10))
    assert one == two
    assert one != other
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
