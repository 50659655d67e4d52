"""Block means: terms of blocks, and intervals that widen with the dependence that the blocks cannot rule out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.statistics.block_means import (
    ERRORS,
    MOST_ALIKE,
    block_count,
    block_distances,
    block_terms,
    estimate_over_blocks,
    neighbour_correlation,
    widening,
)
from mayavi.statistics.means import mean_distances, mean_of

Floats = NDArray[np.float64]


def autoregression(memory: float, shape: tuple[int, int], seed: int = 4) -> Floats:
    noise = np.random.default_rng(seed).normal(size=shape)
    levels = np.empty(shape)
    levels[:, 0] = noise[:, 0] / np.sqrt(1 - memory**2)
    for at in range(1, shape[1]):
        levels[:, at] = memory * levels[:, at - 1] + noise[:, at]
    return levels


def test_terms_are_the_means_of_the_blocks_less_their_mean() -> None:
    series = np.random.default_rng(2).normal(size=(3, 205))
    blocks = series[:, :200].reshape(3, 20, 10).mean(axis=2)
    assert block_terms(series, 20) == pytest.approx(blocks - blocks.mean(axis=1, keepdims=True))
    assert block_terms(series[1], 20) == pytest.approx(block_terms(series, 20)[1])


def test_a_constant_series_has_terms_of_exactly_zero_and_no_interval() -> None:
    terms = block_terms(np.full(240, 0.1), 20)
    assert not terms.any()
    found = estimate_over_blocks(3.0, terms)
    assert (found.value, found.low, found.high, found.runs_needed) == (3.0, None, None, None)


def test_blocks_are_counted_whole_and_have_a_value_at_least() -> None:
    assert [block_count(each, 24) for each in (5, 47, 48, 100)] == [1, 1, 2, 4]
    with pytest.raises(UsageError, match="blocks of 0 values"):
        block_count(10, 0)


def test_fewer_than_twenty_blocks_or_one_that_decides_have_no_interval() -> None:
    terms = autoregression(0.0, (1, 20))[0]
    assert estimate_over_blocks(0.0, terms - terms.mean()).complete
    few = estimate_over_blocks(0.0, terms[:19] - terms[:19].mean())
    assert (few.low, few.high, few.runs_needed) == (None, None, 20)
    outlier = np.where(np.arange(20) == 7, 50.0, terms)
    assert not estimate_over_blocks(0.0, outlier - outlier.mean()).complete


def test_rows_have_the_intervals_that_they_have_alone() -> None:
    rows = autoregression(0.5, (8, 52))
    below, above = block_distances(rows)
    for at, row in enumerate(rows):
        found = estimate_over_blocks(1.0, row)
        assert (found.low, found.high) == pytest.approx((1.0 - below[at], 1.0 + above[at]))


def test_the_widening_allows_for_a_correlation_beyond_the_estimated_one() -> None:
    for memory in (0.0, 0.5, 0.9):
        rows = autoregression(memory, (500, 100))
        true = ((1 + memory) / (1 - memory)) ** 0.5
        assert neighbour_correlation(rows).mean() == pytest.approx(memory, abs=0.06)
        assert (widening(rows, ERRORS) >= true).mean() > 0.93
        assert np.median(widening(rows, 0.0)) == pytest.approx(true, rel=0.15)
    opposite = np.tile([1.0, -1.0], 30)
    assert widening(opposite, ERRORS) == 1  # neighbours that differ are no reason for a shorter interval
    walk = np.cumsum(np.random.default_rng(1).normal(size=60))
    assert widening(walk, ERRORS) == pytest.approx(((1 + MOST_ALIKE) / (1 - MOST_ALIKE)) ** 0.5)


def test_long_blocks_show_a_drift_that_short_ones_hide() -> None:
    """A slow drift below the noise of a block: neighbours look independent, and the interval is still wide enough."""
    drift = 0.5 * np.sin(np.arange(200) * 2 * np.pi / 200)
    terms = np.random.default_rng(9).normal(size=200) + drift
    below, _ = block_distances(terms - terms.mean())
    short, _ = mean_distances(terms)
    assert below > 1.8 * short * widening(terms, ERRORS)


def test_many_samples_at_once_have_the_bounds_of_the_mean_of_each() -> None:
    rng = np.random.default_rng(6)
    samples = np.concatenate(
        [
            rng.normal(3, 1, (20, 30)),
            np.exp(2 * rng.normal(size=(40, 30))),
            np.where(rng.random((40, 30)) < 0.85, 0.0, 1.0),
            np.full((1, 30), 2.0),
        ]
    )
    for independent in (None, 25, 19):
        below, above = mean_distances(samples, independent=independent)
        for at, sample in enumerate(samples):
            found = mean_of(sample, independent=independent)
            assert found.complete == (not np.isnan(below[at]))
            if found.low is not None and found.high is not None:
                assert max(found.value - below[at], 0.0) == pytest.approx(found.low)
                assert found.value + above[at] == pytest.approx(found.high)
