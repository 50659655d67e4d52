"""Streams by name: the bits are those of the number that the names hash to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.markets.seeding import Seeded, seed_words, spread
from mayavi.markets.streams import FEW, stream, streams


@pytest.mark.parametrize(
    "digest", [bytes(range(1, 33)), bytes(4) + bytes(range(28)), bytes(31) + b"\7", bytes(32), b"\xff" * 32]
)
def test_words_seed_as_the_number_does(digest: bytes) -> None:
    ours, theirs = (np.random.SeedSequence(each) for each in (seed_words(digest), int.from_bytes(digest, "big")))
    assert ours.generate_state(8).tolist() == theirs.generate_state(8).tolist()
    assert ours.spawn(2)[1].generate_state(8).tolist() == theirs.spawn(2)[1].generate_state(8).tolist()


@pytest.mark.parametrize("count", [1, FEW - 1, FEW, 300])
def test_many_streams_are_what_each_is_by_itself(count: int) -> None:
    for seed, found in zip(range(count), streams(range(count), "a", "b"), strict=True):
        alone = stream(seed, "a", "b")
        assert found.bit_generator.state == alone.bit_generator.state
        assert found.spawn(2)[1].integers(2**62) == alone.spawn(2)[1].integers(2**62)


@given(st.lists(st.binary(min_size=32, max_size=32).filter(lambda each: each[:4] != bytes(4)), min_size=1, max_size=20))
def test_entropy_is_spread_as_numpy_spreads_it(digests: list[bytes]) -> None:
    words = np.stack([seed_words(each) for each in digests])
    for digest, state in zip(digests, spread(words), strict=True):
        whole = np.random.SeedSequence(seed_words(digest))
        assert state.tolist() == whole.generate_state(4, np.uint64).tolist()
        assert Seeded(digest, state).generate_state(7).tolist() == whole.generate_state(7).tolist()


def test_a_hash_that_begins_with_zeros_seeds_as_its_number_does(monkeypatch: pytest.MonkeyPatch) -> None:
    short = bytes(4) + bytes(range(28))
    monkeypatch.setattr("mayavi.markets.streams._digest", lambda *_: short)
    assert streams(range(FEW))[3].bit_generator.state == stream(3).bit_generator.state


def test_what_a_stream_gives_is_pinned() -> None:
    """Whoever gets other numbers here gets other runs and other episodes."""
    assert stream(7, "episode", "aave", "test").integers(10**9, size=3).tolist() == PINNED
    assert stream(7, "episode", "aave", "train").integers(10**9) != PINNED[0]
    assert stream(8, "episode", "aave", "test").integers(10**9) != PINNED[0]


PINNED = [38551289, 441055566, 833732807]
