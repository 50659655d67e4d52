"""Summary of many runs: estimates of known outcomes, and nothing random."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import UsageError
from mayavi.statistics.proportions import estimate_share
from mayavi.statistics.quantiles import lower_rank
from mayavi.statistics.shortfall import estimate_shortfall
from mayavi.statistics.summary import ESTIMATES, summarise, summarise_all


def test_a_summary_of_known_outcomes() -> None:
    found = summarise(range(1, 102))
    assert (found.count, found.minimum, found.maximum) == (101, 1, 101)
    assert [each.value for each in (found.mean, found.p5, found.p50, found.p95)] == [51, 6, 51, 96]
    assert found.at_risk is found.p95
    for name in ("mean", "p5", "p50", "p95", "expected_shortfall"):
        each = getattr(found, name)
        assert each.low < each.value < each.high, name
    assert list(found.to_json()) == ["count", "minimum", "maximum", *ESTIMATES]
    assert set(found.mean.to_json()) == {"value", "low", "high", "runs_needed"}


def test_expected_shortfall_is_the_mean_of_the_worst_twentieth() -> None:
    assert estimate_shortfall(range(1, 101)).value == pytest.approx(98)  # 96 to 100
    assert estimate_shortfall([0] * 19 + [10]).value == pytest.approx(10)
    assert estimate_shortfall(range(1, 31)).value == pytest.approx((30 + 0.5 * 29) / 1.5)  # one run and a half
    assert estimate_shortfall([4.0]).value == pytest.approx(4.0)


def test_few_runs_bound_the_expected_shortfall_from_below_only() -> None:
    values = np.random.default_rng(0).normal(size=99)
    found = estimate_shortfall(values)
    assert (found.high, found.runs_needed) == (None, 130)
    assert found.low == np.sort(values)[lower_rank(99, 0.95) - 1]  # type: ignore[operator]
    assert found.low < found.value  # type: ignore[operator]
    assert estimate_shortfall(np.random.default_rng(0).normal(size=200)).complete


def test_equal_outcomes_need_other_outcomes_for_an_expected_shortfall_not_one_more_run() -> None:
    assert estimate_shortfall([0.0] * 50).runs_needed == 100
    found = estimate_shortfall([0.0] * 400)
    assert (found.low, found.high, found.runs_needed) == (0.0, None, None)
    assert found.missing() == "runs with other outcomes are needed for an upper bound"


def test_one_outcome_bounds_from_below_what_95_percent_stay_below() -> None:
    found = summarise([3.5])
    assert (found.p95.low, found.p95.high, found.mean.low) == (3.5, None, None)
    assert found.p50.low is found.p50.high is None


@pytest.mark.parametrize(("successes", "count"), [(0, 20), (1, 20), (11, 20), (20, 20), (50, 1_000)])
def test_shares_have_clopper_and_pearsons_interval(successes: int, count: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    found = estimate_share(successes, count)
    known = stats.binomtest(successes, count).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-9)


def test_half_successes_are_rounded_outwards() -> None:
    assert estimate_share(2.5, 10).low == estimate_share(2, 10).low
    assert estimate_share(2.5, 10).high == estimate_share(3, 10).high
    with pytest.raises(UsageError, match="11 of 10"):
        estimate_share(11, 10)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_the_outcomes_does_not_matter(values: list[float], random) -> None:
    mixed = list(values)
    random.shuffle(mixed)
    first, second = summarise(values), summarise(mixed)
    assert first == second
    assert first.minimum <= first.p5.value <= first.p50.value <= first.p95.value <= first.maximum


def test_a_column_more_changes_no_other_and_no_generator_is_touched() -> None:
    sample = list(np.random.default_rng(9).normal(size=50))
    before = np.random.get_state()[1].tolist()  # type: ignore[index,union-attr]
    alone = summarise_all({"bad_debt": sample})
    beside = summarise_all({"liquidated": sample, "bad_debt": sample})
    assert beside["bad_debt"] == alone["bad_debt"] == beside["liquidated"]
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index,union-attr]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "nothing to summarise"),
        ([1.0, math.nan], "nan is not a finite outcome"),
        ([math.inf], "inf is not a finite outcome"),
    ],
)
def test_what_cannot_be_summarised_is_refused(values: list[float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        summarise(values)
    with pytest.raises(UsageError, match="confidence of 1"):
        summarise([1.0], confidence=1)
