"""Hours drawn again in blocks: neighbours stay together, every hour is as likely, and intervals are wide enough."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import UsageError
from mayavi.portfolio.backtest.block_bootstrap import drawn_again, resampled_metrics


def test_blocks_are_neighbouring_hours_of_the_length_asked_for():
    drawn = np.concatenate(list(drawn_again(500, 400, block=25)))
    assert drawn.shape == (400, 500)
    assert (drawn >= 0).all()
    assert (drawn < 500).all()
    follows = np.diff(drawn, axis=1) % 500 == 1
    assert follows.mean() == pytest.approx(1 - 1 / 25, abs=0.003)
    seen = np.bincount(drawn.ravel(), minlength=500) / 400
    assert seen == pytest.approx(np.ones(500), abs=0.5)  # each hour once on average, the ends as often as the middle


def test_the_same_seed_draws_the_same():
    one, two, other = (np.concatenate(list(drawn_again(100, 50, block=10, seed=seed))) for seed in (1, 1, 2))
    assert (one == two).all()
    assert (one != other).any()


def test_a_mean_of_hours_that_hang_together_gets_the_wider_interval_it_deserves():
    rng = np.random.default_rng(8)
    noise = rng.normal(size=6_000)
    level = np.zeros(6_000)
    for hour in range(1, 6_000):
        level[hour] = 0.95 * level[hour - 1] + noise[hour]
    growth = np.exp(level * 1e-4)
    nothing = np.zeros(6_000)
    spread = {
        block: resampled_metrics({"one": (growth, nothing, nothing)}, resamples=300, risk_free_rate=0.0, block=block)[
            "one"
        ]["log_growth"].std()
        for block in (1, 168)
    }
    true = np.sqrt(6_000) * 1e-4 / (1 - 0.95)  # of a sum of an autoregression
    assert spread[1] < 0.4 * true
    assert 0.7 * true < spread[168] < 1.3 * true


def test_everybody_gets_the_same_hours():
    rng = np.random.default_rng(9)
    growth, nothing = 1 + rng.normal(0, 0.01, 300), np.zeros(300)
    found = resampled_metrics(
        {"one": (growth, nothing, nothing), "two": (growth**2, nothing, nothing + 1)},
        resamples=50,
        risk_free_rate=4.25,
        block=24,
    )
    assert found["two"]["log_growth"] == pytest.approx(2 * found["one"]["log_growth"])
    assert (found["two"]["cost"] == 300).all()


def test_a_block_has_an_hour_at_least():
    with pytest.raises(UsageError, match="blocks of 0 hours"):
        next(drawn_again(10, 10, block=0))
