"""Estimate the data-driven parameters of `RWAModel`, each with its source.

    PYTHONPATH=. .venv/bin/python tools/calibrate_rwa.py [--json | --compare]

The data is the folder `market` of MAYAVI_CASES (by default ../shared): hourly prices of ETH and BTC, Chainlink's rounds
of stETH/ETH, USDC's days in March 2023 and the federal funds rate. Copy the printed values into
`mayavi/portfolio/market/model.py`; tests/portfolio/market/test_calibration.py compares the two.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mayavi.markets import Series, stream
from mayavi.portfolio import RWAModel
from mayavi.portfolio.market.data import HOURS_PER_YEAR
from mayavi.portfolio.market.history import trailing_volatility

Floats = NDArray[np.float64]

LAGS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 48, 72, 96, 120, 168, 240, 336, 480, 720])
JUMP_LEAST = 0.02
JUMP_MULTIPLE = 4.0
LOCAL_HOURS = 48
RATES_FROM = "1990-01-01"
MEETING_DAYS, SMOOTH_DAYS = 46, 14
DEPEGGED, RESTORED = 0.99, 0.995
HALF_LIVES_FAST = (2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 36.0)
HALF_LIVES_SLOW = (100.0, 150.0, 200.0, 300.0, 400.0, 500.0, 600.0, 800.0, 1000.0, 1500.0)
HALF_LIVES_TRAILING = (6.0, 12.0, 24.0, 48.0, 96.0, 168.0)


@dataclass(frozen=True, slots=True)
class Found:
    """A parameter's value, rounded as in the code, and how it was estimated."""

    value: float
    how: str


def calibrate(market: Path) -> dict[str, Found]:
    """Estimate every parameter from the files in the folder `market`."""
    return prices(market) | policy_rate(market) | meth_peg(market) | usdy_depeg(market)


def prices(market: Path) -> dict[str, Found]:
    eth, btc = (_hourly(market / f"{name}USDT_1h_2022-10_2025-10.csv") for name in ("ETH", "BTC"))
    files = "ETH and BTC hourly, October 2022 to 2025"
    found: dict[str, Found] = {}

    # A jump: beyond JUMP_LEAST and JUMP_MULTIPLE times the usual move of the two days before.
    usual = _usual_move(eth)
    jumps = (np.abs(eth) > JUMP_LEAST) & (np.abs(eth) > JUMP_MULTIPLE * usual)
    years = len(eth) / HOURS_PER_YEAR
    for way, chosen in (("up", jumps & (eth > 0)), ("down", jumps & (eth < 0))):
        excess = np.abs(eth[chosen]) - JUMP_LEAST
        found[f"jumps_{way}_per_year"] = Found(
            _digits(chosen.sum() / years, 2), f"{chosen.sum()} in {years:.2f} years of ETH"
        )
        found[f"jump_{way}_mean"] = Found(_digits(excess.mean(), 2), "mean of what ETH's jumps have beyond the least")
    found["jump_least"] = Found(
        JUMP_LEAST, f"chosen; a jump is also over {JUMP_MULTIPLE:g} times the usual move of {LOCAL_HOURS} hours"
    )
    share = float((eth[jumps] * btc[jumps]).sum() / (eth[jumps] ** 2).sum())
    found["jump_btc_share"] = Found(_digits(share, 2), "least squares of BTC's move on ETH's, at ETH's jumps")

    # What jumps of these sizes add to variances and the covariance; volatility and its shocks make the rest.
    jump_variance = sum(
        found[f"jumps_{way}_per_year"].value * _second_moment(JUMP_LEAST, found[f"jump_{way}_mean"].value)
        for way in ("up", "down")
    )
    share = found["jump_btc_share"].value
    total = np.cov(eth, btc) * HOURS_PER_YEAR
    eth_volatility = float(np.sqrt(total[0, 0] - jump_variance))
    btc_volatility = float(np.sqrt(total[1, 1] - share**2 * jump_variance))
    for name, value, whole in (("eth", eth_volatility, total[0, 0]), ("btc", btc_volatility, total[1, 1])):
        found[f"{name}_volatility"] = Found(_digits(value, 2), f"{files}: {whole**0.5:.3f}, less what jumps add")

    # log|r| is the logarithm of volatility plus noise that no hour shares with another: covariances of two hours are
    # those of volatility. c + d is ETH's, c − d BTC's.
    logs = [_without_hour_of_week(np.log(np.maximum(np.abs(moves), 1e-5))) for moves in (eth, btc)]
    own = 0.5 * (_covariances(logs[0], logs[0]) + _covariances(logs[1], logs[1]))
    cross = 0.5 * (_covariances(logs[0], logs[1]) + _covariances(logs[1], logs[0]))
    slow, slow_life, fast, fast_life = _two_decays(0.5 * (own + cross))
    apart, apart_life = _one_decay(0.5 * (own - cross))
    how = "covariances of log|move| at 1 to 720 hours, without the hour of the week"
    for name, variance, life in (("slow", slow, slow_life), ("fast", fast, fast_life), ("apart", apart, apart_life)):
        found[f"vol_{name}_deviation"] = Found(_digits(variance**0.5, 2), how)
        found[f"vol_{name}_half_life"] = Found(life, how)
    together = found["vol_apart_deviation"].value  # volatilities that part make returns less alike than shocks are
    shocks = (total[0, 1] - share * jump_variance) / (eth_volatility * btc_volatility) * np.exp(2 * together**2)
    correlation = float(np.corrcoef(eth, btc)[0, 1])
    found["eth_btc_correlation"] = Found(
        _digits(float(shocks), 2), f"{correlation:.3f} of hourly returns, less what jumps add"
    )
    return found


