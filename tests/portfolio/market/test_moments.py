"""The moments of the drawn market against what its parameters say, in closed form.

Each moment is a mean over independent paths, one number a path. It may be off its target by four standard errors, those
being the deviation of the paths' numbers over the root of their count: a right model fails a test in 16,000, a wrong
one in most. Seeds are fixed, so a pass stays one.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mayavi.numerics.streams import stream
from mayavi.portfolio.market.data import HOURS_PER_YEAR, RWAMarket
from mayavi.portfolio.market.model import RWAModel

MODEL = RWAModel()
PATHS, HOURS = 1500, 720
ERRORS = 4.0


@pytest.fixture(scope="module")
def market() -> RWAMarket:
    return MODEL.draw([stream(21, "moments", str(path)) for path in range(PATHS)], HOURS)


def moves(market: RWAMarket, name: str) -> np.ndarray:
    return np.diff(np.log(market.column(f"{name}_price")), axis=1)


def assert_mean(of_paths: np.ndarray, target: float, narrow: float) -> None:
    """The mean over paths is the target, and the test is sharp: four standard errors are `narrow` of it at most."""
    error = ERRORS * of_paths.std(ddof=1) / math.sqrt(len(of_paths))
    assert of_paths.mean() == pytest.approx(target, abs=error)
    assert error <= narrow * abs(target), f"{error / abs(target):.3g} of the target"


def jump_moment(power: int, share: float = 1.0) -> float:
    """A year's sum of the powers of jumps: `least` and an exponential more, to the power."""

    def one(mean: float) -> float:
        return sum(
            math.comb(power, k) * MODEL.jump_least ** (power - k) * math.factorial(k) * mean**k
            for k in range(power + 1)
        )

    up, down = one(MODEL.jump_up_mean), one(MODEL.jump_down_mean)
    return share**power * (MODEL.jumps_up_per_year * up + (-1) ** power * MODEL.jumps_down_per_year * down)


PRICES = {
    "eth": (MODEL.eth_drift, MODEL.eth_volatility, 1.0),
    "btc": (MODEL.btc_drift, MODEL.btc_volatility, MODEL.jump_btc_share),
    "sol": (MODEL.sol_drift, MODEL.eth_volatility * MODEL.sol_to_eth_volatility, MODEL.jump_sol_share),
    "mnt": (MODEL.mnt_drift, MODEL.eth_volatility * MODEL.mnt_to_eth_volatility, MODEL.jump_mnt_share),
}


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("name", PRICES)
def test_the_expected_price_grows_by_its_drift(market: RWAMarket, name: str) -> None:
    prices = market.column(f"{name}_price")
    target = math.exp(PRICES[name][0] * HOURS / HOURS_PER_YEAR)
    assert_mean(prices[:, -1] / prices[:, 0], target, narrow=0.03)


@pytest.mark.parametrize("name", PRICES)
def test_the_variance_is_that_of_volatility_and_jumps(market: RWAMarket, name: str) -> None:
    _, volatility, share = PRICES[name]
    of_paths = (moves(market, name) ** 2).mean(axis=1) * HOURS_PER_YEAR
    assert_mean(of_paths, volatility**2 + jump_moment(2, share), narrow=0.1)


def test_the_fourth_moment_is_that_of_both(market: RWAMarket) -> None:
    """And with it the kurtosis: about 20, where ETH's in the files of the calibration is 24."""
    variance, swings = MODEL.eth_volatility**2 / HOURS_PER_YEAR, MODEL.log_vol_variance
    jumps = [jump_moment(power) / HOURS_PER_YEAR for power in (2, 4)]
    target = 3 * variance**2 * math.exp(4 * swings) + 6 * variance * jumps[0] + jumps[1]
    of_paths = (moves(market, "eth") ** 4).mean(axis=1)
    assert_mean(of_paths, target, narrow=0.5)
    kurtosis = target / (variance + jumps[0]) ** 2
    assert 17 < kurtosis < 25


def test_eth_and_btc_move_together_as_said(market: RWAMarket) -> None:
    m = MODEL
    diffusion = m.eth_btc_correlation * m.eth_volatility * m.btc_volatility * math.exp(-2 * m.vol_apart_deviation**2)
    target = diffusion + m.jump_btc_share * jump_moment(2)
    of_paths = (moves(market, "eth") * moves(market, "btc")).mean(axis=1) * HOURS_PER_YEAR
    assert_mean(of_paths, target, narrow=0.1)
    variances = [PRICES[name][1] ** 2 + jump_moment(2, PRICES[name][2]) for name in ("eth", "btc")]
    assert target / math.sqrt(variances[0] * variances[1]) == pytest.approx(0.81, abs=0.01)  # the files' correlation


