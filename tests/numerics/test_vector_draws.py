"""Draws for many generators at once are those that each would give by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mayavi.gym_env.episodes import episode_stream, episode_streams
from mayavi.gym_env.price_shocks import drawn_paths
from mayavi.gym_env.registry import make_rows
from mayavi.numerics.streams import stream, streams
from mayavi.numerics.vector_draws import below, halves, raw_words, redrawn, uniform
from tests.gym_env.lending.by_scheduler import drawn_path
from tests.gym_env.lending.starts import drawn_start, start_of


def test_words_become_what_numpy_draws() -> None:
    words = raw_words(streams(range(500), "a"), 4)
    low, high = halves(words[1])
    found = zip(uniform(words[0]), below(low, 4_097), below(high, 3), uniform(words[2]), words[3], strict=True)
    for rng, each in zip(streams(range(500), "a"), found, strict=True):
        alone = rng.random(), rng.integers(4_097), rng.integers(3), rng.random()
        assert tuple(map(float, each[:4])) == tuple(map(float, alone))
        assert int(each[4]) == rng.bit_generator.random_raw()


def test_words_and_generators_of_streams_are_drawn_from_the_same_place() -> None:
    together, alone = streams(range(40), "a", "b"), [stream(seed, "a", "b") for seed in range(40)]
    first = together.raw_words(3)
    assert first.tolist() == [rng.bit_generator.random_raw(3).tolist() for rng in alone]
    assert [together[row].random() for row in (7, 0, -1)] == [alone[row].random() for row in (7, 0, -1)]
    assert together[7] is together[7]
    then = together.raw_words(2)  # of those that exist by now, and of those that do not
    assert then.tolist() == [rng.bit_generator.random_raw(2).tolist() for rng in alone]
    assert [rng.integers(10**6) for rng in together[5:9]] == [rng.integers(10**6) for rng in alone[5:9]]
    with pytest.raises(IndexError):
        together[40]


def test_each_has_a_bound_of_its_own() -> None:
    bounds = np.arange(1, 301)
    found = below(halves(raw_words(streams(range(300)), 1)[0])[0], bounds)
    assert (found < bounds).all()
    assert found[1:].tolist() == [int(rng.integers(n)) for n, rng in enumerate(streams(range(1, 300)), 2)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{}, {"start_blocks": 0, "shock_steps": (1, 1)}, *(
        pytest.param(each, marks=pytest.mark.slow) for each in (
            {"utilisation": (0.3, 0.4)}, {"start_blocks": 12}, {"start_blocks": 0}, {"start": "fixed"},
            {"shock_steps": (5, 5)}, {"shock_steps": (24, 30)}))],
)  # fmt: skip
def test_starts_and_paths_are_those_of_draws_one_after_the_other(settings: dict[str, Any]) -> None:
    check_draws("compound", settings, range(400))


def test_what_numpy_draws_again_is_drawn_again() -> None:
    """In episodes 28,168 and 60,600 a number of blocks is: one in a hundred thousand is."""
    later, _ = halves(raw_words(episode_streams("aave-shock", "train", range(28_100, 28_200)), 2)[1])
    assert np.flatnonzero(redrawn(later, 100_001)).tolist() == [68]
    check_draws("aave-shock", {}, [28_167, 28_168, 28_169, 60_600])


def check_draws(name: str, settings: dict[str, Any], episodes: Sequence[int]) -> None:
    """Starts and prices of `episodes`, drawn at once, against those that NumPy draws for each by itself."""
    env = make_rows(name, **settings)
    rngs = episode_streams(name, "train", episodes)
    starts, odd = env.drawn(rngs)
    paths, volatilities = drawn_paths(env.config, 2_000.0, env.step_seconds, rngs, odd)
    for row, number in enumerate(episodes):
        rng = episode_stream(name, "train", number)
        assert start_of(starts, row) == drawn_start(env, rng)
        path, volatility = drawn_path(env, 2_000.0, rng)
        assert (paths[row].tolist(), volatilities[row]) == (path.tolist(), volatility)
