"""Weights by rules: what a solver finds, the closed forms find too, and keep to the bounds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mayavi.errors import BadArgument
from mayavi.portfolio.allocation import (
    HOURS_A_YEAR,
    covariance,
    minimum_variance,
    momentum,
    risk_parity,
    volatility_target,
)

LOW, HIGH = 0.05, 0.60


def past_of(rows: int, hours: int = 168, seed: int = 1) -> np.ndarray:
    """Growth of a dollar asset, and of two that move together by an amount that differs from row to row."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((rows, hours, 3))
    noise[:, :, 2] += rng.uniform(-1, 3, (rows, 1)) * noise[:, :, 1]
    return 1 + noise * rng.uniform(0.2, 2, (rows, 1, 3)) * np.array([0.002, 0.008, 0.004])


def covariances(rows: int, seed: int = 2, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> np.ndarray:
    factors = np.random.default_rng(seed).normal(size=(rows, 3, 5)) * np.array(scale)[:, None]
    return factors @ factors.transpose(0, 2, 1)


def variances(weights: np.ndarray, cov: np.ndarray) -> np.ndarray:
    return np.einsum("ri,rij,rj->r", weights, cov, weights)


def feasible(weights: np.ndarray, low: float = LOW, high: float = HIGH) -> bool:
    within = (weights >= low - 1e-15).all() and (weights <= high + 1e-15).all()
    return bool(within and np.abs(weights.sum(axis=1) - 1).max() < 1e-14)


def test_the_covariance_is_that_of_the_returns():
    past = past_of(300)
    for row, found in enumerate(covariance(past)):
        assert found == pytest.approx(np.cov(past[row].T - 1), rel=1e-9, abs=1e-18)


@pytest.mark.slow
def test_minimum_variance_and_risk_parity_are_what_skfolio_finds():
    import skfolio  # of the extra dev-rl, which every run of the tests installs: without it nothing is proven
    from skfolio.optimization import MeanRisk, ObjectiveFunction, RiskBudgeting

    past = past_of(12, hours=120)
    cov = covariance(past)
    free, bounded, parity = minimum_variance(cov, 0.0, 1.0), minimum_variance(cov, LOW, HIGH), risk_parity(cov)
    precise = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    for row in range(len(past)):
        returns = (past[row] - 1) * 100  # a solver's tolerances are absolute, and weights do not depend on scale
        for found, low, high in ((free, 0.0, 1.0), (bounded, LOW, HIGH)):
            least = MeanRisk(
                objective_function=ObjectiveFunction.MINIMIZE_RISK,
                risk_measure=skfolio.RiskMeasure.VARIANCE,
                min_weights=low,
                max_weights=high,
                solver="CLARABEL",
                solver_params=precise,
            )
            assert found[row] == pytest.approx(fitted(least, returns), abs=1e-5)
        equal = RiskBudgeting(risk_measure=skfolio.RiskMeasure.VARIANCE, solver="CLARABEL", solver_params=precise)
        assert parity[row] == pytest.approx(fitted(equal, returns), abs=1e-5)


def fitted(estimator: object, returns: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a solver thinks of its own accuracy
        return np.asarray(estimator.fit(returns).weights_)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("low", "high"), [(LOW, HIGH), (0.0, 1.0), (0.2, 0.5), (1 / 3, 1 / 3), (0.0, 0.5)])
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (0.01, 1.0, 2.0), (1.0, 1e-3, 1.0)])
def test_no_exchange_of_two_weights_lowers_the_least_variance(low: float, high: float, scale: tuple[float, ...]):
    """The Karush–Kuhn–Tucker conditions: enough for a convex problem, and no solver is asked."""
    cov = covariances(3_000, scale=scale)
    weights = minimum_variance(cov, low, high)
    assert feasible(weights, low, high)
    slope = np.einsum("rij,rj->ri", cov, weights)
    size = np.abs(cov).max(axis=(1, 2))
    for more in range(3):
        for less in {0, 1, 2} - {more}:
            possible = (weights[:, more] < high - 1e-12) & (weights[:, less] > low + 1e-12)
            gain = (slope[:, less] - slope[:, more]) / size
            assert (gain[possible] < 1e-9).all()