@pytest.mark.parametrize(
    ("one", "other", "correlation"),
    [
        ("eth", "sol", MODEL.eth_sol_correlation),
        ("eth", "mnt", MODEL.eth_mnt_correlation),
        ("sol", "mnt", MODEL.sol_mnt_correlation),
    ],
)
def test_sol_and_mnt_move_with_eth_as_said(market: RWAMarket, one: str, other: str, correlation: float) -> None:
    (_, first, share), (_, second, other_share) = PRICES[one], PRICES[other]
    target = correlation * first * second + share * other_share * jump_moment(2)
    of_paths = (moves(market, one) * moves(market, other)).mean(axis=1) * HOURS_PER_YEAR
    assert_mean(of_paths, target, narrow=0.1)


@pytest.mark.parametrize("hour", [0, HOURS])
def test_volatility_is_in_its_long_run_from_the_first_hour_on(market: RWAMarket, hour: int) -> None:
    swing = np.log(market.column("eth_vol")[:, hour] / MODEL.eth_volatility) + MODEL.log_vol_variance
    assert swing.mean() == pytest.approx(0, abs=ERRORS * math.sqrt(MODEL.log_vol_variance / PATHS))
    assert_mean(swing**2, MODEL.log_vol_variance, narrow=0.2)


@pytest.mark.parametrize("lag", [1, 24, 240])
def test_volatility_is_forgotten_as_its_half_lives_say(market: RWAMarket, lag: int) -> None:
    m = MODEL
    parts = (
        (m.vol_slow_deviation, m.vol_slow_half_life),
        (m.vol_fast_deviation, m.vol_fast_half_life),
        (m.vol_apart_deviation, m.vol_apart_half_life),
    )
    target = sum(deviation**2 * 0.5 ** (lag / life) for deviation, life in parts)
    swing = np.log(market.column("eth_vol") / m.eth_volatility) + m.log_vol_variance
    assert_mean((swing[:, lag:] * swing[:, :-lag]).mean(axis=1), target, narrow=0.2)


@pytest.mark.slow(0.4)
def test_jumps_are_as_frequent_as_said() -> None:
    """Without diffusion a move is a jump or next to nothing."""
    model = replace(MODEL, eth_volatility=1e-6)
    market = model.draw([stream(22, "jumps", str(path)) for path in range(600)], HOURS)
    years = 600 * HOURS / HOURS_PER_YEAR
    up, down = (moves(market, "eth") > 0.019).sum(), (moves(market, "eth") < -0.019).sum()
    for count, each_year in ((up, model.jumps_up_per_year), (down, model.jumps_down_per_year)):
        assert count == pytest.approx(each_year * years, abs=ERRORS * math.sqrt(each_year * years))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["usdy", pytest.param("meth", marks=pytest.mark.slow)])
def test_depegs_are_as_frequent_as_said(name: str) -> None:
    """At the model's own frequencies, and at many times them."""
    for times, paths in ((1.0, 1500), (30.0, 300)):
        each_year = getattr(MODEL, f"{name}_depegs_per_year") * times
        model = replace(
            MODEL, **{f"{name}_depegs_per_year": each_year, "usdy_vol_mean": 1e-6, "meth_peg_deviation": 1e-6}
        )
        market = model.draw([stream(23, name, str(path)) for path in range(paths)], HOURS)
        falls = np.diff(1 / market.column(f"{name}_peg"), axis=1)
        count, expected = int((falls > 0.005).sum()), each_year * paths * HOURS / HOURS_PER_YEAR
        assert expected > 30
        assert count == pytest.approx(expected, abs=ERRORS * math.sqrt(expected) + 0.03 * expected)


