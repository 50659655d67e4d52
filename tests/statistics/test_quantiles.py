"""Quantiles and their exact intervals: the ranks follow from the number of runs alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import UsageError
from mayavi.statistics.distributions import binomial_at_least
from mayavi.statistics.quantiles import (
    estimate_quantile,
    lower_rank,
    quantile,
    quantile_ranks,
    runs_needed,
    value_at_risk,
)


def test_quantiles_are_interpolated_between_the_two_nearest_outcomes() -> None:
    assert quantile([0, 10], 0.5) == 5
    assert quantile(range(101), 0.95) == 95
    assert quantile([1, 2, 3, 4], 0.95) == pytest.approx(3.85)


def test_value_at_risk_is_what_nineteen_of_twenty_runs_stay_below() -> None:
    losses = [0.0] * 95 + [100.0] * 5
    assert value_at_risk(losses) == pytest.approx(5.0)  # the 95th is 0, the 96th 100: a twentieth of the way
    assert value_at_risk([0.0] * 96 + [100.0] * 4) == 0
    assert value_at_risk([7.0]) == 7


def test_fewer_than_59_runs_have_no_upper_bound_of_p95() -> None:
    assert (runs_needed(0.95), runs_needed(0.05), runs_needed(0.5)) == (59, 59, 6)
    assert runs_needed(0.95, 0.97) == 69
    some = estimate_quantile(range(58), 0.95)
    assert (some.high, some.runs_needed) == (None, 59)
    assert some.low is not None
    enough = estimate_quantile(range(59), 0.95)
    assert (enough.high, enough.runs_needed) == (58, None)
    low = estimate_quantile(range(20), 0.05)
    assert (low.low, low.runs_needed) == (None, 59)
    assert low.interval(str) == f"at most {low.high}"
    assert low.missing() == "59 runs are needed for a lower bound"


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 0.99])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.97])
def test_no_interval_errs_more_often_than_it_says_nor_is_it_too_long(share: float, confidence: float) -> None:
    for count in (1, 2, 5, 6, 20, 58, 59, 60, 71, 72, 100, 400, 1_000):
        low, high = quantile_ranks(count, share, confidence)
        above = 0.0 if low is None else 1 - binomial_at_least(low, count, share)
        below = 0.0 if high is None else binomial_at_least(high, count, share)
        assert above + below <= 1 - confidence + 1e-11
        if low is not None and high is not None and count >= 400:
            assert below + (1 - binomial_at_least(low + 1, count, share)) > 1 - confidence  # one rank less errs more


def test_ranks_known_from_tables() -> None:
    assert quantile_ranks(59, 0.95) == (50, 59)
    assert quantile_ranks(20, 0.5) == (6, 15)
    assert quantile_ranks(6, 0.5) == (1, 6)
    assert quantile_ranks(20, 0.95) == (17, None)
    assert lower_rank(20, 0.95) == 17
    assert lower_rank(59, 0.95) == 53  # with no upper bound asked for, the lower one is closer


@given(st.lists(st.integers(0, 3), min_size=59, max_size=200))
def test_bounds_are_outcomes_around_the_value_even_among_ties(values: list[int]) -> None:
    found = estimate_quantile(values, 0.95)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high
    assert {found.low, found.high} <= set(map(float, values))


def test_shares_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="no quantile 95"):
        quantile([1.0], 95)
    with pytest.raises(UsageError, match="confidence of 1"):
        quantile_ranks(10, 0.5, 1)
    with pytest.raises(UsageError, match="interval of the quantile 1"):
        quantile_ranks(10, 1.0)
    with pytest.raises(UsageError, match="nothing to summarise"):
        quantile([], 0.5)
    with pytest.raises(UsageError, match="nan is not a finite outcome"):
        estimate_quantile([1.0, math.nan], 0.5)


def test_an_interval_of_normal_outcomes_is_about_as_wide_as_theory_says() -> None:
    found = estimate_quantile(np.random.default_rng(1).standard_normal(4_000), 0.5)
    assert found.half_width == pytest.approx(1.96 * math.sqrt(math.pi / 2 / 4_000), rel=0.15)
