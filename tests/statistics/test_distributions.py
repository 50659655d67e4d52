"""Distributions from the incomplete beta function, against SciPy's."""

from __future__ import annotations

import pytest

from mayavi.statistics.distributions import beta_quantile, binomial_at_least, incomplete_beta, student_t_quantile

scipy = pytest.importorskip("scipy")


@pytest.mark.parametrize("a", [0.5, 1, 3, 60, 950, 99_000])
@pytest.mark.parametrize("b", [0.5, 1, 4, 51, 1_001])
def test_the_incomplete_beta_function(a: float, b: float) -> None:
    for x in (1e-9, 0.01, 0.3, 0.5, 0.95, 0.99, 1 - 1e-9):
        assert incomplete_beta(a, b, x) == pytest.approx(float(scipy.stats.beta.cdf(x, a, b)), rel=1e-9, abs=1e-12)
    assert (incomplete_beta(a, b, 0.0), incomplete_beta(a, b, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize(("trials", "share"), [(1, 0.95), (6, 0.5), (59, 0.95), (1_000, 0.05), (100_000, 0.95)])
def test_binomial_tails(trials: int, share: float) -> None:
    for successes in {0, 1, trials // 2, round(trials * share), trials, trials + 1}:
        known = float(scipy.stats.binom.sf(successes - 1, trials, share))
        assert binomial_at_least(successes, trials, share) == pytest.approx(known, rel=1e-8, abs=1e-12)


def test_the_largest_of_59_runs_exceeds_p95_with_a_little_more_than_95_percent() -> None:
    assert binomial_at_least(59, 59, 0.95) == pytest.approx(0.95**59)
    assert 0.95**59 < 0.05 < 0.95**58


@pytest.mark.parametrize("degrees", [1, 2.5, 9, 19, 58, 999, 1e6])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.975, 0.9999])
def test_student_quantiles(probability: float, degrees: float) -> None:
    known = float(scipy.stats.t.ppf(probability, degrees))
    assert student_t_quantile(probability, degrees) == pytest.approx(known, rel=1e-8, abs=1e-7)


@pytest.mark.parametrize(("a", "b"), [(1, 20), (3, 18), (60, 1), (950, 51)])
def test_beta_quantiles(a: int, b: int) -> None:
    for probability in (0.025, 0.5, 0.975):
        assert beta_quantile(probability, a, b) == pytest.approx(
            float(scipy.stats.beta.ppf(probability, a, b)), rel=1e-9
        )