def test_meth_depegs_come_when_eth_moves() -> None:
    model = replace(MODEL, meth_depegs_per_year=60.0, meth_peg_deviation=1e-6, meth_depeg_vol_link=1.0)
    market = model.draw([stream(24, "link", str(path)) for path in range(300)], HOURS)
    fell = np.diff(1 / market.column("meth_peg"), axis=1) > 0.005
    known = market.column("eth_vol")[:, :-1]
    low, high = np.quantile(known, [0.25, 0.75])
    often, seldom = fell[known > high].sum(), fell[known < low].sum()
    assert often - seldom > ERRORS * math.sqrt(often + seldom)
    assert often > 3 * seldom


def test_pegs_are_noisy_by_their_deviations(market: RWAMarket) -> None:
    model = replace(MODEL, usdy_depegs_per_year=0.0, meth_depegs_per_year=0.0)
    quiet = model.draw([stream(25, "pegs", str(path)) for path in range(400)], HOURS)
    usdy, meth = (1 / quiet.column(f"{name}_peg") - 1 for name in ("usdy", "meth"))
    assert_mean((usdy**2).mean(axis=1), float((quiet.column("usdy_vol") ** 2).mean()), narrow=0.1)
    assert_mean((meth**2).mean(axis=1), MODEL.meth_peg_deviation**2, narrow=0.2)
    assert_mean(np.log(market.column("usdy_vol")[:, 0]), math.log(MODEL.usdy_vol_mean), narrow=0.05)


def test_the_policy_rate_takes_the_steps_it_should(market: RWAMarket) -> None:
    """Pulled to the mean by so much, on average over the rounding, and scattered by the noise."""
    rate = market.column("fed_rate")
    changes = (rate[:, -1] - rate[:, 0]) / 0.25
    meetings = (HOURS / 24) / MODEL.meeting_days  # a month has one for two paths of three
    target = meetings * MODEL.rate_pull * (MODEL.rate_mean - MODEL.rate_start)
    error = ERRORS * changes.std(ddof=1) / math.sqrt(PATHS)
    assert changes.mean() == pytest.approx(target, abs=error)
    step_variance = MODEL.rate_noise**2 + 1 / 12 + MODEL.rate_pull**2 * MODEL.rate_start_deviation**2
    assert_mean(changes**2, meetings * (step_variance + (target / meetings) ** 2), narrow=0.3)
    assert_mean(rate[:, 0], MODEL.rate_start, narrow=0.02)


def test_yields_gas_and_dominance_have_their_means(market: RWAMarket) -> None:
    m = MODEL
    assert_mean(market.column("meth_apy").mean(axis=1), m.staking_mean, narrow=0.01)
    assert_mean(market.column("usdy_apy")[:, 0], m.rate_start - m.usdy_fee, narrow=0.02)
    keep = 1 - m.reserve_factor
    assert_mean(market.column("aave_usdy_apy")[:, 0], m.usdy_utilisation_mean * keep * m.rate_start, narrow=0.05)
    assert_mean(market.column("aave_meth_apy")[:, 0], m.meth_utilisation_mean * keep * m.staking_mean, narrow=0.05)
    mi4 = 0.265 * m.staking_mean + 0.085 * m.sol_staking_apy + 0.15 * (m.rate_start - m.usdy_fee + m.mi4_dollar_spread)
    assert_mean(market.column("mi4_apy")[:, 0], mi4, narrow=0.01)
    assert_mean(np.log(market.column("gas_price")).mean(axis=1), math.log(m.gas_median), narrow=0.01)
    assert_mean(market.column("btc_dominance")[:, 0], m.dominance_start, narrow=0.01)


def test_the_sign_of_a_move_tells_nothing_of_the_next(market: RWAMarket) -> None:
    for name in PRICES:
        each = moves(market, name)
        of_paths = (np.sign(each[:, :-1]) * each[:, 1:]).mean(axis=1)
        assert abs(of_paths.mean()) < ERRORS * of_paths.std(ddof=1) / math.sqrt(PATHS)


def test_paths_know_nothing_of_each_other(market: RWAMarket) -> None:
    """Neighbouring paths: the correlation of their moves is that of independent ones."""
    each = moves(market, "eth")
    each = each / each.std(axis=1, keepdims=True)
    products = (each[:-1] * each[1:]).mean(axis=1)
    assert abs(products.mean()) < ERRORS * products.std(ddof=1) / math.sqrt(PATHS - 1)
    swing = np.log(market.column("eth_vol")[:, 0])
    assert abs(np.corrcoef(swing[:-1], swing[1:])[0, 1]) < ERRORS / math.sqrt(PATHS)
