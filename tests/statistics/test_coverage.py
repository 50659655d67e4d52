"""Every interval covers what it says, on distributions whose truth is known, small samples included.

Quantiles and probabilities must cover 95 % less the binomial error of the test, means and what is built on them 93 %
wherever an interval is shown. A bootstrap of few blocks covers a little less, as docs/concepts/intervals.md says, which
has all measured cells.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from mayavi.statistics.summary import summarise
from tools.measure_coverage import (
    COUNTS,
    DISTRIBUTIONS,
    LOGNORMAL,
    MOSTLY_ZERO,
    NORMAL,
    PAGE,
    STATISTICS,
    Coverage,
    Distribution,
    block_coverage,
    improvement_coverage,
    interquartile_coverage,
    pooled_coverage,
    ratio_coverage,
    samples,
    shown,
    stopping_coverage,
    summary_coverage,
    summary_row,
)

EXACT = ("p5", "p50", "p95", "probability_above_zero")


def at_least(share: float, cell: Coverage, errors: float = 3.0) -> bool:
    """Whether a cell covers `share` but for `errors` standard errors of the test; true if nothing was shown."""
    if not cell.number:
        return True
    return cell.covered >= share - errors * math.sqrt(share * (1 - share) / cell.number)


def check(found: dict[str, Coverage]) -> None:
    for name in STATISTICS:
        assert at_least(0.95 if name in EXACT else 0.93, found[name]), (name, found[name])


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda each: each.name)
def test_summaries_cover_in_a_quick_look(distribution: Distribution) -> None:
    for count in (6, 20, 59):
        found = summary_coverage(distribution, count, 200)
        check(found)
        assert (found["p95"].complete == 1) == (count >= 59)


@pytest.mark.slow
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda each: each.name)
def test_every_interval_of_a_summary_covers_what_it_says(distribution: Distribution, count: int) -> None:
    found = summary_coverage(distribution, count)
    check(found)
    for name in EXACT:
        assert found[name].shown == 1
    assert found["p95"].complete == (count >= 59)
    if count == 6:
        assert not found["mean"].shown
    if distribution is NORMAL and count >= 20:
        assert found["mean"].complete == 1
        assert found["mean"].covered < 0.98  # nor is it longer than needed


def test_the_usual_interval_of_a_skewed_mean_would_not_pass() -> None:
    """Student's t alone covers the mean of 20 lognormal values with 87 %: the test can tell."""
    held = 0
    for sample in samples(LOGNORMAL, 20, 2_000):
        error = 2.093 * sample.std(ddof=1) / math.sqrt(20)
        held += abs(sample.mean() - LOGNORMAL.truth["mean"]) <= error
    assert not at_least(0.93, Coverage(held / 2_000, 1, 1, 2_000))


@pytest.mark.parametrize("count", [6, 20, 59])
def test_evaluations_cover_in_a_quick_look(count: int) -> None:
    for cell in (improvement_coverage(count, 300), ratio_coverage(count, 300), pooled_coverage(5, count, 0.3, 300)):
        assert at_least(0.93, cell), cell
    assert at_least(0.93, interquartile_coverage(NORMAL, count, 200))


@pytest.mark.slow
@pytest.mark.parametrize("count", COUNTS)
def test_every_interval_of_an_evaluation_covers_what_it_says(count: int) -> None:
    assert at_least(0.95, improvement_coverage(count))
    assert at_least(0.93, ratio_coverage(count))
    number = 2_000 if count < 1_000 else 200  # resampling a thousand episodes is slow
    for distribution in DISTRIBUTIONS:
        assert at_least(0.93, interquartile_coverage(distribution, count, number)), distribution.name
    for trainings in (2, 5):
        for spread in (0.1, 1.0):
            assert at_least(0.93, pooled_coverage(trainings, count, spread)), (trainings, spread)
    assert at_least(0.93, pooled_coverage(5, count, 0.3, number, interquartile=True))


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_the_block_bootstrap_covers_the_mean_of_a_series_with_short_memory(memory: float) -> None:
    assert at_least(0.92, block_coverage(1_344, memory, 300))
    assert at_least(0.92, block_coverage(4_368, memory, 100))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["VaR ±20%", "mean(bad_debt) ±20%"])
@pytest.mark.parametrize("distribution", [LOGNORMAL, MOSTLY_ZERO], ids=lambda each: each.name)
def test_a_sweep_that_stops_at_a_target_covers_there(distribution: Distribution, target: str) -> None:
    covered, runs = stopping_coverage(distribution, target, 500)
    assert covered.number > 400
    assert at_least(0.95, covered)
    assert runs > 100


def test_the_page_has_the_measured_coverage() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert summary_row(LOGNORMAL, 20) in text
    assert summary_row(MOSTLY_ZERO, 6) in text
    assert shown(improvement_coverage(20)) in next(line for line in text.splitlines() if "of improvement" in line)
    assert Path("tools/measure_coverage.py").name in text


def test_every_estimate_of_a_summary_is_measured() -> None:
    found = summarise([1.0, 2.0]).to_json()
    assert {name for name, each in found.items() if isinstance(each, dict)} == set(STATISTICS)
