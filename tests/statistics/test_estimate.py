"""Means, quantiles and intervals of many runs, against what theory says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import UsageError
from mayavi.statistics.estimate import quantile, summarise, summarise_all, value_at_risk


def test_quantiles_are_interpolated_between_the_two_nearest_outcomes() -> None:
    assert quantile([0, 10], 0.5) == 5
    assert quantile(range(101), 0.95) == 95
    assert quantile([1, 2, 3, 4], 0.95) == pytest.approx(3.85)


def test_value_at_risk_is_what_nineteen_of_twenty_runs_stay_below() -> None:
    losses = [0.0] * 95 + [100.0] * 5
    assert value_at_risk(losses) == pytest.approx(5.0)  # the 95th is 0, the 96th 100: a twentieth of the way
    assert value_at_risk([0.0] * 96 + [100.0] * 4) == 0
    assert value_at_risk([7.0]) == 7


def test_a_summary_of_known_outcomes() -> None:
    found = summarise(range(1, 102), np.random.default_rng(0))
    assert (found.count, found.minimum, found.maximum) == (101, 1, 101)
    assert [each.value for each in (found.mean, found.p5, found.p50, found.p95)] == [51, 6, 51, 96]
    assert found.at_risk is found.p95
    for each in (found.mean, found.p5, found.p50, found.p95):
        assert each.low < each.value < each.high


def test_the_interval_of_a_mean_is_as_wide_as_theory_says() -> None:
    sample = np.random.default_rng(1).normal(10, 2, 2_000)
    found = summarise(sample, np.random.default_rng(2), resamples=4_000).mean
    theory = 1.96 * sample.std() / math.sqrt(len(sample))
    assert found.value - found.low == pytest.approx(theory, rel=0.1)
    assert found.high - found.value == pytest.approx(theory, rel=0.1)


@pytest.mark.parametrize("name", ["mean", "p50", "p95"])
def test_the_interval_holds_the_truth_as_often_as_it_claims(name: str) -> None:
    truths = {"mean": 1.0, "p50": math.log(2), "p95": -math.log(0.05)}
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        estimate = getattr(summarise(rng.exponential(1.0, 200), rng, resamples=300), name)
        held += estimate.low <= truths[name] <= estimate.high
    assert 0.87 <= held / 200 <= 0.99  # 95 % but for a percentile bootstrap's known shortness and the luck of 200


def test_a_narrower_confidence_gives_a_narrower_interval() -> None:
    sample = np.random.default_rng(4).normal(size=100)
    wide, narrow = (summarise(sample, np.random.default_rng(5), confidence=each).mean for each in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_one_outcome_is_its_own_interval() -> None:
    found = summarise([3.5], np.random.default_rng(0))
    assert {found.minimum, found.maximum, found.mean.low, found.mean.high, found.p95.low, found.p95.high} == {3.5}


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_the_outcomes_does_not_matter(values: list[float], random) -> None:
    mixed = list(values)
    random.shuffle(mixed)
    first, second = (summarise(each, np.random.default_rng(6), resamples=20) for each in (values, mixed))
    assert first == second
    assert first.minimum <= first.p5.value <= first.p50.value <= first.p95.value <= first.maximum


def test_the_number_of_draws_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = np.random.default_rng(7).normal(size=50)
    whole = summarise(sample, np.random.default_rng(8), resamples=100)
    monkeypatch.setattr("mayavi.statistics.estimate._DRAWS_AT_ONCE", 170)
    assert summarise(sample, np.random.default_rng(8), resamples=100) == whole


def test_a_column_more_changes_no_other() -> None:
    sample = list(np.random.default_rng(9).normal(size=50))
    alone = summarise_all({"bad_debt": sample}, 1)
    beside = summarise_all({"liquidated": sample, "bad_debt": sample}, 1)
    assert beside["bad_debt"] == alone["bad_debt"]
    assert beside["liquidated"].mean.low != alone["bad_debt"].mean.low
    assert summarise_all({"bad_debt": sample}, 2)["bad_debt"].mean.low != alone["bad_debt"].mean.low


def test_nothing_touches_the_global_generator() -> None:
    before = np.random.get_state()[1].tolist()  # type: ignore[index,union-attr]
    summarise([1, 2, 3], np.random.default_rng(0))
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index,union-attr]


@pytest.mark.parametrize(
    ("values", "words"),
    [([], "nothing to summarise"), ([1.0, math.nan], "nan is no outcome"), ([math.inf], "inf is no outcome")],
)
def test_what_cannot_be_summarised_is_refused(values: list[float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        summarise(values, np.random.default_rng(0))


def test_shares_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="no quantile 95"):
        quantile([1.0], 95)
    with pytest.raises(UsageError, match="confidence of 1"):
        summarise([1.0], np.random.default_rng(0), confidence=1)
    with pytest.raises(UsageError, match="0 resamples"):
        summarise([1.0], np.random.default_rng(0), resamples=0)
