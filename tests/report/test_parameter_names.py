import pytest

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.heat_map import heat_map
from mayavi.report.sources.parameter_names import parameter_name, value_name


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("prices.WETH.size", "price shock of WETH"),
        ("agents.liquidators.count", "number of liquidators"),
        ("agents.borrowers.size_usd.lognormal.median", "median size in dollars of borrowers"),
        ("agents.borrowers.health_factor.normal.mean", "mean health factor of borrowers"),
        ("steps", "steps"),
    ],
)
def test_parameters_are_named_in_words(path: str, words: str) -> None:
    assert parameter_name(path) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [("-45%", "−45\u00a0%"), ("40000", "40,000"), ("-1_500.25", "−1,500.25"), ("999", "999"), ("gbm", "gbm")],
)
def test_values_are_written_as_pages_write_numbers(value: str, text: str) -> None:
    assert value_name(value) == text


def test_a_long_title_of_a_short_axis_is_wrapped() -> None:
    chart = heat_map("t", "s", ("x", ["a"]), ("median size in dollars of <b>", ["c"]), [[1.0]], Axis("v", "usd"))
    lines = chart.layout["yaxis"]["title"]["text"].split("<br>")
    assert len(lines) > 1
    assert "&lt;b&gt;" in lines[-1]
