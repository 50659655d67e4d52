"""Every interval covers what it says, on distributions whose truth is known, small samples included.

Quantiles and probabilities must cover 95 % less the binomial error of the test, means and what is built on them 93 %
wherever an interval is shown. docs/concepts/intervals.md has all measured cells.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.measuring.timing import Timing
from mayavi.portfolio.backtest.history import WITHOUT_INTERVAL
from mayavi.portfolio.backtest.metrics import METRICS
from mayavi.statistics.summary import summarise
from tools.coverage_tables.backtests import (
    MEASURED,
    WITHHELD,
    historical_coverage,
    historical_row,
    simulated_coverage,
    withheld_coverage,
)
from tools.coverage_tables.cells import Coverage, shown
from tools.coverage_tables.estimates import (
    COUNTS,
    DISTRIBUTIONS,
    LOGNORMAL,
    MOSTLY_ZERO,
    NORMAL,
    STATISTICS,
    Distribution,
    samples,
    stopping_coverage,
    summary_coverage,
    summary_row,
)
from tools.coverage_tables.evaluations import (
    improvement_coverage,
    interquartile_coverage,
    pooled_coverage,
    ratio_coverage,
    windows_coverage,
)
from tools.coverage_tables.processes import (
    BEYOND,
    CLUSTERS,
    DRIFTS,
    HEAVY_TAILED,
    INDEPENDENT,
    PROCESSES,
    TRENDS,
    Process,
)

PAGE = Path("docs/concepts/intervals.md")
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


@pytest.mark.slow(1)
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


@pytest.mark.slow(2)
@pytest.mark.parametrize("count", COUNTS)
def test_every_interval_of_an_evaluation_covers_what_it_says(count: int) -> None:
    assert at_least(0.95, improvement_coverage(count))
    assert at_least(0.93, ratio_coverage(count))
    number = 1_000 if count < 1_000 else 100  # resampling is slow; the page has half as many
    for distribution in DISTRIBUTIONS:
        assert at_least(0.93, interquartile_coverage(distribution, count, number)), distribution.name
    for trainings in (2, 5):
        for spread in (0.1, 1.0):
            assert at_least(0.93, pooled_coverage(trainings, count, spread)), (trainings, spread)
    assert at_least(0.93, pooled_coverage(5, count, 0.3, number, interquartile=True))


@pytest.mark.parametrize("overlap", [2, 8])
def test_evaluations_on_overlapping_windows_of_one_history_cover(overlap: int) -> None:
    assert at_least(0.93, windows_coverage(20, overlap, 1_000))
    assert at_least(0.93, windows_coverage(59, overlap, 1_000))


@pytest.mark.parametrize("rounds", [6, 11])
def test_medians_of_benchmark_rounds_cover(rounds: int) -> None:
    found = [Timing(tuple(sample)).median_interval for sample in samples(LOGNORMAL, rounds, 2_000)]
    held = sum(each is not None and each[0] <= LOGNORMAL.truth["p50"] <= each[1] for each in found)
    assert at_least(0.95, Coverage(held / 2_000, 1, 1, 2_000))


def check_backtest(found: dict[str, Coverage], names: tuple[str, ...]) -> None:
    assert tuple(found) == names
    for name, cell in found.items():
        assert cell.complete > 0.8, (name, cell)
        assert at_least(0.93, cell), (name, cell)


@pytest.mark.slow(0.5)
def test_simulated_backtests_cover_in_a_quick_look() -> None:
    check_backtest(simulated_coverage(INDEPENDENT, 20, 2_000), tuple(METRICS))


@pytest.mark.slow(2)
@pytest.mark.parametrize("episodes", [20, 59, 100, 1_000])
@pytest.mark.parametrize("process", [INDEPENDENT, HEAVY_TAILED], ids=lambda each: each.name)
def test_every_interval_of_a_simulated_backtest_covers_what_it_says(process: Process, episodes: int) -> None:
    check_backtest(simulated_coverage(process, episodes, 2_000), tuple(METRICS))


@pytest.mark.slow(0.5)
def test_a_few_episodes_or_blocks_have_no_interval() -> None:
    for cell in (simulated_coverage(INDEPENDENT, 19, 50), historical_coverage(INDEPENDENT, 19, 50)):
        assert not any(each.shown for each in cell.values())


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("process", [INDEPENDENT, TRENDS[2], CLUSTERS[2], DRIFTS[1]], ids=lambda each: each.name)
def test_historical_backtests_cover_however_long_the_memory_is(process: Process) -> None:
    """Half-lives of 20 blocks in histories of 20 blocks: no interval but covers, and most are shown."""
    check_backtest(historical_coverage(process, 20, 2_000), MEASURED)


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("blocks", [20, 52])
@pytest.mark.parametrize("process", [*PROCESSES, *BEYOND], ids=lambda each: each.name)
def test_every_interval_of_a_historical_backtest_covers_what_it_says(process: Process, blocks: int) -> None:
    check_backtest(historical_coverage(process, blocks, 2_000), MEASURED)


@pytest.mark.slow(0.5)
def test_without_an_allowance_for_blocks_that_are_alike_they_would_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that are taken for independent, or only for as alike as they seem: the test can tell."""
    plain = "mayavi.statistics.block_means.{}"
    monkeypatch.setattr(plain.format("ERRORS"), 0.0)
    monkeypatch.setattr(plain.format("FEWEST_LONG_BLOCKS"), 1_000)
    assert not at_least(0.93, historical_coverage.__wrapped__(TRENDS[2], 20, 2_000)["log_growth"])
    monkeypatch.setattr(plain.format("neighbour_correlation"), lambda terms: np.full(terms.shape[:-1], -1.0))
    assert not at_least(0.93, historical_coverage.__wrapped__(TRENDS[0], 20, 2_000)["log_growth"])


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("name", WITHHELD)
def test_intervals_of_risk_are_withheld_because_they_would_not_cover(name: str) -> None:
    assert name in WITHOUT_INTERVAL
    assert not at_least(0.93, withheld_coverage(CLUSTERS[2], 52, 2_000)[name])
    assert at_least(0.93, withheld_coverage(INDEPENDENT, 52, 2_000)[name])


@pytest.mark.slow(2)
@pytest.mark.parametrize("target", ["VaR ±20%", "mean(bad_debt) ±20%"])
@pytest.mark.parametrize("distribution", [LOGNORMAL, MOSTLY_ZERO], ids=lambda each: each.name)
def test_a_sweep_that_stops_at_a_target_covers_there(distribution: Distribution, target: str) -> None:
    covered, runs = stopping_coverage(distribution, target, 500)
    assert covered.number > 400
    assert at_least(0.95, covered)
    assert runs > 100


@pytest.mark.slow(1)
def test_the_page_has_the_measured_coverage() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert summary_row(LOGNORMAL, 20) in text
    assert summary_row(MOSTLY_ZERO, 6) in text
    assert shown(improvement_coverage(20)) in next(line for line in text.splitlines() if "of improvement" in line)
    assert shown(simulated_coverage(HEAVY_TAILED, 20, 2_000)["calmar"]) in next(
        line for line in text.splitlines() if line.startswith("| `calmar` |")
    )
    assert Path("tools/measure_coverage.py").name in text


@pytest.mark.slow
def test_the_page_has_the_measured_coverage_of_historical_backtests() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for process in (INDEPENDENT, TRENDS[2], CLUSTERS[2]):
        assert historical_row(process, 20) in text


def test_every_estimate_of_a_summary_is_measured() -> None:
    found = summarise([1.0, 2.0]).to_json()
    assert {name for name, each in found.items() if isinstance(each, dict)} == set(STATISTICS)
