"""Price files that are refused, with the line and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import BadSeries, UsageError
from mayavi.markets import Series
from tests.markets.price_files import GOOD, lines, write_parquet

BAD = {
    "an empty file": ("", "'FILE' is empty", "it needs a time and a price"),
    "a header alone": ("time,close\n", "'FILE' has no price", "a series has at least two"),
    "one price": (lines("0,1"), "'FILE' has one price", "a series has at least two"),
    "no header": (
        lines("60,2", header="0,1"),
        "'FILE' has no column of times among '0', '1'",
        "the first line names the columns",
    ),
    "no price column": (
        lines("0,1", header="time,bid"),
        "'FILE' has no column of prices among 'time', 'bid'",
        "say price_column=…, or call it one of close",
    ),
    "two price columns": (
        lines("0,1,2", header="time,close,price"),
        "'FILE': columns 'close' and 'price' could both be the price",
        "say which: price_column=…",
    ),
    "two time columns": (
        lines("0,1,2", header="time,date,price"),
        "'FILE': columns 'time' and 'date' could both be the time",
        "say which: time_column=…",
    ),
    "unsorted time": (
        lines("0,1", "120,2", "60,3", "180,4"),
        "'FILE', line 4: 1970-01-01 00:01:00 UTC comes after 1970-01-01 00:02:00 UTC in line 3",
        "sort the lines by time",
    ),
    "a time twice": (
        lines("0,1", "60,2", "60,3"),
        "'FILE', line 4: 1970-01-01 00:01:00 UTC is the time of line 3 too",
        "remove one of them, or say keep_last=True",
    ),
    "newest first": (lines("120,1", "60,2", "0,3"), "'FILE' runs from new to old", "say order='descending'"),
    "no time": (lines("0,1", ",2"), "'FILE', line 3: there is no time in column 'time'", "seconds since 1970"),
    "a time that is none": (
        lines("yesterday,1", "0,2"),
        "'FILE', line 2: 'yesterday' is not a valid time in column 'time'",
        "write it as",
    ),
    "a day that never was": (
        lines("2023-02-30,1", "0,2"),
        "'FILE', line 2: '2023-02-30' is not a valid time",
        "write it as",
    ),
    "a time of nan": (lines("nan,1", "0,2"), "'FILE', line 2: 'nan' is not a valid time", "write it as"),
    "no price": (lines("0,1", "60,"), "'FILE', line 3: there is no price in column 'close'", "say skip_blank=True"),
    "a price that is none": (
        lines("0,n/a", "60,1"),
        "'FILE', line 2: 'n/a' is not a number in column 'close'",
        "as 1234.5",
    ),
    "a price with separators": (
        lines('0,"1,234.5"', "60,1"),
        "'FILE', line 2: '1,234.5' is not a number",
        "without separators",
    ),
    "a price with underscores": (
        lines("0,1_234", "60,1"),
        "'FILE', line 2: '1_234' is not a number",
        "without separators",
    ),
    "nan": (lines("0,1", "60,nan"), "'FILE', line 3: the price is 'nan' in column 'close'", "remove the line"),
    "infinity": (lines("0,1", "60,inf"), "'FILE', line 3: the price is 'inf'", "remove the line"),
    "an overflow": (lines("0,1", "60,1e999"), "'FILE', line 3: the price is '1e999'", "remove the line"),
    "a negative price": (lines("0,1", "60,-2"), "'FILE', line 3: the price '-2' is not above zero", "remove the line"),
    "zero": (lines("0,1", "60,0.0"), "'FILE', line 3: the price '0.0' is not above zero", "remove the line"),
    "a short line": (lines("0,1", "60"), "'FILE', line 3: 1 fields where the header has 2", "fix or remove it"),
    "a long line": (lines("0,1", "60,1,5"), "'FILE', line 3: 3 fields where the header has 2", "fix or remove it"),
    "an open quote": (lines("0,1", '60,"1'), "'FILE', line 3: unexpected end of data", "fix or remove the line"),
    "another encoding": (
        "time,close\n0,1 €\n".encode("latin-1", "replace") + b"\xff\n",
        "'FILE' is not UTF-8 text",
        "UTF-8",
    ),
    "answers without decimals": (
        lines("0,229750276106", "60,229750276106", header="update,answer"),
        "'FILE': an answer of a feed is an integer with decimals",
        "decimals=8",
    ),
}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.replace(" ", "_"))
def test_a_bad_csv_file_is_refused_with_line_and_remedy(file, case: str) -> None:
    text, words, remedy = BAD[case]
    path = file(text)
    with pytest.raises(BadSeries) as caught:
        Series.read(path)
    assert words.replace("FILE", str(path)) in str(caught.value)
    assert remedy in caught.value.hint
    assert isinstance(caught.value, UsageError)
    assert caught.value.exit_code == 2


def test_descending_files_name_the_line_that_is_out_of_order(file) -> None:
    path = file(lines("180,1", "60,2", "120,3", "0,4"))
    with pytest.raises(
        BadSeries, match=r"line 4: 1970-01-01 00:02:00 UTC comes after 1970-01-01 00:01:00 UTC in line 3"
    ):
        Series.read(path, order="descending")


def test_an_ascending_file_is_not_taken_for_a_descending_one(file) -> None:
    with pytest.raises(BadSeries, match="runs from old to new") as caught:
        Series.read(file(GOOD), order="descending")
    assert caught.value.hint == "say order='ascending'"


def test_prices_with_a_point_are_no_answers_of_a_feed(file) -> None:
    with pytest.raises(BadSeries, match=r"line 2: '1\.0' is not an integer") as caught:
        Series.read(file(GOOD), decimals=8)
    assert "leave decimals out" in caught.value.hint


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"price_column": "clse"}, "has no column 'clse'"),
        ({"time_column": "tme"}, "has no column 'tme'"),
    ],
)
def test_a_column_that_is_not_there_names_the_nearest(file, options, words) -> None:
    with pytest.raises(BadSeries, match=words) as caught:
        Series.read(file(GOOD), **options)
    assert caught.value.hint.startswith("did you mean")


def test_a_file_that_is_not_there_names_the_nearest(file) -> None:
    path = file(GOOD)
    with pytest.raises(BadSeries, match="there is no file") as caught:
        Series.read(path.with_name("price.csv"))
    assert caught.value.hint == "did you mean 'prices.csv'?"
    with pytest.raises(BadSeries, match="there is no file"):
        Series.read(path.parent / "nowhere" / "price.parquet")


def test_folders_and_unknown_formats_are_refused(tmp_path: Path, file) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(BadSeries, match="is a folder"):
        Series.read(tmp_path / "folder.csv")
    with pytest.raises(BadSeries, match="is not a readable price file") as caught:
        Series.read(file(GOOD, "prices.xlsx"))
    assert caught.value.hint == "give a .csv, .parquet or .json file"


def test_a_file_that_cannot_be_opened_says_why(file) -> None:
    with pytest.raises(BadSeries, match="cannot be read: Not a directory"):
        Series.read(file(GOOD) / "prices.csv")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ('{"a": 1}', "holds no list of records"),
        ("[]", "is empty"),
        ("[1, 2]", "record 1: '1' is not a record"),
        ('[{"time": 0, "close": 1}, {"time": 60}]', "record 2: there is no price in column 'close'"),
        ('[{"time": 0, "close": 1}, {"time": 60, "close": NaN}]', "record 2: the price is 'nan'"),
        (
            '[{"time": 60, "close": 1}, {"time": 60, "close": 2}]',
            "record 2: 1970-01-01 00:01:00 UTC is the time of record 1 too",
        ),
        ('[{"time": true, "close": 1}, {"time": 60, "close": 2}]', "record 1: 'True' is not a valid time"),
        ('[{"time": 0, "close": true}, {"time": 60, "close": 2}]', "record 1: 'True' is not a number"),
    ],
)
def test_bad_json_is_refused(file, content: str, words: str) -> None:
    with pytest.raises(BadSeries) as caught:
        Series.read(file(content, "prices.json"))
    assert words in str(caught.value)
    assert caught.value.hint


@pytest.mark.slow(0.3)
def test_bad_parquet_is_refused(tmp_path: Path, file) -> None:
    with pytest.raises(BadSeries, match="cannot be read as Parquet") as caught:
        Series.read(file("not parquet at all, though long enough", "prices.parquet"))
    assert "\n" not in str(caught.value)
    path = tmp_path / "prices.parquet"
    write_parquet(path, "select t::timestamp as time, case when i = 1 then null else p end as close")
    with pytest.raises(BadSeries, match="row 2: there is no price in column 'close'"):
        Series.read(path)
    write_parquet(path, "select t::timestamp as time, case when i = 1 then 'nan'::double else p end as close")
    with pytest.raises(BadSeries, match="row 2: the price is 'nan'"):
        Series.read(path)
    write_parquet(path, "select t::timestamp - interval (5 * i) hour as time, p as close")
    with pytest.raises(BadSeries, match="runs from new to old"):
        Series.read(path)


def test_text_is_read_as_a_file_of_it_would_be(file) -> None:
    for text, name in ((GOOD, "prices.csv"), ('[{"time": 0, "close": 1}, {"time": 60, "close": 2}]', "prices.json")):
        one, other = Series.parse(text, "prices of WETH"), Series.read(file(text, name))
        assert one.times.tolist() == other.times.tolist()
        assert one.prices.tolist() == other.prices.tolist()
    with pytest.raises(BadSeries, match="'prices of WETH', line 3: the price '-2' is not above zero"):
        Series.parse("time;rate\n0;1\n60;-2\n", "prices of WETH", price_column="rate")


@pytest.mark.parametrize("options", [{"order": "sideways"}, {"decimals": -1}, {"decimals": 1.5}])
def test_options_that_mean_nothing_are_refused(file, options) -> None:
    with pytest.raises(UsageError) as caught:
        Series.read(file(GOOD), **options)
    assert caught.value.hint
