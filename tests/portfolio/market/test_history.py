"""Markets out of files: what is missing or wrong is named, and no hour knows more than was known by then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mayavi.errors import BadArgument, BadSeries, UnknownKey, UsageError
from mayavi.numerics.streams import stream
from mayavi.portfolio.market.data import COLUMNS, RWAMarket
from mayavi.portfolio.market.history import read_rwa, trailing_volatility, write_rwa
from mayavi.portfolio.market.model import RWAModel

MODEL = RWAModel()
WriteRows = Callable[..., Path]
HEADER = "time,eth_price,btc_price,fed_rate"


def row(hour: int, eth: object = None, btc: object = 60_000, fed: object = 4.5) -> str:
    return f"2024-03-01T{hour:02d}:00:00Z,{3000 + hour if eth is None else eth},{btc},{fed}"


@pytest.fixture
def write(tmp_path: Path) -> WriteRows:
    def write(*rows: str, header: str = HEADER, name: str = "market.csv") -> Path:
        path = tmp_path / name
        path.write_text("\n".join((header, *rows, "")), encoding="utf-8")
        return path

    return write


def refused(path: object, **more: object) -> UsageError:
    with pytest.raises(UsageError) as error:
        read_rwa(path, **more)  # type: ignore[arg-type]
    assert error.value.hint
    return error.value


def test_the_least_there_can_be(write: WriteRows) -> None:
    path = write(*(row(hour) for hour in range(5)))
    market = read_rwa(path)
    assert isinstance(market, RWAMarket)
    assert market.paths == 1
    assert market.hours == 4
    assert market.source == str(path)
    assert market.column("eth_price")[0].tolist() == [3000, 3001, 3002, 3003, 3004]
    assert market.times is not None
    assert market.times[0] == 1709251200
    assert market.assumed == tuple(name for name in COLUMNS if name not in ("eth_price", "btc_price", "fed_rate"))


def test_what_is_absent_follows_the_rules(write: WriteRows) -> None:
    market = read_rwa(write(*(row(hour) for hour in range(24))))
    column = {name: market.column(name)[0] for name in COLUMNS}
    eth = column["eth_price"]
    assert column["sol_price"] == pytest.approx(150 * eth / 3000)
    assert column["mnt_price"] == pytest.approx(0.7 * eth / 3000)
    assert column["usdy_apy"] == pytest.approx(4.5 - MODEL.usdy_fee)
    assert (column["meth_apy"] == MODEL.staking_mean).all()
    mi4 = 0.265 * 3.8 + 0.085 * 6.5 + 0.15 * (4.0 + 2.0)
    assert column["mi4_apy"] == pytest.approx(mi4)
    assert column["btc_dominance"][0] == pytest.approx(MODEL.dominance_start)
    assert column["btc_dominance"][-1] < column["btc_dominance"][0]  # ETH rose alone
    assert (column["usdy_peg"] == 1).all()
    assert (column["meth_peg"] == 1).all()
    assert column["eth_vol"][0] == MODEL.eth_volatility
    assert column["eth_vol"][-1] < column["eth_vol"][0]  # it hardly moved
    assert (column["usdy_vol"] == MODEL.usdy_vol_mean).all()
    assert column["aave_usdy_apy"] == pytest.approx(0.5 * 0.9 * 4.5)
    assert column["aave_meth_apy"] == pytest.approx(0.45 * 0.9 * 3.8)
    assert (column["gas_price"] == MODEL.gas_median).all()


def test_the_rules_take_their_numbers_from_the_model(write: WriteRows) -> None:
    model = replace(MODEL, staking_mean=2.5, usdy_fee=1.0)
    market = read_rwa(write(row(0), row(1)), model=model)
    assert market.column("meth_apy")[0, 0] == 2.5
    assert market.column("usdy_apy")[0, 0] == 3.5


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_market_comes_back_to_the_last_bit(tmp_path: Path, kind: str) -> None:
    drawn = MODEL.draw([stream(4, "a"), stream(4, "b")], 100)
    path = tmp_path / f"drawn's.{kind}"
    write_rwa(drawn, path, row=1)
    found = read_rwa(path)
    assert found.values[0].tobytes() == drawn.values[1].tobytes()
    assert found.assumed == ()
    write_rwa(found, tmp_path / f"again.{kind}")
    assert read_rwa(tmp_path / f"again.{kind}").digest == found.digest


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    drawn = MODEL.draw([stream(4, "a")], 10)
    with pytest.raises(BadArgument, match="there is no path '1'"):
        write_rwa(drawn, tmp_path / "a.csv", row=1)
    with pytest.raises(BadArgument, match="is not a file that a market can be written to"):
        write_rwa(drawn, tmp_path / "a.json")


@pytest.mark.parametrize("name", ["eth_price", "btc_price", "fed_rate"])
def test_a_missing_column_is_named(write: WriteRows, name: str) -> None:
    path = write(row(0), row(1), header=HEADER.replace(name, "other"))
    assert str(refused(path)) == f"'{path}' has no column '{name}'"


def test_a_missing_column_that_is_misspelt_is_guessed(write: WriteRows) -> None:
    error = refused(write(row(0), row(1), header="time,eth_prize,btc_price,fed_rate"))
    assert error.hint == "did you mean 'eth_prize'?"


def test_a_column_that_no_market_has_is_named(write: WriteRows) -> None:
    error = refused(write(row(0) + ",1", row(1) + ",1", header=HEADER + ",usdy_ap"))
    assert "has a column 'usdy_ap' that no market has" in str(error)
    assert str(error.hint).startswith("did you mean 'usdy_apy'")


def test_a_column_stands_once(write: WriteRows) -> None:
    error = refused(write(row(0) + ",1", row(1) + ",1", header=HEADER + ",ETH_price"))
    assert "has two columns 'eth_price'" in str(error)


def test_a_missing_time_is_named(write: WriteRows) -> None:
    error = refused(write(row(0), row(1), header="hour,eth_price,btc_price,fed_rate"))
    assert "has no column 'time'" in str(error)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (row(1, eth="nan"), "line 3: the price is 'nan' in column 'eth_price'"),
        (row(1, eth="-5"), "line 3: the price '-5' is not above zero in column 'eth_price'"),
        (row(1, btc="0"), "line 3: the price '0' is not above zero in column 'btc_price'"),
        (row(1, btc=""), "line 3: there is no price in column 'btc_price'"),
        (row(1, fed="high"), "line 3: 'high' is not a number in column 'fed_rate'"),
        (row(1, fed="inf"), "line 3: the price is 'inf' in column 'fed_rate'"),
        (row(0), "line 3: 2024-03-01 00:00:00 UTC is the time of line 2 too"),
        ("soon,1,1,1", "line 3: 'soon' is not a valid time in column 'time'"),
        (row(1) + ",1", "line 3: 5 fields where the header has 4"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(write: WriteRows, bad: str, told: str) -> None:
    path = write(row(0), bad, row(2))
    error = refused(path)
    assert str(error) == f"'{path}', {told}"
    assert error.hint
    assert "=True" not in error.hint  # a series has such settings, a market has none


def test_unsorted_times_are_told(write: WriteRows) -> None:
    error = refused(write(row(0), row(2), row(1), row(3)))
    assert "line 4: 2024-03-01 01:00:00 UTC comes after 2024-03-01 02:00:00 UTC in line 3" in str(error)
    backwards = refused(write(row(3), row(2), row(1)))
    assert "runs from new to old" in str(backwards)
    assert backwards.hint == "sort the lines by time"


def test_what_to_do_is_what_a_market_can_do(write: WriteRows) -> None:
    """A series takes arguments that a market and a command line do not have; a hint names none of them."""
    assert refused(write(row(0), row(1), row(1), row(2))).hint == "remove one of them"
    blank = row(1).rsplit(",", 1)[0] + ","
    assert refused(write(row(0), blank, row(2))).hint == "fill it in, or remove the line"


def test_files_of_different_times_are_told_by_their_columns(tmp_path: Path) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("time,c\n" + "".join(f"2023-03-01T{hour:02d}:00:00Z,1\n" for hour in range(5)))
    new.write_text("time,c\n" + "".join(f"2024-03-01T{hour:02d}:00:00Z,1\n" for hour in range(5)))
    columns = dict.fromkeys(("eth_price", "btc_price", "fed_rate"), (new, "c"))
    with pytest.raises(BadSeries) as caught:
        read_rwa({**columns, "usdy_peg": (old, "c")})
    assert "eth_price begins at 2024-03-01 00:00:00 UTC, after usdy_peg ends" in str(caught.value)


def test_a_rate_may_be_zero_and_a_yield_negative(write: WriteRows) -> None:
    header = HEADER + ",usdy_apy"
    market = read_rwa(write(row(0, fed=0) + ",-0.5", row(1, fed=0) + ",0", header=header))
    assert market.column("fed_rate")[0].tolist() == [0, 0]
    assert market.column("usdy_apy")[0].tolist() == [-0.5, 0]


def test_a_value_that_cannot_be_is_told_with_its_time(write: WriteRows) -> None:
    error = refused(write(row(0) + ",50", row(1) + ",150", header=HEADER + ",btc_dominance"))
    assert "btc_dominance at 2024-03-01 01:00:00 UTC" in str(error)


def test_a_gap_is_told_or_held(write: WriteRows) -> None:
    path = write(*(row(hour) for hour in (0, 1, 2, 3, 9, 10)))
    error = refused(path)
    assert "6 hours without eth_price from 2024-03-01 03:00:00 UTC on; usual is 1 hour" in str(error)
    assert "fill='hold'" in str(error.hint)
    held = read_rwa(path, fill="hold").column("eth_price")[0]
    assert held.tolist() == [3000, 3001, 3002, *[3003] * 6, 3009, 3010]
    assert read_rwa(path, end="2024-03-01T03:00:00Z").hours == 3
    assert read_rwa(path, begin="2024-03-01T09:00:00Z").hours == 1
    with pytest.raises(BadArgument, match="fill 'guess' is unknown"):
        read_rwa(path, fill="guess")  # type: ignore[arg-type]


def test_zones_are_turned_into_utc_and_not_mixed(write: WriteRows) -> None:
    plain, zoned = "2024-03-01 {:02d}:00:00,3000,60000,4.5", "2024-03-01T{:02d}:00:00+02:00,3000,60000,4.5"
    utc = read_rwa(write(plain.format(2), plain.format(3)))
    east = read_rwa(write(zoned.format(4), zoned.format(5)))
    assert utc.times is not None
    assert east.times is not None
    assert utc.times.tolist() == east.times.tolist()
    error = refused(write(plain.format(1), zoned.format(5), plain.format(6)))
    assert "line 3: '2024-03-01T05:00:00+02:00' has a time zone, unlike those before it" in str(error)


def test_an_hour_has_the_last_value_known_by_then(write: WriteRows) -> None:
    """Quarters of an hour, and off the hour: nothing is averaged and nothing taken from later."""
    quarters = [f"2024-03-01T00:{minute:02d}:00Z,{3000 + minute},60000,4.5" for minute in (5, 20, 35, 50)]
    later = [f"2024-03-01T01:{minute:02d}:00Z,{3100 + minute},60000,4.5" for minute in (5, 20, 35, 50)]
    last = "2024-03-01T02:05:00Z,9999,60000,4.5"
    market = read_rwa(write(*quarters, *later, last))
    assert market.column("eth_price")[0].tolist() == [3050, 3150]
    assert market.times is not None
    assert (market.times % 3600 == 0).all()


def test_later_rows_change_no_hour_before(write: WriteRows) -> None:
    """With every rule that fills what is absent."""
    rng = np.random.default_rng(1)
    eth, btc = 3000 * np.exp(rng.normal(0, 0.01, 23)), 60_000 * np.exp(rng.normal(0, 0.01, 23))
    rows = [row(hour, eth[hour], btc[hour], 4.5 + 0.25 * (hour > 10)) for hour in range(23)]
    other = [*rows[:12], *(row(hour, 1.5 * eth[hour], 0.5 * btc[hour], 0.1) for hour in range(12, 23))]
    one, two = read_rwa(write(*rows)), read_rwa(write(*other))
    assert one.values[:, :12].tobytes() == two.values[:, :12].tobytes()
    assert one.values[:, 12:].tobytes() != two.values[:, 12:].tobytes()


def test_prices_come_hourly(write: WriteRows) -> None:
    days = [f"2024-03-{day:02d},3000,60000,4.5" for day in range(1, 5)]
    assert "has eth_price every 1 day" in str(refused(write(*days)))


def test_files_are_joined_by_time(write: WriteRows) -> None:
    prices = write(
        *(f"2024-03-01T{hour:02d}:00:00Z,{hour + 100}" for hour in range(20)), header="time,close", name="a.csv"
    )
    rates = write("2024-03-02,,5", "2024-03-01,4.5,5", "2024-02-29,4.25,5", header="Date,rate,other", name="b.csv")
    market = read_rwa({"eth_price": (prices, "close"), "btc_price": (prices, "close"), "fed_rate": (rates, "rate")})
    assert market.hours == 19
    assert (market.column("fed_rate") == 4.5).all()
    assert market.source == "a.csv + b.csv"
    late = read_rwa(
        {"eth_price": (prices, "close", 1), "btc_price": (prices, "close"), "fed_rate": (rates, "rate", 24)}
    )
    assert late.column("eth_price")[0, 0] == 100
    assert late.column("btc_price")[0, 0] == 101  # an hour's bar is known when the hour is over
    assert (late.column("fed_rate") == 4.25).all()


def test_what_is_wrong_with_a_join_is_named(write: WriteRows) -> None:
    path = write(row(0), row(1))
    named = {name: (path, name) for name in ("eth_price", "btc_price", "fed_rate")}
    with pytest.raises(UnknownKey, match="unknown column 'eth_prize'"):
        read_rwa(named | {"eth_prize": (path, "eth_price")})
    with pytest.raises(BadSeries, match="no file is named for the column 'fed_rate'"):
        read_rwa({name: each for name, each in named.items() if name != "fed_rate"})
    with pytest.raises(BadSeries, match="has no column 'clothes'"):
        read_rwa(named | {"eth_price": (path, "clothes")})
    with pytest.raises(BadArgument, match="the delay '-1' of eth_price"):
        read_rwa(named | {"eth_price": (path, "eth_price", -1)})


def test_files_that_are_none_are_told(tmp_path: Path, write: WriteRows) -> None:
    assert "there is no file" in str(refused(tmp_path / "none.csv"))
    assert "is not a readable price file" in str(refused(write(row(0), row(1), name="market.txt")))
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 no")
    assert "cannot be read as Parquet" in str(refused(broken))
    assert "has no column 'time'" in str(refused(write(header="")))


def test_too_short_is_told(write: WriteRows) -> None:
    assert "has one price" in str(refused(write(row(0))))
    path = write(row(0), row(1), row(2))
    error = refused(path, begin="2024-03-01T01:30:00Z")
    assert "has no two whole hours" in str(error)
    assert "from 2024-03-01 00:00:00 UTC to 2024-03-01 02:00:00 UTC" in str(error.hint)
    assert "begin 'soon' is not a valid time" in str(refused(path, begin="soon"))


def test_trailing_volatility_finds_a_constant_one() -> None:
    rng = np.random.default_rng(2)
    moves = rng.normal(0, 0.5 / np.sqrt(8760), (1, 5000))
    prices = 3000 * np.exp(np.concatenate((np.zeros((1, 1)), np.cumsum(moves, axis=1)), axis=1))
    found = trailing_volatility(prices, 2.0, half_life=24.0)
    assert found[0, 0] == 2.0
    assert np.sqrt((found[0, 500:] ** 2).mean()) == pytest.approx(0.5, rel=0.05)


@pytest.mark.slow(1)
def test_the_files_of_the_calibration_are_a_market(cases: Path) -> None:
    folder = cases / "market"
    market = read_rwa(
        {
            "eth_price": (folder / "ETHUSDT_1h_2022-10_2025-10.csv", "close"),
            "btc_price": (folder / "BTCUSDT_1h_2022-10_2025-10.csv", "close"),
            "fed_rate": (folder / "USA_FED_FRED_daily_1954_2026.csv", "Federal Funds Effective Rate"),
        }
    )
    assert market.hours == 26_279
    assert market.column("eth_price")[0, [0, -1]].tolist() == [1334.47, 3869.03]
    assert market.column("fed_rate")[0, 0] == 3.08
    assert 0.2 < np.median(market.column("eth_vol")) < 0.8
