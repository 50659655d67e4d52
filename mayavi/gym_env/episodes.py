"""Numbered episodes: environment, split and number determine the start of an episode.

All strategies, frameworks and machines play the same episode 17 of the test split. The episodes of two splits differ.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mayavi.errors import BadInteger
from mayavi.numerics.streams import Streams, stream, streams

if TYPE_CHECKING:
    import numpy as np

    from mayavi.gym_env.configuration import Split

EPISODES = 2**31
"""Number of episodes of a split; they are numbered from 0."""


def episode_stream(env: str, split: Split, episode: int) -> np.random.Generator:
    """RNG of an episode."""
    return stream(checked_episode(episode), "episode", env, split)


def episode_streams(env: str, split: Split, episodes: Sequence[int]) -> Streams:
    """RNG of each of `episodes`, which are valid numbers."""
    return streams(episodes, "episode", env, split)


def next_episode(rng: np.random.Generator) -> int:
    """Draw the number of a row's next episode from `rng`."""
    return int(rng.integers(EPISODES))


def checked_episode(episode: object) -> int:
    """Return `episode` as an integer; `BadInteger` if it is invalid or out of range."""
    try:
        number = operator.index(episode)  # type: ignore[arg-type]  # refused below
    except TypeError:
        raise BadInteger(f"episode {episode!r} is not an integer") from None
    if not 0 <= number < EPISODES:
        raise BadInteger(f"episode {number} is out of range", f"episodes are numbered from 0 to {EPISODES - 1}")
    return number
