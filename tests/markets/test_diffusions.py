"""Continuous-time processes match theory. Bounds are four standard errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mayavi.errors import BadArgument
from mayavi.markets import GeometricBrownianMotion, JumpDiffusion, OrnsteinUhlenbeck, stream
from mayavi.markets.diffusions import peg_paths, walk_paths
from mayavi.markets.process import SECONDS_PER_YEAR

HOUR = 3600.0
YEARS = HOUR / SECONDS_PER_YEAR
N = 200_000


def log_returns(process, seed: int, steps: int = N, step_seconds: float = HOUR, start: float = 2000.0):
    return np.diff(np.log(process.path(start, steps, step_seconds, stream(seed, "test"))))


def final_prices(process, paths: int, steps: int, step_seconds: float, start: float):
    rng = stream(11, "many")
    return np.array([process.path(start, steps, step_seconds, rng)[-1] for _ in range(paths)])


def distance_from_normal(values) -> float:
    """Kolmogorov distance times √n: above 1.95 once in a thousand for standard normals."""
    ordered = np.sort(values)
    n = len(ordered)
    expected = np.array([(1 + math.erf(value / math.sqrt(2))) / 2 for value in ordered])
    above, below = np.arange(1, n + 1) / n - expected, expected - np.arange(n) / n
    return float(max(above.max(), below.max()) * math.sqrt(n))


@pytest.mark.parametrize("paths", [1, 50])
def test_paths_worked_out_at_once_are_those_of_the_processes_to_the_last_bit(paths: int) -> None:
    rng = stream(5, "at once")
    starts, volatilities = rng.uniform(0.5, 4000, paths), rng.uniform(0, 1.5, paths)
    reversions = np.where(rng.random(paths) < 0.2, 0.0, rng.uniform(0, 5000, paths))
    shocks = rng.standard_normal((paths, 24))
    walks = walk_paths(starts, volatilities, shocks, HOUR)
    pegs = peg_paths(starts, reversions, volatilities, shocks, HOUR)
    for path in range(paths):
        start, volatility, reversion = (float(each[path]) for each in (starts, volatilities, reversions))
        alone = GeometricBrownianMotion(volatility).driven(start, shocks[path], HOUR, rng)
        assert walks[path].tolist() == alone.tolist()
        alone = OrnsteinUhlenbeck(reversion, volatility, None).driven(start, shocks[path], HOUR, rng)
        assert pegs[path].tolist() == alone.tolist()


# -- geometric Brownian motion ----------------------------------------------------------------------------------------


def test_returns_of_brownian_motion_are_normal_with_its_drift_and_volatility() -> None:
    volatility, drift = 0.8, 0.5
    returns = log_returns(GeometricBrownianMotion(volatility, drift), seed=1)
    deviation = volatility * math.sqrt(YEARS)
    mean = (drift - volatility**2 / 2) * YEARS
    assert returns.mean() == pytest.approx(mean, abs=4 * deviation / math.sqrt(N))
    assert returns.var() == pytest.approx(deviation**2, rel=4 * math.sqrt(2 / N))
    assert distance_from_normal((returns[:20_000] - mean) / deviation) < 1.95


def test_returns_of_brownian_motion_know_nothing_of_each_other() -> None:
    returns = log_returns(GeometricBrownianMotion(0.8), seed=2)
    for lag in (1, 2, 24):
        assert np.corrcoef(returns[:-lag], returns[lag:])[0, 1] == pytest.approx(0, abs=4 / math.sqrt(N))


@pytest.mark.slow(0.3)
def test_the_expected_price_grows_with_the_drift_alone() -> None:
    """Without the half variance it would be exp(0.32) = 1.38 times as much."""
    count, quarter = 20_000, SECONDS_PER_YEAR / 4
    final = final_prices(GeometricBrownianMotion(0.8, drift=0.5), count, 1, quarter, start=2000.0)
    spread = math.sqrt(math.exp(0.8**2 / 4) - 1)
    assert final.mean() / 2000 == pytest.approx(math.exp(0.5 / 4), rel=4 * spread / math.sqrt(count))


@pytest.mark.slow(0.4)
def test_the_length_of_a_step_changes_no_distribution() -> None:
    count = 2_000
    for process in (
        GeometricBrownianMotion(0.8, 0.3),
        OrnsteinUhlenbeck(mean_reversion=40.0, volatility=0.4, mean=1900.0),
        JumpDiffusion(0.5, 60.0, -0.05, 0.04),
    ):
        coarse = np.log(final_prices(process, count, 1, 24 * HOUR, 2000.0))
        fine = np.log(final_prices(process, count, 24, HOUR, 2000.0))
        error = math.sqrt((coarse.var() + fine.var()) / count)
        assert coarse.mean() == pytest.approx(fine.mean(), abs=4 * error)
        excess = max(float(np.mean((x - x.mean()) ** 4) / x.var() ** 2) - 1 for x in (coarse, fine))
        assert coarse.var() == pytest.approx(fine.var(), rel=4 * math.sqrt(2 * excess / count))


def test_without_volatility_there_is_only_drift() -> None:
    path = GeometricBrownianMotion(0.0, drift=1.0).path(100.0, 2, SECONDS_PER_YEAR / 2, stream(1, "x"))
    assert path == pytest.approx([100, 100 * math.exp(0.5), 100 * math.e], rel=1e-15)


# -- pegs -------------------------------------------------------------------------------------------------------------


def test_a_peg_wanders_around_its_mean_as_far_as_theory_says() -> None:
    peg = OrnsteinUhlenbeck.of_half_life(hours=6, deviation=0.002)
    deviations = np.log(peg.path(1.0, N, HOUR, stream(3, "USDC")))
    kept = 0.5 ** (1 / 6)
    independent = N * (1 - kept) / (1 + kept)  # so many independent draws tell as much of the mean
    assert deviations.mean() == pytest.approx(0, abs=4 * 0.002 / math.sqrt(independent))
    independent = N * (1 - kept**2) / (1 + kept**2)
    assert deviations.std() == pytest.approx(0.002, rel=4 / math.sqrt(2 * independent))


def test_the_memory_of_a_peg_halves_in_its_half_life() -> None:
    deviations = np.log(OrnsteinUhlenbeck.of_half_life(hours=6, deviation=0.002).path(1.0, N, HOUR, stream(4, "USDC")))
    for hours in (1, 6, 12):
        expected = 0.5 ** (hours / 6)
        assert np.corrcoef(deviations[:-hours], deviations[hours:])[0, 1] == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize("decay", [0.0, 1e-12, 1e-8, 1e-4, 0.05, 0.5, 20.0])
def test_one_shock_moves_a_peg_as_far_as_its_reversion_leaves_it(decay: float) -> None:
    """The variance of a step is volatility²·(1 − exp(−2·decay)) / (2·reversion), or volatility²·years without any."""
    years, volatility = 0.25, 0.3
    peg = OrnsteinUhlenbeck(decay / years, volatility)
    path = peg.driven(1.0, np.array([1.0]), years * SECONDS_PER_YEAR, stream(1, "x"))
    variance = volatility**2 * years * (-math.expm1(-2 * decay) / (2 * decay) if decay else 1.0)
    assert math.log(path[1]) == pytest.approx(math.sqrt(variance), rel=1e-7)


def test_a_peg_without_noise_comes_back_by_half_each_half_life() -> None:
    path = OrnsteinUhlenbeck.of_half_life(hours=2, deviation=0.0).path(0.90, 8, HOUR, stream(1, "x"))
    assert path[0] == 0.90
    assert np.log(path[::2]) == pytest.approx([math.log(0.90) / 2**n for n in range(5)], rel=1e-12)


def test_a_peg_returns_to_its_mean_or_to_its_start() -> None:
    rng = stream(1, "x")
    assert OrnsteinUhlenbeck(1e6, 0.0, mean=1.0).path(0.8, 2, HOUR, rng)[-1] == pytest.approx(1.0)
    assert OrnsteinUhlenbeck(1e6, 0.0, mean=None).path(0.8, 2, HOUR, rng).tolist() == [0.8, 0.8, 0.8]


def test_without_reversion_a_peg_is_brownian() -> None:
    for reversion in (0.0, 1e-12):
        free = OrnsteinUhlenbeck(reversion, 0.8).path(1.0, N, HOUR, stream(5, "x"))
        returns = np.diff(np.log(free))
        assert returns.var() == pytest.approx(0.8**2 * YEARS, rel=4 * math.sqrt(2 / N))


def test_a_peg_stays_above_zero_however_hard_it_is_shaken() -> None:
    assert OrnsteinUhlenbeck(1.0, 5.0).path(1.0, 50_000, 24 * HOUR, stream(6, "x")).min() > 0


# -- jumps ------------------------------------------------------------------------------------------------------------


def test_jumps_come_as_often_and_as_large_as_one_says() -> None:
    process = JumpDiffusion(volatility=0.0, jumps_per_year=876.0, jump_mean=-0.05, jump_deviation=0.0)
    drift = -876.0 * (math.exp(-0.05) - 1) * YEARS
    jumps = (log_returns(process, seed=7) - drift) / -0.05
    counts = np.rint(jumps)
    assert np.abs(jumps - counts).max() < 1e-9
    expected = 876.0 * YEARS  # one jump in ten hours
    assert counts.mean() == pytest.approx(expected, abs=4 * math.sqrt(expected / N))
    assert counts.var() == pytest.approx(expected, rel=4 * math.sqrt((2 + 1 / expected) / N))
    assert (counts == 0).mean() == pytest.approx(math.exp(-expected), abs=4 * 0.3 / math.sqrt(N))


def test_returns_with_jumps_have_the_moments_of_merton() -> None:
    volatility, rate, mean, deviation, drift = 0.5, 2000.0, -0.01, 0.02, 0.4
    returns = log_returns(JumpDiffusion(volatility, rate, mean, deviation, drift), seed=8)
    jumps = rate * YEARS
    growth = math.exp(mean + deviation**2 / 2) - 1
    expected = (drift - volatility**2 / 2 - rate * growth) * YEARS + jumps * mean
    variance = volatility**2 * YEARS + jumps * (mean**2 + deviation**2)
    fourth = jumps * (mean**4 + 6 * mean**2 * deviation**2 + 3 * deviation**4)
    kurtosis = 3 + fourth / variance**2
    assert returns.mean() == pytest.approx(expected, abs=4 * math.sqrt(variance / N))
    assert returns.var() == pytest.approx(variance, rel=4 * math.sqrt((kurtosis - 1) / N))
    measured = np.mean((returns - returns.mean()) ** 4) / returns.var() ** 2
    assert measured == pytest.approx(kurtosis, rel=0.1)
    assert kurtosis > 5  # the tails that Brownian motion lacks
    skew = jumps * (mean**3 + 3 * mean * deviation**2) / variance**1.5
    assert np.mean((returns - returns.mean()) ** 3) / returns.var() ** 1.5 == pytest.approx(skew, abs=0.1)


@pytest.mark.slow(0.3)
def test_jumps_do_not_change_the_expected_price() -> None:
    count, month = 5_000, SECONDS_PER_YEAR / 12
    process = JumpDiffusion(0.3, jumps_per_year=12.0, jump_mean=-0.2, jump_deviation=0.1, drift=0.6)
    final = final_prices(process, count, 1, month, 2000.0) / 2000
    assert final.mean() == pytest.approx(math.exp(0.6 / 12), abs=4 * final.std() / math.sqrt(count))


@pytest.mark.parametrize(
    ("mean", "deviation"), [(-0.2, 0.0), (-0.2, 0.1), (0.1, 0.05), (0.0, 0.3)], ids=["fall", "falls", "rises", "both"]
)
def test_the_drift_makes_up_for_the_jumps_exactly(mean: float, deviation: float) -> None:
    """The expected growth of a step by quadrature over shock, number and size of jumps, with no sampling error.

    The drift of a step without shock and jumps is read from the process: a generator whose draws are all zero.
    """
    volatility, rate, drift, years = 0.3, 60.0, 0.6, 1 / 12
    process = JumpDiffusion(volatility, rate, mean, deviation, drift)
    quiet = process.driven(1.0, np.zeros(1), years * SECONDS_PER_YEAR, NoJumps())[-1]
    points, weights = np.polynomial.hermite_e.hermegauss(60)  # weights of the standard normal density
    weights = weights / weights.sum()
    shocks = float(weights @ np.exp(volatility * math.sqrt(years) * points))
    counts = np.arange(80)
    logs = counts * math.log(rate * years) - rate * years - [math.lgamma(count + 1) for count in counts]
    sizes = np.exp(counts[:, None] * mean + np.sqrt(counts)[:, None] * deviation * points) @ weights
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
    expected = quiet * shocks * float(np.exp(logs) @ sizes)
    assert expected == pytest.approx(math.exp(drift * years), rel=1e-9)


class NoJumps:
    """Generator that draws no jump and no size."""

    def spawn(self, count: int) -> list[NoJumps]:
        return [self] * count

    def poisson(self, expected: float, count: int) -> np.ndarray:
        return np.zeros(count, dtype=np.int64)

    def standard_normal(self, count: int) -> np.ndarray:
        return np.zeros(count)


def test_what_is_drawn_has_the_expected_price_of_the_drift() -> None:
    """Fifty standard errors from each of: no compensation, half of it, and one of the wrong sign."""
    paths, steps, month = 400, 1_000, SECONDS_PER_YEAR / 12
    rate, mean, deviation, drift = 60.0, -0.1, 0.05, 0.6
    process, rng = JumpDiffusion(0.1, rate, mean, deviation, drift), stream(12, "drift")
    returns = [np.diff(np.log(process.path(1.0, steps, month, rng))) for _ in range(paths)]
    growths = np.exp(np.concatenate(returns))
    error = growths.std() / math.sqrt(paths * steps)
    assert growths.mean() == pytest.approx(math.exp(drift / 12), abs=4 * error)
    compensation = rate * (math.exp(mean + deviation**2 / 2) - 1) / 12
    for wrong in (compensation, compensation / 2, 2 * compensation):
        assert abs(math.exp(drift / 12 + wrong) - math.exp(drift / 12)) > 50 * error


def test_jumps_can_be_given_by_their_mean_size() -> None:
    process = JumpDiffusion.of_mean_size(0.0, 12.0, mean_size=-0.1, jump_deviation=0.3)
    assert math.exp(process.jump_mean + 0.3**2 / 2) == pytest.approx(0.9)


def test_without_jumps_it_is_brownian_motion() -> None:
    jumpless = JumpDiffusion(0.8, jumps_per_year=0.0, jump_mean=-0.5, drift=0.1).path(5.0, 100, HOUR, stream(9, "x"))
    brownian = GeometricBrownianMotion(0.8, 0.1).path(5.0, 100, HOUR, stream(9, "x"))
    assert jumpless.tobytes() == brownian.tobytes()


# -- all of them ------------------------------------------------------------------------------------------------------

EVERY = [GeometricBrownianMotion(0.8), OrnsteinUhlenbeck(10.0, 0.1), JumpDiffusion(0.5, 2000.0, -0.01, 0.02)]


@pytest.mark.parametrize("process", EVERY, ids=lambda process: type(process).__name__)
def test_a_path_begins_at_its_start_and_a_longer_one_as_the_shorter(process) -> None:
    short, long = process.path(0.9971, 10, HOUR, stream(1, "x")), process.path(0.9971, 500, HOUR, stream(1, "x"))
    assert short[0] == 0.9971
    assert len(short) == 11
    assert short.tobytes() == long[:11].tobytes()


@pytest.mark.parametrize("process", EVERY, ids=lambda process: type(process).__name__)
def test_a_generator_moves_on_and_gives_another_path(process) -> None:
    rng = stream(1, "x")
    assert not np.array_equal(process.path(1.0, 10, HOUR, rng), process.path(1.0, 10, HOUR, rng))


@pytest.mark.parametrize("process", EVERY, ids=lambda process: type(process).__name__)
def test_processes_are_values(process) -> None:
    assert process == type(process)(**{name: getattr(process, name) for name in process.__slots__})
    assert len({process, process}) == 1
    with pytest.raises(AttributeError):
        process.volatility = 1.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GeometricBrownianMotion(-0.8), "volatility '-0.8' is negative"),
        (lambda: GeometricBrownianMotion("80%"), "volatility '80%' is not a number"),
        (lambda: GeometricBrownianMotion(True), "volatility 'True' is not a number"),
        (lambda: GeometricBrownianMotion(math.inf), "volatility 'inf' is not a finite number"),
        (lambda: GeometricBrownianMotion(0.8, math.nan), "drift 'nan' is not a finite number"),
        (lambda: GeometricBrownianMotion(10**400), "is not a finite number"),
        (lambda: OrnsteinUhlenbeck(-1.0, 0.1), "mean_reversion '-1.0' is negative"),
        (lambda: OrnsteinUhlenbeck(1.0, -0.1), "volatility '-0.1' is negative"),
        (lambda: OrnsteinUhlenbeck(1.0, 0.1, mean=0.0), "mean '0.0' is not above zero"),
        (lambda: OrnsteinUhlenbeck.of_half_life(0, 0.1), "half-life '0' is not above zero"),
        (lambda: OrnsteinUhlenbeck.of_half_life(6, -0.1), "deviation '-0.1' is negative"),
        (lambda: JumpDiffusion(-0.1, 1, 0), "volatility '-0.1' is negative"),
        (lambda: JumpDiffusion(0.1, -1, 0), "jumps_per_year '-1' is negative"),
        (lambda: JumpDiffusion(0.1, 1, math.nan), "jump_mean 'nan' is not a finite number"),
        (lambda: JumpDiffusion(0.1, 1, 0, -1), "jump_deviation '-1' is negative"),
        (lambda: JumpDiffusion.of_mean_size(0.1, 1, -1.0), "mean_size '-1.0' leaves no price"),
        (lambda: JumpDiffusion(0.1, 1e15, 0).path(1, 1, 1e6, stream(1, "x")), "jumps are expected in a step"),
        (lambda: GeometricBrownianMotion(0.8).path(-1.0, 4, HOUR, stream(1, "x")), "start '-1.0' is not above zero"),
        (lambda: GeometricBrownianMotion(0.8).path(1.0, 4, -1, stream(1, "x")), "step_seconds '-1' is not above zero"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make, words: str) -> None:
    with pytest.raises(BadArgument) as caught:
        make()
    assert words in str(caught.value)


def test_a_refusal_says_what_a_volatility_is() -> None:
    with pytest.raises(BadArgument) as caught:
        GeometricBrownianMotion(-0.8)
    assert caught.value.hint == "a volatility is per year and zero or more: 0.8 is 80 %"
