"""Episodes by number: where one starts follows from the environment, the split and the number alone.

Nothing else enters, so that two strategies, two frameworks or two machines that play episode 17 of the test split play
the same one, and no number of one split starts where a number of another does.
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
    """All the chance there is in an episode."""
    return stream(checked_episode(episode), "episode", env, split)


def episode_streams(env: str, split: Split, episodes: Sequence[int]) -> list[np.random.Generator]:
    """All the chance there is in each of several episodes, whose numbers are checked."""
    return streams(episodes, "episode", env, split)


def next_episode(rng: np.random.Generator) -> int:
    """The number of an episode for a row whose own chance is `rng`."""
    return int(rng.integers(EPISODES))


def checked_episode(episode: object) -> int:
    """`episode` as a number of one, or `BadInteger`."""
    try:
        number = operator.index(episode)  # type: ignore[arg-type]  # what has no index is told below
    except TypeError:
        raise BadInteger(f"episode {episode!r} is not an integer") from None
    if not 0 <= number < EPISODES:
        raise BadInteger(f"episode {number} is out of range", f"episodes are numbered from 0 to {EPISODES - 1}")
    return number
