"""Sentences about compared strategies: ties are ties, and what overlaps is not ranked."""

from __future__ import annotations

from typing import Any

from mayavi.report.shapes.learning.comparisons import differences_chart, means_chart, pairs_chart, verdict_of
from mayavi.report.shapes.learning.evaluation import tiles_of

SETTINGS = {"episodes": 20, "minimum_distinct": 20}


def strategy(rewards: list[float], low: float, high: float) -> dict[str, Any]:
    mean = sum(rewards) / len(rewards)
    estimate = {"value": mean, "low": low, "high": high}
    return {"rewards": rewards, "mean_reward": mean, "std_reward": 1.0, "mean": estimate, "effective_sample_size": 20}


def comparison(against: str, verdict: str = "indistinguishable") -> dict[str, Any]:
    return {"strategy": "ppo", "against": against, "verdict": verdict, "trainings": 1, "distinct_pairs": 20,
            "difference": {"value": 0.1, "low": -1.0, "high": 1.0},
            "probability_of_improvement": {"value": 0.5, "low": 0.4, "high": 0.6}}  # fmt: skip


PART = {
    "strategies": ["ppo", "sell_all"],
    "ppo": strategy([2.0] * 5 + [0.0] * 5 + [1.0] * 10, 0.5, 1.5),
    "sell_all": strategy([1.0] * 20, 0.4, 1.4),
}


def test_ties_are_counted_as_ties() -> None:
    chart = pairs_chart(PART, comparison("sell_all"))
    assert chart is not None
    assert chart.title == "ppo earns more than sell_all in 5 of 20 episodes, less in 5, the same in 10"
    wins = next(each for each in tiles_of(PART, comparison("sell_all"), SETTINGS) if each.label.startswith("earns"))
    assert (wins.value, wins.change) == ("5 of 20 episodes", "less in 5, the same in 10")


def test_overlapping_intervals_are_not_ranked() -> None:
    assert "the intervals of 1 of 1 others overlap" in means_chart(PART, 20, 0.95).title
    apart = {**PART, "sell_all": strategy([0.0] * 20, -0.1, 0.1)}
    assert "overlap" not in means_chart(apart, 20, 0.95).title


def test_the_other_baselines_are_summed_up_in_plain_words() -> None:
    found = [comparison(name) for name in "abcd"]
    assert differences_chart(found, 20, 0.95).title == "ppo is not distinguishable from any of its 4 baselines"
    told = verdict_of(found, found[0])
    assert told.sentence.endswith("it is also indistinguishable from the other 3 baselines.")
    assert told.interval == "paired difference 0.1 [−1, 1] in reward an episode"
    mixed = [comparison("a"), comparison("b", "better"), comparison("c", "worse"), comparison("d")]
    assert verdict_of(mixed, mixed[0]).sentence.endswith(
        "of the other 3 baselines it is better than 1 and worse than 1 and indistinguishable from 1."
    )