def policy_rate(market: Path) -> dict[str, Found]:
    series = Series.read(
        market / "USA_FED_FRED_daily_1954_2026.csv",
        price_column="Federal Funds Effective Rate",
        order="descending",
        skip_blank=True,
    )
    begin = np.datetime64(RATES_FROM).astype("datetime64[s]").astype(np.int64)
    daily = series.prices[series.times >= float(begin)]
    smooth = np.convolve(daily, np.full(SMOOTH_DAYS, 1 / SMOOTH_DAYS), mode="valid")
    rates = smooth[::MEETING_DAYS]
    steps = np.diff(rates) / 0.25
    mean = float(rates.mean())
    known = np.column_stack((mean - rates[1:-1], steps[:-1]))
    fit, *_ = np.linalg.lstsq(known, steps[1:], rcond=None)
    left = steps[1:] - known @ fit
    how = f"regression of its change in {MEETING_DAYS} days, in steps of 0.25, on distance and last change"
    return {
        "rate_mean": Found(_digits(mean, 3), f"effective rate since {RATES_FROM}, means of {SMOOTH_DAYS} days"),
        "rate_pull": Found(_digits(float(fit[0]), 2), how),
        "rate_momentum": Found(_digits(float(fit[1]), 2), how),
        "rate_noise": Found(
            _digits(float(np.sqrt(left.var() - 1 / 12)), 2), "what is left of it, less what rounding adds"
        ),
    }


def meth_peg(market: Path) -> dict[str, Found]:
    series = Series.chainlink(market / "chainlink_STETH_ETH_2022-01_2024-01.csv", decimals=18)
    years = float(series.times[-1] - series.times[0]) / (HOURS_PER_YEAR * 3600)
    hours = (series.times - series.times[0]) / 3600
    falls = _depegs(series.prices)
    sizes = np.array([1 / series.prices[begin:end].min() - 1 for begin, end in falls])
    lives = [_half_life(hours[begin:end], 1 / series.prices[begin:end] - 1) for begin, end in falls]
    quiet = np.ones(len(series), dtype=bool)
    for begin, end in falls:
        quiet[max(begin - 1, 0) : end + 1] = False
    level = np.log(series.prices)
    pairs = quiet[1:] & quiet[:-1] & (np.diff(hours) > 20)
    after, before = level[1:][pairs], level[:-1][pairs]
    kept = float(np.corrcoef(after, before)[0, 1])
    count = f"{len(falls)} falls of stETH/ETH below {DEPEGGED:g} in {years:.2f} years"
    return {
        "meth_peg_deviation": Found(
            _digits(float(level[quiet].std()), 2), "stETH/ETH, Chainlink's rounds, outside depegs"
        ),
        "meth_peg_half_life": Found(
            _digits(24 * np.log(2) / -np.log(kept), 2), f"correlation {kept:.3f} of one day's and the next"
        ),
        "meth_depegs_per_year": Found(_digits(len(falls) / years, 2), count),
        "meth_depeg_least": Found(0.01, "chosen: what counts as one"),
        "meth_depeg_mean": Found(_digits(float(sizes.mean()) - 0.01, 2), "mean size, less the least: " + _list(sizes)),
        "meth_depeg_half_life": Found(_digits(float(np.mean(lives)), 2), "from the trough on, mean of " + _list(lives)),
    }


