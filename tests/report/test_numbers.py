"""Numbers as readers see them."""

from __future__ import annotations

import math

import pytest

from mayavi.report.numbers import (
    bounds,
    change,
    count,
    exact,
    interval,
    percent,
    short,
    shortened,
    usd,
    utc,
    written_numbers,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1_240_000, "1.24 M"),
        (11_976, "12.0 k"),
        (12_000, "12 k"),
        (999.9, "1.00 k"),
        (312, "312"),
        (0.0312345, "0.0312"),
        (-7.5, "−7.5"),
        (1.23e-9, "1.23e-09"),
        (4e20, "4.00e+20"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_three_digits(number: float | None, text: str) -> None:
    assert short(number).replace("\u00a0", " ") == text


def test_units_stay_with_their_number() -> None:
    assert usd(-13_678.4) == "−$13.7\u00a0k"
    assert percent(0.1234) == "12.3\u00a0%"
    assert percent(-13.643) == "−1,360\u00a0%"
    assert change(13.643) == "+1,360\u00a0%"
    assert change(0.014) == "+1.4\u00a0%"
    assert change(-1e-20) == "−1.00e-18\u00a0%"
    assert change(0.0) == "0\u00a0%"
    assert count(12_345) == "12,345"


def test_intervals_and_names() -> None:
    assert interval(12.3, 10.1, 15.8) == "12.3 [10.1, 15.8]"
    assert bounds(None, None) == ""
    assert exact(0.0000164788) == "0.0000164788"
    assert utc(0) == "1970-01-01 00:00:00 UTC"
    assert utc(10**18) == "–"
    assert shortened("ab" * 32) == "ababab…abab"
    assert shortened("borrowers-12") == "borrowers-12"


def test_the_minus_of_numbers_in_texts_is_one_and_hyphens_stay() -> None:
    assert written_numbers("interval [4.291e-05, 0.001531]") == "interval [0.00004291, 0.001531]"
    assert written_numbers("the interval [-0.006463, -.5] holds -$3") == "the interval [−0.006463, −.5] holds −$3"
    for text in ("2024-10-11", "sweep-0123", "runs 3-5", "best-of-3"):
        assert written_numbers(text) == text
