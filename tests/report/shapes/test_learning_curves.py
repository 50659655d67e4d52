"""Learning curves with one common step are dots by seed, not a line."""

from __future__ import annotations

from mayavi.report.shapes.learning.learning_curves import learning_chart, seeds_chart
from mayavi.report.sources.trainings import Curve


def test_one_validation_shows_every_seed_and_says_what_the_number_is() -> None:
    curves = [Curve(1, "a", {2048: 1.0}), Curve(2, "b", {2048: 4.0})]
    chart = learning_chart(curves, "validation reward", "Mean reward")
    assert chart is not None
    assert chart.title == "Validation reward after 2,048 steps: median 2.5 of 2 seeds, from 1 to 4"
    assert chart.traces[0]["x"] == [2.5, 1.0, 4.0]
    assert chart.layout["yaxis"]["ticktext"] == ["median of 2 seeds", "seed 1", "seed 2"]
    assert seeds_chart(curves, "validation reward", "Mean reward") is None
    alone = learning_chart(curves[:1], "validation reward", "Mean reward")
    assert alone is not None
    assert alone.title == "Validation reward after 2,048 steps: 1, seed 1"


def test_a_curve_of_several_seeds_is_called_their_median() -> None:
    chart = learning_chart([Curve(seed, "a", {1: 1.0, 2: 3.0 + seed}) for seed in (0, 2)], "reward", "Mean reward")
    assert chart is not None
    assert chart.title == "Median reward rises from 1 to 4"
