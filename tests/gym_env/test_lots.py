"""Draws for many generators at once are those that each would give by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.gym_env.episodes import episode_stream, episode_streams
from mayavi.gym_env.lots import below, halves, raw_words, uniform
from mayavi.gym_env.registry import make_rows
from mayavi.markets.streams import streams
from tests.gym_env.lending_by_scheduler import drawn_start


def test_words_become_what_numpy_draws() -> None:
    words = raw_words(streams(range(500), "a"), 4)
    low, high = halves(words[1])
    found = zip(uniform(words[0]), below(low, 4_097), below(high, 3), uniform(words[2]), words[3], strict=True)
    for chance, each in zip(streams(range(500), "a"), found, strict=True):
        alone = chance.random(), chance.integers(4_097), chance.integers(3), chance.random()
        assert tuple(map(float, each[:4])) == tuple(map(float, alone))
        assert int(each[4]) == chance.bit_generator.random_raw()


def test_each_has_a_bound_of_its_own() -> None:
    bounds = np.arange(1, 301)
    found = below(halves(raw_words(streams(range(300)), 1)[0])[0], bounds)
    assert (found < bounds).all()
    assert found[1:].tolist() == [int(stream.integers(n)) for n, stream in enumerate(streams(range(1, 300)), 2)]


@pytest.mark.parametrize("settings", [{}, {"utilisation": (0.3, 0.4)}, {"start_blocks": 12}, {"start": "fixed"}])
def test_starts_are_those_of_draws_one_after_the_other(settings: dict[str, Any]) -> None:
    env = make_rows("compound", **settings)
    found = env.drawn(episode_streams("compound", "train", range(400)))
    assert found == [drawn_start(env, episode_stream("compound", "train", number)) for number in range(400)]