def usdy_depeg(market: Path) -> dict[str, Found]:
    series = Series.read(market / "usdc_depeg_15m_2023-03-09_19.json")
    hours = (series.times - series.times[0]) / 3600
    trough = int(np.argmin(series.prices))
    end = trough + int(np.argmax(series.prices[trough:] > RESTORED))
    life = _half_life(hours[trough:end], 1 / series.prices[trough:end] - 1)
    size = 1 / float(series.prices[trough]) - 1
    return {
        "usdy_depeg_least": Found(0.01, "chosen: what counts as one"),
        "usdy_depeg_mean": Found(_digits(size - 0.01, 2), f"USDC on 11 March 2023 fell by {size:.3f}, less the least"),
        "usdy_depeg_half_life": Found(_digits(life, 2), f"of its deviation, from the trough until above {RESTORED:g}"),
    }


def compare(market: Path) -> dict[str, tuple[float, float]]:
    """Compare moments of the data and of simulated markets, including moments that were not fitted."""
    drawn = RWAModel().draw([stream(1, "compare", str(path)) for path in range(500)], 1440)
    moves = [
        [_hourly(market / f"{name}USDT_1h_2022-10_2025-10.csv")[None] for name in ("ETH", "BTC")],
        [np.diff(np.log(drawn.column(f"{name}_price")), axis=1) for name in ("eth", "btc")],
    ]
    found: dict[str, list[float]] = {}
    for eth, btc in moves:
        for name, each in (("ETH", eth), ("BTC", btc)):
            found.setdefault(f"{name}: volatility a year", []).append(float(each.std() * np.sqrt(HOURS_PER_YEAR)))
            for hours in (1, 24, 168):
                sums = each[:, : each.shape[1] // hours * hours].reshape(-1, hours).sum(axis=1)
                found.setdefault(f"{name}: kurtosis of moves in {hours} h", []).append(_kurtosis(sums))
            for share in (0.9, 0.99, 0.999):
                size = float(np.quantile(np.abs(each), share))
                found.setdefault(f"{name}: move that {1 - share:.1%} of hours exceed", []).append(size)
        found.setdefault("ETH: skewness", []).append(float(((eth - eth.mean()) ** 3).mean() / eth.std() ** 3))
        correlation = float(np.corrcoef(eth.ravel(), btc.ravel())[0, 1])
        found.setdefault("ETH and BTC: correlation", []).append(correlation)
    return {name: (files, model) for name, (files, model) in found.items()}


def volatility_half_life(market: Path) -> Found:
    """Half-life whose exponentially weighted volatility best predicts the next hour (`VOL_HALF_LIFE`)."""
    prices = Series.read(market / "ETHUSDT_1h_2022-10_2025-10.csv", price_column="close").prices[None]
    moves = np.diff(np.log(prices[0]))
    scores = {}
    for hours in HALF_LIVES_TRAILING:
        variance = trailing_volatility(prices, 0.6, hours)[0, :-1] ** 2 / HOURS_PER_YEAR
        scores[hours] = float((np.log(variance) + moves**2 / variance)[720:].mean())
    tried = ", ".join(f"{hours:g}" for hours in HALF_LIVES_TRAILING)
    return Found(min(scores, key=lambda hours: scores[hours]), f"the best of {tried} by likelihood of ETH's next move")


def _hourly(path: Path) -> Floats:
    series = Series.read(path, price_column="close")
    if not (np.diff(series.times) == 3600).all():
        sys.exit(f"'{path}' is not hourly")
    moves: Floats = np.diff(np.log(series.prices))
    return moves


def _usual_move(moves: Floats) -> Floats:
    """Standard deviation implied by the absolute moves of the hours before, assuming a normal distribution."""
    sums = np.concatenate((np.zeros(1), np.cumsum(np.abs(moves))))
    usual = np.full(len(moves), np.inf)
    usual[LOCAL_HOURS:] = (sums[LOCAL_HOURS:-1] - sums[: -LOCAL_HOURS - 1]) / LOCAL_HOURS * np.sqrt(np.pi / 2)
    return usual


def _kurtosis(numbers: Floats) -> float:
    return float(((numbers - numbers.mean()) ** 4).mean() / numbers.var() ** 2)


def _second_moment(least: float, mean: float) -> float:
    """Second moment of `least` plus an exponential variable."""
    return least**2 + 2 * least * mean + 2 * mean**2


def _without_hour_of_week(logs: Floats) -> Floats:
    hour = np.arange(len(logs)) % 168
    means = np.array([logs[hour == each].mean() for each in range(168)])
    rest: Floats = logs - means[hour]
    return rest


def _covariances(one: Floats, other: Floats) -> Floats:
    return np.array([float((one[lag:] * other[:-lag]).mean()) for lag in LAGS])


def _two_decays(covariances: Floats) -> tuple[float, float, float, float]:
    """Variance and half-life of the slow and the fast component, by least squares over the half-lives above."""
    best = (np.inf, 0.0, 0.0, 0.0, 0.0)
    for slow_life in HALF_LIVES_SLOW:
        for fast_life in HALF_LIVES_FAST:
            parts = np.column_stack([0.5 ** (LAGS / life) for life in (slow_life, fast_life)])
            fit, *_ = np.linalg.lstsq(parts, covariances, rcond=None)
            error = float(((parts @ fit - covariances) ** 2).sum())
            if (fit > 0).all() and error < best[0]:
                best = (error, float(fit[0]), slow_life, float(fit[1]), fast_life)
    return best[1:]


def _one_decay(covariances: Floats) -> tuple[float, float]:
    best = (np.inf, 0.0, 0.0)
    for life in (*HALF_LIVES_FAST, *HALF_LIVES_SLOW):
        part = 0.5 ** (LAGS / life)
        size = float(part @ covariances / (part @ part))
        error = float(((part * size - covariances) ** 2).sum())
        if size > 0 and error < best[0]:
            best = (error, size, life)
    return best[1:]


def _depegs(pegs: Floats) -> list[tuple[int, int]]:
    """Split into depegs: from the fall below DEPEGGED to the recovery above RESTORED."""
    found, at = [], 0
    while (below := np.flatnonzero(pegs[at:] < DEPEGGED)).size:
        begin = at + int(below[0])
        above = np.flatnonzero(pegs[begin:] > RESTORED)
        at = begin + int(above[0]) if above.size else len(pegs)
        found.append((begin, at))
    return found


def _half_life(hours: Floats, deviations: Floats) -> float:
    """Half-life of an exponential decay from the largest deviation on, by least squares of the logarithms."""
    top = int(np.argmax(deviations))
    since, logs = hours[top:] - hours[top], np.log(np.maximum(deviations[top:], 1e-4) / deviations[top])
    return float(-np.log(2) * (since @ since) / (since @ logs))


def _digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _list(numbers: Floats | list[float]) -> str:
    return ", ".join(f"{each:.3g}" for each in numbers)


def main() -> None:
    market = Path(os.environ.get("MAYAVI_CASES") or "../shared") / "market"
    if "--compare" in sys.argv[1:]:
        print("| | files | drawn |\n|---|---|---|")
        for name, (files, drawn) in compare(market).items():
            print(f"| {name} | {files:.3g} | {drawn:.3g} |")
        return
    found = calibrate(market) | {"VOL_HALF_LIFE": volatility_half_life(market)}
    if "--json" in sys.argv[1:]:
        print(json.dumps({name: {"value": each.value, "how": each.how} for name, each in found.items()}))
        return
    for name, each in found.items():
        print(f"{name:24} {each.value:<8g} {each.how}")


if __name__ == "__main__":
    main()
