"""Figures as people read them: one minus sign, and none before zero."""

from __future__ import annotations

import pytest

from mayavi.portfolio.backtest.formatting import figure
from mayavi.scenarios.figures.formatting import dollars, percent, plain, shown_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (shown_number(-0.0001, "wad", "liquidation_sale_gap"), "0.0 %"),
        (percent(0.0, sign=True), "0.0 %"),
        (percent(-0.25, sign=True), "−25.0 %"),
        (percent(0.25, sign=True), "+25.0 %"),
        (percent(-0.00001), "0.00 %"),
        (percent(-0.125), "−12.50 %"),
        (dollars(-0.001), "$0.00"),
        (dollars(-3), "−$3.00"),
        (plain(-1873.414), "−1,873.41"),
        (plain(-0.0), "0"),
        (shown_number(-41, "count"), "−41"),
        (figure("total_return", -0.0052), "−0.52 %"),
        (figure("log_growth", -1e-9), "0.00000"),
    ],
)
def test_signs(text: str, expected: str) -> None:
    assert text == expected
