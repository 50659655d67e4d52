"""Historical paths: the last known price at every step, and no silent gap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mayavi.errors import BadArgument, BadSeries, UsageError
from mayavi.markets import GeometricBrownianMotion, HistoricalPath, PricePaths, Series, Step, stream

HOUR = 3600


def series_of(tmp_path: Path, *rows: tuple[float, float]) -> Series:
    path = tmp_path / "prices.csv"
    path.write_text("time,close\n" + "".join(f"{time},{price}\n" for time, price in rows), encoding="utf-8")
    return Series.read(path)


@pytest.fixture
def hourly(tmp_path: Path) -> Series:
    return series_of(tmp_path, *((hour * HOUR, 100.0 + hour) for hour in range(10)))


@pytest.fixture
def gappy(tmp_path: Path) -> Series:
    """Hourly prices with a gap between the third and the ninth hour."""
    return series_of(tmp_path, *((hour * HOUR, 100.0 + hour) for hour in (0, 1, 2, 3, 9, 10, 11, 12)))


def path_of(process: HistoricalPath, steps: int, step_seconds: float = HOUR, start: float = 7.0) -> list[float]:
    return process.path(start, steps, step_seconds, stream(1, "unused")).tolist()


def test_a_step_has_the_last_price_known_by_then(hourly: Series) -> None:
    assert path_of(HistoricalPath(hourly), 4) == [100, 101, 102, 103, 104]
    assert path_of(HistoricalPath(hourly), 3, step_seconds=2 * HOUR) == [100, 102, 104, 106]
    assert path_of(HistoricalPath(hourly), 5, step_seconds=HOUR / 2) == [100, 100, 101, 101, 102, 102]
    assert path_of(HistoricalPath(hourly), 4, step_seconds=HOUR - 1) == [100, 100, 101, 102, 103]


def test_a_path_begins_where_one_says(hourly: Series) -> None:
    for begin in (2 * HOUR, "1970-01-01T02:00:00Z", "1970-01-01 02:59:59"):
        assert path_of(HistoricalPath(hourly, begin=begin), 2) == [102, 103, 104]


def test_an_anchored_path_begins_at_the_start_and_moves_as_the_file(hourly: Series) -> None:
    path = path_of(HistoricalPath(hourly, anchored=True), 4, start=2562.92441874)
    assert path[0] == 2562.92441874
    assert path == pytest.approx([2562.92441874 * p / 100 for p in (100, 101, 102, 103, 104)], rel=1e-15)


def test_chance_has_no_part_in_it(hourly: Series) -> None:
    process = HistoricalPath(hourly)
    assert not process.diffuses
    draws = [process.path(1.0, 4, HOUR, stream(seed, "x")).tobytes() for seed in range(3)]
    assert len(set(draws)) == 1


def test_history_can_follow_and_be_followed(hourly: Series) -> None:
    crash = Step(at=2, size=-0.5, before=HistoricalPath(hourly), then=HistoricalPath(hourly, anchored=True))
    assert crash.path(9.0, 4, HOUR, stream(1, "x")).tolist() == pytest.approx([100, 101, 51, 51.51, 52.02])


# -- gaps -------------------------------------------------------------------------------------------------------------


def test_a_gap_is_an_error_with_its_lines_and_what_to_do(gappy: Series) -> None:
    with pytest.raises(BadSeries) as caught:
        path_of(HistoricalPath(gappy), 10)
    assert str(caught.value) == (
        f"'{gappy.file}', line 6: 6 hours without a price between line 5 and this; usual is 1 hour"
    )
    assert caught.value.hint == "fill it in, or say fill='hold' or fill='linear', or max_gap=6"


def test_a_gap_can_be_filled_as_one_says(gappy: Series) -> None:
    held = path_of(HistoricalPath(gappy, fill="hold"), 10)
    assert held == [100, 101, 102, 103, 103, 103, 103, 103, 103, 109, 110]
    assert path_of(HistoricalPath(gappy, max_gap=6), 10) == held
    assert path_of(HistoricalPath(gappy, fill="linear"), 10) == pytest.approx([100.0 + hour for hour in range(11)])


def test_only_gaps_are_filled_in_linearly(gappy: Series) -> None:
    halves = path_of(HistoricalPath(gappy, fill="linear"), 12, step_seconds=HOUR / 2)
    assert halves[:7] == [100, 100, 101, 101, 102, 102, 103]
    assert halves[7:] == pytest.approx([103.5, 104, 104.5, 105, 105.5, 106])


def test_a_gap_outside_of_the_steps_hurts_nobody(gappy: Series) -> None:
    assert path_of(HistoricalPath(gappy), 3) == [100, 101, 102, 103]
    assert path_of(HistoricalPath(gappy, begin=9 * HOUR), 3) == [109, 110, 111, 112]
    with pytest.raises(BadSeries, match="without a price"):
        path_of(HistoricalPath(gappy), 4)  # the fourth hour has nothing to go by
    with pytest.raises(BadSeries, match="without a price"):
        path_of(HistoricalPath(gappy, begin=5 * HOUR), 1)


def test_several_gaps_are_counted(tmp_path: Path) -> None:
    times = [0, 1, 2, 3, 10, 11, 12, 13, 33, 34, 35]
    series = series_of(tmp_path, *((hour * HOUR, 1.0) for hour in times))
    with pytest.raises(BadSeries, match="line 6: 7 hours without a price between line 5 and this, the first of 2 gaps"):
        path_of(HistoricalPath(series), 35)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_a_series_that_ends_too_early_says_how_many_steps_fit(hourly: Series) -> None:
    assert len(path_of(HistoricalPath(hourly), 9)) == 10
    with pytest.raises(BadSeries) as caught:
        path_of(HistoricalPath(hourly), 10)
    assert "ends at 1970-01-01 09:00:00 UTC, and 10 steps of 1 hour from 1970-01-01 00:00:00 UTC need" in str(
        caught.value
    )
    assert caught.value.hint == "9 steps fit: take fewer, or begin earlier"
    with pytest.raises(BadSeries) as caught:
        path_of(HistoricalPath(hourly, begin=8.5 * HOUR), 1)
    assert caught.value.hint == "begin earlier, or take shorter steps"


@pytest.mark.parametrize("begin", [-1, 9 * HOUR, "2023-03-11"])
def test_a_beginning_outside_of_the_series_is_refused(hourly: Series, begin) -> None:
    with pytest.raises(BadSeries, match="has no price at") as caught:
        HistoricalPath(hourly, begin=begin)
    assert caught.value.hint == "begin between 1970-01-01 00:00:00 UTC and 1970-01-01 09:00:00 UTC"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"begin": "soon"}, "begin 'soon' is not a valid time"),
        ({"fill": "guess"}, "unknown fill 'guess'"),
        ({"max_gap": 0.5}, "max_gap '0.5' is less than 1"),
        ({"max_gap": float("nan")}, "max_gap 'nan' is not a finite number"),
    ],
)
def test_options_that_mean_nothing_are_refused(hourly: Series, options, words) -> None:
    with pytest.raises(BadArgument, match=words):
        HistoricalPath(hourly, **options)


def test_a_path_is_not_a_series() -> None:
    with pytest.raises(BadArgument, match="is not a series") as caught:
        HistoricalPath("prices.csv")
    assert caught.value.hint == "Series.read(path) makes one of a file"


@pytest.mark.parametrize("arguments", [(0, 4, HOUR), (1, 0, HOUR), (1, 4, 0)])
def test_what_is_no_path_is_refused(hourly: Series, arguments) -> None:
    with pytest.raises(UsageError):
        HistoricalPath(hourly).path(*arguments, stream(1, "x"))


# -- the real past ----------------------------------------------------------------------------------------------------


def test_the_depeg_of_march_2023_has_gaps_and_falls_by_a_tenth(cases: Path) -> None:
    usdc = Series.read(cases / "market" / "usdc_depeg_15m_2023-03-09_19.json")
    with pytest.raises(BadSeries, match=r"record 5: 1 hour without a price between record 4 and this"):
        path_of(HistoricalPath(usdc), 900, step_seconds=900)
    path = HistoricalPath(usdc, fill="hold").path(1.0, 936, 900, stream(1, "x"))
    assert path.min() == usdc.prices.min() == 0.900761114779558
    weekend = HistoricalPath(usdc, begin="2023-03-11", fill="hold", anchored=True).path(1.0, 48, 3600, stream(1, "x"))
    assert weekend[0] == 1.0
    assert 0.88 < weekend.min() < 0.93


def test_a_feed_that_follows_chainlink_posts_the_same_integers(cases: Path) -> None:
    path = cases / "market" / "chainlink_ETH_USD_2023-04_2024-01.csv"
    rounds = Series.chainlink(path)
    prices = PricePaths.draw({"WETH": HistoricalPath(rounds)}, {"WETH": 1.0}, steps=7_000, step_seconds=HOUR, seed=1)
    answers = {int(line.split(",")[2]) for line in path.read_text(encoding="utf-8").splitlines()[1:]}
    assert {prices.usd_e8("WETH", step) for step in range(7_001)} <= answers


def test_hourly_history_is_itself(cases: Path) -> None:
    eth = Series.read(cases / "market" / "ETHUSDT_1h_2022-10_2025-10.csv")
    path = HistoricalPath(eth).path(1.0, len(eth) - 1, HOUR, stream(1, "x"))
    assert np.array_equal(path, eth.prices)


@pytest.mark.slow(0.5)
def test_a_motion_calibrated_on_history_is_as_volatile(cases: Path, tmp_path: Path) -> None:
    eth = Series.read(cases / "market" / "ETHUSDT_1h_2022-10_2025-10.csv")
    assert 0.5 < eth.volatility < 0.8
    drawn = GeometricBrownianMotion(eth.volatility).path(2000.0, 20_000, HOUR, stream(1, "WETH"))
    again = series_of(tmp_path, *((hour * HOUR, price) for hour, price in enumerate(drawn.tolist())))
    assert again.volatility == pytest.approx(eth.volatility, rel=0.02)  # four standard errors: 1 / √(2·20,000) each
