"""Block bootstrap: neighbours stay together, every index is equally likely, and series share their indices."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import UsageError
from mayavi.statistics.block_bootstrap import block_indices, resampled_statistics


def test_blocks_are_neighbouring_hours_of_the_length_asked_for():
    drawn = np.concatenate(list(block_indices(500, 400, block=25)))
    assert drawn.shape == (400, 500)
    assert (drawn >= 0).all()
    assert (drawn < 500).all()
    follows = np.diff(drawn, axis=1) % 500 == 1
    assert follows.mean() == pytest.approx(1 - 1 / 25, abs=0.003)
    seen = np.bincount(drawn.ravel(), minlength=500) / 400
    assert seen == pytest.approx(np.ones(500), abs=0.5)  # each hour once on average, the ends as often as the middle


@pytest.mark.parametrize("block", [1, 2, 24])
def test_the_mean_length_of_a_block_is_the_one_asked_for(block: int):
    """Four standard errors, with enough draws that a block longer or shorter by one is far outside of them."""
    length = 500
    drawn = np.concatenate(list(block_indices(length, 4_000, block=block, seed=3)))
    begins = (np.diff(drawn, axis=1) % length != 1).mean()
    expected = (1 - 1 / length) / block  # a new block may continue the old one by chance
    assert begins == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / drawn.size) + 1e-12)


def test_the_same_seed_draws_the_same():
    one, two, other = (np.concatenate(list(block_indices(100, 50, block=10, seed=seed))) for seed in (1, 1, 2))
    assert (one == two).all()
    assert (one != other).any()


def test_series_share_their_indices_and_batches_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mayavi.statistics.block_bootstrap._VALUES_AT_ONCE", 700)
    values = np.random.default_rng(9).normal(size=300)
    found = resampled_statistics(
        {"one": (values, values), "two": (2 * values, values)},
        lambda first, second: {"sum": first.sum(axis=1), "last": second[:, -1]},
        resamples=50,
        block=24,
    )
    assert found["two"]["sum"] == pytest.approx(2 * found["one"]["sum"])
    assert (found["one"]["last"] == found["two"]["last"]).all()
    assert found["one"]["sum"].shape == (50,)


def test_a_block_has_an_hour_at_least():
    with pytest.raises(UsageError, match="blocks of 0 values"):
        next(block_indices(10, 10, block=0))
