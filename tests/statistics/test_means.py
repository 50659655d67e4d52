"""Intervals of means: Student's t for normal figures, wider for skewed ones, none where none can be trusted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import UsageError
from mayavi.statistics.means import estimate_mean

scipy = pytest.importorskip("scipy")


def test_large_normal_samples_have_students_interval() -> None:
    sample = np.random.default_rng(1).normal(10, 2, 2_000)
    found = estimate_mean(sample)
    low, high = scipy.stats.t.interval(0.95, 1_999, sample.mean(), sample.std(ddof=1) / math.sqrt(2_000))
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.1 * (high - low))
    assert found.low <= low + 1e-9  # never shorter
    assert found.high >= high - 1e-9


def test_a_skewed_sample_has_an_interval_that_reaches_further_into_its_tail() -> None:
    sample = np.random.default_rng(2).exponential(1.0, 100)
    found, mirrored = estimate_mean(sample), estimate_mean(-sample)
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.value > 1.1 * (found.value - found.low)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_few_runs_have_no_interval_and_twenty_normal_ones_do() -> None:
    sample = np.random.default_rng(3).standard_normal(20)
    assert estimate_mean(sample).complete
    few = estimate_mean(sample[:19])
    assert (few.low, few.high, few.runs_needed) == (None, None, 20)
    assert few.missing() == "about 20 runs are needed for an interval"
    assert few.interval(str) == "–"


def test_a_figure_that_is_nearly_always_zero_says_how_many_runs_it_needs() -> None:
    rare = estimate_mean([0.0] * 98 + [5.0, 7.0])
    assert (rare.low, rare.high, rare.runs_needed) == (None, None, 250)
    five = estimate_mean([0.0] * 30 + [1.0, 2.0, 3.0, 10.0, 12.0])
    assert five.complete
    assert five.low == 0.0  # no outcome is negative, and neither is their mean


def test_equal_values_have_no_interval_and_nobody_knows_how_many_it_takes() -> None:
    same = estimate_mean([3.0] * 100)
    assert (same.value, same.low, same.high, same.runs_needed) == (3.0, None, None, None)
    assert same.missing() == "runs with other outcomes are needed for an interval"


def test_a_single_outlier_that_is_most_of_the_spread_is_too_skewed() -> None:
    values = [*np.linspace(0, 1, 99), 1e6]
    found = estimate_mean(values)
    assert found.low is None
    assert found.runs_needed == 390


def test_a_narrower_confidence_gives_a_narrower_interval() -> None:
    sample = np.random.default_rng(4).normal(size=100)
    wide, narrow = (estimate_mean(sample, each) for each in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high  # type: ignore[operator]
    with pytest.raises(UsageError, match="confidence of 0"):
        estimate_mean(sample, 0)


def test_overlapping_values_count_as_few_as_they_are() -> None:
    sample = np.random.default_rng(5).normal(size=400)
    assert estimate_mean(sample, independent=100).half_width == pytest.approx(
        2 * estimate_mean(sample).half_width,
        rel=0.03,  # type: ignore[operator]
    )
    assert estimate_mean(sample, independent=10).low is None


@given(st.lists(st.floats(-1e12, 1e12), min_size=20, max_size=60, unique=True))
def test_the_mean_lies_within_its_interval(values: list[float]) -> None:
    found = estimate_mean(values)
    if found.low is None or found.high is None:
        assert found.runs_needed is not None
        assert found.runs_needed > len(values)
    else:
        assert found.low <= found.value <= found.high
