"""Paired differences: the mean, and an interval that covers where one is given."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.scenarios.run.paired_difference import paired_difference, student_t_quantile


def test_equal_pairs_are_no_effect() -> None:
    found = paired_difference([0.0] * 20)
    assert (found.value, found.low, found.high, found.verdict) == (0, 0, 0, "no_effect")
    assert paired_difference([0.0] * 3).verdict == "no_effect"


def test_few_pairs_have_no_interval() -> None:
    found = paired_difference([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found.value, found.low, found.high, found.verdict) == (3, None, None, "no_interval")
    assert found.pairs_needed == 6
    assert paired_difference([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).verdict == "effect"


def test_the_interval_is_worked_out_by_hand() -> None:
    found = paired_difference([2.0, 4.0, 6.0, 8.0, 10.0, 12.0])
    reach = 2.5705818356363 * (14 / 6) ** 0.5  # variance 14 with five degrees of freedom
    assert found.value == 7
    assert (found.low, found.high) == (pytest.approx(7 - reach), pytest.approx(7 + reach))
    assert found.verdict == "effect"
    assert paired_difference([-1.0, 1.0, -2.0, 2.0, -3.0, 3.5]).verdict == "not_distinguishable"


def test_quantiles_equal_those_of_scipy() -> None:
    scipy_stats = pytest.importorskip("scipy.stats", reason="`pip install 'mayavi-sim[rl]'` installs scipy")
    for freedom in (1, 2, 3, 5, 6, 19, 20, 99, 1_000):
        for probability in (0.5, 0.9, 0.975, 0.995):
            expected = scipy_stats.t.ppf(probability, freedom)
            assert student_t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("count", [6, 20])
def test_intervals_of_normal_differences_cover(count: int) -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for sample in rng.normal(3.0, 2.0, size=(2_000, count)).tolist():
        found = paired_difference(sample)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 3 <= found.high
    assert covered / 2_000 >= 0.95 - 2 * (0.95 * 0.05 / 2_000) ** 0.5
