"""The verdict at its borders."""

from __future__ import annotations

import pytest

from mayavi.rl.evaluation.verdict import MINIMUM_DISTINCT, judged
from mayavi.statistics.estimate import Estimate


def of(low: float, high: float, **more):
    facts = {"episodes": 200, "distinct": 200, **more}
    return judged("ppo", "noop", Estimate((low + high) / 2, low, high), **facts)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1e-12, 1.0, "better"),
        (0.0, 1.0, "indistinguishable"),
        (-1.0, 0.0, "indistinguishable"),
        (-1.0, -1e-12, "worse"),
        (-1.0, 1.0, "indistinguishable"),
        (0.0, 0.0, "indistinguishable"),
    ],
)
def test_a_claim_needs_the_whole_interval_on_one_side(low: float, high: float, word: str) -> None:
    assert of(low, high).word == word


def test_no_claim_from_too_few_trajectories_however_clear_the_difference() -> None:
    assert of(1.0, 2.0, distinct=MINIMUM_DISTINCT).word == "better"
    assert of(1.0, 2.0, distinct=MINIMUM_DISTINCT - 1).word == "saturated"
    assert of(1.0, 2.0, distinct=29, minimum=30).word == "saturated"
    seed = of(1.0, 1.0, episodes=32, distinct=1)
    assert seed.word == "saturated"
    assert seed.reason == (
        "32 episodes are 1 distinct trajectory, and a claim needs 20:"
        " the same course of events again is no new evidence"
    )
    few = of(1.0, 2.0, episodes=8, distinct=8)
    assert (few.word, few.reason) == ("saturated", "8 episodes are too few: a claim needs 20 distinct trajectories")
    assert of(1.0, 1.0, episodes=1, distinct=1).reason.startswith("1 episode is too few")


def test_the_reason_says_what_was_found() -> None:
    assert of(0.0012, 0.0024).reason == (
        "ppo earns 0.0018 more than noop on the same 200 episodes, and the whole 95 % interval [0.0012, 0.0024] lies"
        " above zero"
    )
    assert "earns 0.5 less than noop" in of(-0.6, -0.4).reason
    assert "99 % interval" in of(0.1, 0.2, confidence=0.99).reason
    assert "[-0.1, 0.2], holds zero: 200 episodes do not tell ppo from noop" in of(-0.1, 0.2).reason
    assert of(0.0, 0.0, equal=200).reason == "ppo earned exactly what noop did in each of 200 episodes"
