"""Block jackknife: each block is left out once, terms add up, and dependence within blocks widens the interval."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.statistics.block_jackknife import (
    block_count,
    block_terms,
    estimate_over_blocks,
    exceedance_interval,
    left_out,
    neighbour_correlation,
)
from mayavi.statistics.bootstrap import Bootstrap

Floats = NDArray[np.float64]


def sums(rows: Floats) -> dict[str, Floats]:
    return {"mean": rows.mean(axis=1), "sum": rows.sum(axis=1), "deviation": rows.std(axis=1)}


def test_each_block_is_left_out_once_and_the_rest_stays_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mayavi.statistics.block_jackknife._VALUES_AT_ONCE", 300)
    batches = list(left_out(103, 10))
    assert len(batches) == 5
    kept = np.concatenate(batches)
    assert kept.shape == (10, 93)
    for at, row in enumerate(kept):
        assert row.tolist() == [each for each in range(103) if not at * 10 <= each < at * 10 + 10]


def test_terms_of_a_mean_are_the_means_of_the_blocks() -> None:
    series = np.random.default_rng(2).normal(size=205)
    terms = block_terms((series,), sums, 20, frozenset({"sum"}))
    blocks = series[:200].reshape(20, 10).mean(axis=1)
    assert terms["mean"] == pytest.approx(blocks - series.mean())
    assert terms["sum"] == pytest.approx(205 * (blocks - series.mean()))


def test_a_constant_series_has_terms_of_exactly_zero() -> None:
    terms = block_terms((np.full(240, 0.1),), sums, 20, frozenset({"sum"}))
    assert not terms["mean"].any()
    assert not terms["sum"].any()
    assert not block_terms((np.arange(5.0),), sums, 1)["mean"].any()


def test_blocks_show_the_error_of_dependent_hours_and_single_hours_do_not() -> None:
    rng = np.random.default_rng(8)
    noise, level = rng.normal(size=6_000), np.zeros(6_000)
    for hour in range(1, 6_000):
        level[hour] = 0.95 * level[hour - 1] + noise[hour]
    error = {
        block: block_terms((level,), sums, 6_000 // block)["mean"].std(ddof=1) / np.sqrt(6_000 // block)
        for block in (1, 150)
    }
    true = 1 / (1 - 0.95) / np.sqrt(6_000)  # of the mean of an autoregression
    assert error[1] < 0.4 * true
    assert 0.7 * true < error[150] < 1.3 * true


def test_the_interval_of_an_exceeded_value_ends_at_values_of_the_series() -> None:
    series = np.random.default_rng(3).normal(size=1_000)
    found = exceedance_interval(series, 0.05, 25, Bootstrap())
    assert found.value == np.sort(series)[-50]
    assert found.low is not None
    assert found.high is not None
    assert {found.low, found.high} <= set(series.tolist())
    assert 1.2 < found.low < found.value < found.high < 2.3
    few = exceedance_interval(series, 0.05, 19, Bootstrap())
    assert (few.low, few.high, few.runs_needed) == (None, None, 20)


def test_blocks_are_counted_whole_and_have_a_value_at_least() -> None:
    assert [block_count(each, 24) for each in (5, 47, 48, 100)] == [1, 1, 2, 4]
    with pytest.raises(UsageError, match="blocks of 0 values"):
        block_count(10, 0)


def test_neighbours_that_are_alike_widen_the_interval_and_too_much_alike_leave_none() -> None:
    rng = np.random.default_rng(4)

    def blocks(memory: float) -> Floats:
        noise, terms = rng.normal(size=400), np.zeros(400)
        for at in range(1, 400):
            terms[at] = memory * terms[at - 1] + noise[at]
        return terms - terms.mean()

    for memory, wider in ((0.0, 1.0), (0.25, (1.25 / 0.75) ** 0.5)):
        terms = blocks(memory)
        plain, found = Bootstrap().linearised(3.0, terms), estimate_over_blocks(3.0, terms, Bootstrap())
        assert neighbour_correlation(terms) == pytest.approx(memory, abs=0.1)
        assert found.half_width is not None
        assert plain.half_width is not None
        assert found.half_width / plain.half_width == pytest.approx(wider, rel=0.12)
    assert not estimate_over_blocks(3.0, blocks(0.7), Bootstrap()).complete
    opposite = np.tile([1.0, -1.0], 30) * rng.uniform(1, 2, 60)
    assert estimate_over_blocks(0.0, opposite, Bootstrap()) == Bootstrap().linearised(0.0, opposite)
