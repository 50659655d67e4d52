"""Paired differences: the mean, and an interval that covers where one is given."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.scenarios.sensitivity.paired_difference import paired_difference
from mayavi.statistics.means import FEWEST_RUNS


def test_equal_pairs_are_no_effect() -> None:
    found = paired_difference([0.0] * 20)
    assert (found.value, found.low, found.high, found.verdict) == (0, 0, 0, "no_effect")
    assert paired_difference([0.0] * 3).verdict == "no_effect"


def test_few_pairs_have_no_interval() -> None:
    found = paired_difference([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found.value, found.low, found.high, found.verdict) == (3, None, None, "no_interval")
    assert found.pairs_needed == FEWEST_RUNS


def test_an_interval_that_includes_zero_is_no_effect_that_can_be_told() -> None:
    rng = np.random.default_rng(3)
    assert paired_difference(rng.normal(5, 1, 30).tolist()).verdict == "effect"
    assert paired_difference(rng.normal(0, 1, 30).tolist()).verdict == "not_distinguishable"


@pytest.mark.parametrize("count", [20, 60])
def test_intervals_of_normal_differences_cover(count: int) -> None:
    rng = np.random.default_rng(7)
    covered = shown = 0
    for sample in rng.normal(3.0, 2.0, size=(2_000, count)).tolist():
        found = paired_difference(sample)
        if found.low is None or found.high is None:
            continue
        shown += 1
        covered += found.low <= 3 <= found.high
    assert shown > 1_900
    assert covered / shown >= 0.95 - 2 * (0.95 * 0.05 / 2_000) ** 0.5
