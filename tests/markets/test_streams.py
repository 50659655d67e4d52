"""Streams by name: the bits are those of the number that the names hash to."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.markets.streams import seed_words, stream


@pytest.mark.parametrize(
    "digest", [bytes(range(1, 33)), bytes(4) + bytes(range(28)), bytes(31) + b"\7", bytes(32), b"\xff" * 32]
)
def test_words_seed_as_the_number_does(digest: bytes) -> None:
    ours, theirs = (np.random.SeedSequence(each) for each in (seed_words(digest), int.from_bytes(digest, "big")))
    assert ours.generate_state(8).tolist() == theirs.generate_state(8).tolist()
    assert ours.spawn(2)[1].generate_state(8).tolist() == theirs.spawn(2)[1].generate_state(8).tolist()


def test_what_a_stream_gives_is_pinned() -> None:
    """Whoever gets other numbers here gets other runs and other episodes."""
    assert stream(7, "episode", "aave", "test").integers(10**9, size=3).tolist() == PINNED
    assert stream(7, "episode", "aave", "train").integers(10**9) != PINNED[0]
    assert stream(8, "episode", "aave", "test").integers(10**9) != PINNED[0]


PINNED = [38551289, 441055566, 833732807]
