"""Episodes by number: the start of an episode follows from the environment, the split and the number alone.

So two strategies, frameworks or machines that play episode 17 of the test split play the same episode, and the episodes
of two splits differ.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mayavi.errors import BadInteger
from mayavi.numerics.streams import stream, streams

if TYPE_CHECKING:
    import numpy as np

    from mayavi.gym_env.configuration import Split

EPISODES = 2**31
"""Episodes of a split are numbered from 0 up to, not including, this."""


def episode_stream(env: str, split: Split, episode: int) -> np.random.Generator:
    """The RNG of an episode."""
    return stream(checked_episode(episode), "episode", env, split)


def episode_streams(env: str, split: Split, episodes: Sequence[int]) -> list[np.random.Generator]:
    """The RNG of each of `episodes`, whose numbers are checked already."""
    return streams(episodes, "episode", env, split)


def next_episode(rng: np.random.Generator) -> int:
    """Draw the number of a row's next episode from `rng`."""
    return int(rng.integers(EPISODES))


def checked_episode(episode: object) -> int:
    """`episode` as an integer; raises `BadInteger` where it is none or out of range."""
    try:
        number = operator.index(episode)  # type: ignore[arg-type]  # refused below
    except TypeError:
        raise BadInteger(f"episode {episode!r} is not an integer") from None
    if not 0 <= number < EPISODES:
        raise BadInteger(f"episode {number} is out of range", f"episodes are numbered from 0 to {EPISODES - 1}")
    return number
