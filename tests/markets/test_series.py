"""Price files: what is read, of made and of real files, and its volatility."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mayavi.errors import BadArgument, BadSeries
from mayavi.markets import Series
from mayavi.markets.timestamps import say_duration, say_time, to_seconds
from tests.markets.price_files import GOOD, lines, write_parquet


def test_a_csv_file_gives_times_prices_and_lines(file) -> None:
    series = Series.read(file(GOOD))
    assert series.times.tolist() == [1678492800, 1678496400, 1678500000]
    assert series.prices.tolist() == [1.0, 0.97, 0.95]
    assert series.places.tolist() == [2, 3, 4]
    assert series.usual_spacing == 3600
    assert len(series) == 3
    with pytest.raises(ValueError, match="read-only"):
        series.prices[0] = 2.0


def test_the_order_of_time_can_be_found(file) -> None:
    for rows in (("1,1.5", "2,2.5", "3,3.5"), ("3,3.5", "2,2.5", "1,1.5")):
        series = Series.read(file(lines(*rows)), order="either")
        assert series.times.tolist() == [1, 2, 3]
        assert series.prices.tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(BadSeries, match="line 4"):
        Series.read(file(lines("3,1", "1,1", "2,1")), order="either")


@pytest.mark.parametrize("header", ["time,close", "Timestamp,Price", " dt , C ", "date,value", "DateTime,close"])
def test_columns_are_found_by_name(file, header: str) -> None:
    assert Series.read(file(lines("0,1", "60,2", header=header))).prices.tolist() == [1.0, 2.0]


def test_columns_can_be_named(file) -> None:
    text = "when,time,open,close\n0,9,1,7\n60,8,2,7\n"
    assert Series.read(file(text), time_column="when", price_column="Open").prices.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "moment",
    [
        "2023-03-11T07:15:00Z",
        "2023-03-11T07:15:00.000Z",
        "2023-03-11 07:15:00",
        "2023-03-11 07:15:00 UTC",
        "2023-03-11T09:15:00+02:00",
        "1678518900",
        "1678518900.0",
        "1678518900000",
        "1678518900000000",
        "1678518900000000000",
        1678518900,
        1678518900000,
    ],
)
def test_a_moment_can_be_written_in_many_ways(moment) -> None:
    assert to_seconds(moment) == 1678518900.0


def test_a_date_is_its_midnight_and_may_lie_before_1970() -> None:
    assert to_seconds("2023-03-11") == 1678492800
    assert to_seconds("1954-07-01") == -489_283_200
    assert say_time(-489_283_200) == "1954-07-01 00:00:00 UTC"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (12, "12 seconds"),
        (60, "1 minute"),
        (900, "15 minutes"),
        (3600, "1 hour"),
        (8100, "2.25 hours"),
        (86400, "1 day"),
    ],
)
def test_durations_are_said_as_people_do(seconds: float, said: str) -> None:
    assert say_duration(seconds) == said


def test_semicolons_tabs_a_byte_order_mark_and_empty_lines_do_not_hurt(file) -> None:
    for text in ("time;close\n0;1\n\n60;2\n", "\ufefftime\tclose\r\n0\t1\r\n60\t2\r\n"):
        series = Series.read(file(text))
        assert series.prices.tolist() == [1.0, 2.0]


def test_answers_of_a_feed_are_exact(file) -> None:
    text = lines("0,229750276106", "60,229738000000", header="update,answer")
    assert Series.read(file(text), decimals=8).prices.tolist() == [2297.50276106, 2297.38]


def test_rounds_of_chainlink_run_backwards_may_lack_an_answer_and_share_a_time(file) -> None:
    rows = ["4,250000000,180,180", "3,240000000,120,120", "2,230000000,120,120", "1,200000000,60,60", "0,0,0,0"]
    series = Series.chainlink(file(lines(*rows, header="round,answer,start,update")))
    assert series.times.tolist() == [60, 120, 180]
    assert series.prices.tolist() == [2.0, 2.4, 2.5]
    assert series.places.tolist() == [5, 3, 2]


def test_descending_files_and_blanks_are_read_where_somebody_says_so(file) -> None:
    path = file(lines("120,3", "60,", "0,1"))
    assert Series.read(path, order="descending", skip_blank=True).prices.tolist() == [1.0, 3.0]


def test_the_last_of_several_at_one_moment_is_kept_where_somebody_says_so(file) -> None:
    path = file(lines("0,1", "60,2", "60,3", "120,4"))
    assert Series.read(path, keep_last=True).prices.tolist() == [1.0, 3.0, 4.0]


def test_json_records_are_read_as_a_list_or_under_data(file) -> None:
    records = [{"dt": "2023-03-11T00:00:00.000Z", "c": 0.97}, {"dt": "2023-03-11T00:15:00.000Z", "c": 0.95}]
    for content in (records, {"meta": {}, "data": records}):
        series = Series.read(file(json.dumps(content), "prices.json"))
        assert series.prices.tolist() == [0.97, 0.95]
        assert series.usual_spacing == 900


@pytest.mark.parametrize(
    "kind", ["timestamp", "timestamp with time zone", "timestamp_ns", "timestamp_ms", "timestamp_s", "varchar"]
)
def test_parquet_times_of_every_type_are_the_same_moment(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "prices.parquet"
    write_parquet(path, f"select t::timestamp::{kind} as time, p as close", timezone="UTC")
    series = Series.read(path)
    assert series.times.tolist() == [1678492800, 1678496400, 1678500000]
    assert series.prices.tolist() == [1.0, 0.97, 0.95]


def test_parquet_dates_integers_and_decimals_are_read(tmp_path: Path) -> None:
    path = tmp_path / "prices.parquet"
    write_parquet(path, "select (t::timestamp + interval (24 * i) hour)::date as date, p::decimal(20, 8) as price")
    assert Series.read(path).times.tolist() == [1678492800, 1678492800 + 86_400, 1678492800 + 2 * 86_400]
    write_parquet(path, 'select epoch_ms(t::timestamp) as "update", (p * 1e8)::hugeint as answer')
    series = Series.read(path, decimals=8)
    assert series.times.tolist() == [1678492800, 1678496400, 1678500000]
    assert series.prices.tolist() == [1.0, 0.97, 0.95]


def test_a_name_of_a_file_is_no_pattern(tmp_path: Path) -> None:
    path = tmp_path / "prices [1]*.parquet"
    write_parquet(path, "select t::timestamp as time, p as close")
    write_parquet(tmp_path / "prices 1 of 2.parquet", "select t::timestamp as time, p as close")
    assert len(Series.read(path)) == 3


def test_a_series_is_of_the_file_whatever_its_format(tmp_path: Path, file) -> None:
    parquet = tmp_path / "prices.parquet"
    write_parquet(parquet, "select t::timestamp as time, p as close")
    one, other = Series.read(file(GOOD)), Series.read(parquet)
    assert one.times.tobytes() == other.times.tobytes()
    assert one.prices.tobytes() == other.prices.tobytes()


def test_the_volatility_of_three_prices_is_the_sample_deviation_of_two_returns(file) -> None:
    year = 365 * 86_400
    found = Series.read(file(lines("0,100", f"{year},110", f"{2 * year},99"))).volatility
    first, second = np.log(1.1), np.log(0.9)
    assert found == pytest.approx(abs(first - second) / np.sqrt(2), rel=1e-12)


def test_the_volatility_of_a_series_is_per_year(file) -> None:
    day = 86_400
    prices = [100 * np.exp(0.01 * (-1) ** n) for n in range(401)]
    path = file(lines(*(f"{n * day},{price!r}" for n, price in enumerate(map(float, prices)))))
    assert Series.read(path).volatility == pytest.approx(0.02 * np.sqrt(365), rel=0.01)
    with pytest.raises(BadArgument, match="two prices, too few"):
        _ = Series.read(file(lines("0,1", "60,2"))).volatility


@pytest.mark.slow(0.5)
def test_the_real_files_are_read_whole(cases: Path) -> None:
    market = cases / "market"
    for name, count, spacing, first, last in [
        ("ETHUSDT_1h_2022-10_2025-10.csv", 26_280, 3600, 1334.47, 3869.03),
        ("BTCUSDT_1h_2022-10_2025-10.csv", 26_280, 3600, 19_263.1, 109_887.2),
        ("EIGENUSDT_1h_2024-10-23_2025-10.csv", 8_760, 3600, 3.457, 1.066),
        ("bybit_ENAUSDT_1d_2024-04_2025-10.csv", 569, 86_400, 0.7738, 0.4287),
        ("usdc_depeg_15m_2023-03-09_19.json", 808, 900, 1.00302319431652, 1.00214826523926),
    ]:
        series = Series.read(market / name)
        assert (len(series), series.usual_spacing) == (count, spacing), name
        assert (series.prices[0], series.prices[-1]) == (first, last), name


@pytest.mark.slow
def test_the_real_rounds_of_chainlink_are_read_exactly(cases: Path) -> None:
    path = cases / "market" / "chainlink_ETH_USD_2023-04_2024-01.csv"
    series = Series.chainlink(path)
    assert len(series) == 11_107 - 1 - 5  # one round without an answer, five at the time of the round after
    assert (series.times[0], series.times[-1]) == (1_680_734_315, 1_706_558_123)
    assert series.prices[-1] == 2297.50276106
    with pytest.raises(BadSeries, match="line 11108: the price '0' is not above zero"):
        Series.read(path, decimals=8, order="descending")
    ratio = Series.chainlink(cases / "market" / "chainlink_STETH_ETH_2022-01_2024-01.csv", decimals=18)
    assert len(ratio) == 745
    assert ratio.prices.min() == pytest.approx(0.93501933)


@pytest.mark.slow(0.5)
def test_the_real_file_of_the_fed_needs_words_of_its_own(cases: Path) -> None:
    path = cases / "market" / "USA_FED_FRED_daily_1954_2026.csv"
    with pytest.raises(BadSeries, match="no column of prices"):
        Series.read(path)
    column = "Federal Funds Effective Rate"
    with pytest.raises(BadSeries, match="line 2: there is no price"):
        Series.read(path, price_column=column, order="descending")
    rates = Series.read(path, price_column=column, order="descending", skip_blank=True)
    assert say_time(rates.times[0]) == "1954-07-01 00:00:00 UTC"
    assert rates.prices[-1] == 3.64