def test_assets_that_are_one_and_the_same_still_have_a_least_variance():
    same = np.ones((1, 3, 3))
    assert feasible(minimum_variance(same, LOW, HIGH))
    nothing = np.zeros((1, 3, 3))
    assert feasible(minimum_variance(nothing, LOW, HIGH))
    twins = np.array([[[1.0, 1.0, 0.1], [1.0, 1.0, 0.1], [0.1, 0.1, 1.0]]])
    found = minimum_variance(twins, LOW, HIGH)
    assert feasible(found)
    assert found[0, 2] == pytest.approx(0.5)


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (0.01, 1.0, 2.0), (1e-5, 1.0, 1.0)])
def test_in_risk_parity_each_asset_contributes_a_third(scale: tuple[float, ...]):
    cov = covariances(3_000, scale=scale)
    weights = risk_parity(cov)
    assert (weights > 0).all()
    contributions = weights * np.einsum("rij,rj->ri", cov, weights)
    shares = contributions / contributions.sum(axis=1, keepdims=True)
    assert np.abs(shares - 1 / 3).max() < 1e-10


def test_risk_parity_without_correlation_is_inverse_volatility():
    cov = np.array([np.diag([0.01, 0.04, 0.16])])
    assert risk_parity(cov)[0] == pytest.approx(np.array([4, 2, 1]) / 7, abs=1e-15)


def test_risk_parity_within_bounds_is_the_nearest_that_keeps_them():
    weights = risk_parity(covariances(500, scale=(1e-3, 1.0, 1.0)), LOW, HIGH)
    assert feasible(weights)
    assert (weights[:, 0] == HIGH).all()


def test_an_asset_that_never_moves_gets_all_the_risk_budget():
    cov = np.zeros((2, 3, 3))
    cov[0, 1, 1] = cov[0, 2, 2] = 1.0
    found = risk_parity(cov)
    assert found[0] == pytest.approx([1, 0, 0], abs=1e-8)
    assert found[1] == pytest.approx([1 / 3] * 3)


def test_momentum_holds_most_of_what_grew_most():
    past = np.ones((3, 10, 3))
    past[0, 3] = [1.01, 0.99, 1.02]
    past[1, 5] = [1.0, 1.0, 1.1]
    found = momentum(past, LOW, HIGH)
    assert feasible(found)
    assert found[0] == pytest.approx([0.35, 0.05, 0.60])
    assert found[1] == pytest.approx([0.20, 0.20, 0.60])  # two that grew the same share the two lower ranks
    assert found[2] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("target", [0.05, 0.2, 0.4, 0.8])
def test_volatility_is_at_its_target_or_the_weights_at_their_bounds(target: float):
    cov = covariance(past_of(2_000))
    weights = volatility_target(cov, LOW, HIGH, target)
    assert feasible(weights)
    assert weights[:, 1] == pytest.approx(weights[:, 2])
    yearly = np.sqrt(variances(weights, cov) * HOURS_A_YEAR)
    above, below = yearly > target + 1e-12, yearly < target - 1e-12
    assert (~above & ~below).any()
    assert (weights[below, 0] <= LOW + 1e-12).all()
    for safe in np.linspace(LOW, HIGH, 23):  # a target that is not kept is one that no mix keeps
        mix = np.tile([safe, (1 - safe) / 2, (1 - safe) / 2], (len(cov), 1))
        assert (variances(mix, cov)[above] >= variances(weights, cov)[above] * (1 - 1e-12)).all()


def test_a_volatility_no_mix_exceeds_is_no_limit():
    weights = volatility_target(np.zeros((1, 3, 3)), LOW, HIGH, 0.2)
    assert weights[0] == pytest.approx([0.05, 0.475, 0.475])


@pytest.mark.parametrize("rows", [1, 2, 7, 129])
def test_a_portfolio_depends_on_itself_alone(rows: int):
    past = past_of(300)
    cov = covariance(past)
    assert (covariance(past[:rows]) == cov[:rows]).all()
    for rule in (minimum_variance, risk_parity, volatility_target):
        assert (rule(cov[:rows], LOW, HIGH) == rule(cov, LOW, HIGH)[:rows]).all()
    assert (momentum(past[:rows], LOW, HIGH) == momentum(past, LOW, HIGH)[:rows]).all()


def test_what_is_no_covariance_is_refused():
    with pytest.raises(BadArgument, match="shape"):
        minimum_variance(np.eye(3), LOW, HIGH)
    with pytest.raises(BadArgument, match="finite"):
        risk_parity(np.full((1, 3, 3), np.nan))
    with pytest.raises(BadArgument, match="shape"):
        covariance(np.ones((4, 1, 3)))
    with pytest.raises(BadArgument, match="shape"):
        momentum(np.ones((4, 3)), LOW, HIGH)
    with pytest.raises(BadArgument, match="volatility"):
        volatility_target(np.zeros((1, 3, 3)), LOW, HIGH, float("nan"))
    with pytest.raises(BadArgument, match="sum to one"):
        minimum_variance(np.zeros((1, 3, 3)), 0.5, 0.6)
