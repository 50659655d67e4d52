"""Streams by name: the bits are those of the number that the names hash to."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import PCG64

from mayavi import _kernel
from mayavi.numerics.seeding import PrecomputedSeed
from mayavi.numerics.streams import stream, streams


def numbered(seed: int, *names: str) -> int:
    """The number that seeds a stream, as the documentation has it: a hash of the parts, each behind its length."""
    parts = [each.encode() for each in (str(seed), *names)]
    return int(
        sha256(b"mayavi stream" + b"".join(len(each).to_bytes(8, "big") + each for each in parts)).hexdigest(), 16
    )


@given(st.integers(0, 2**63 - 1), st.lists(st.text(max_size=70), max_size=4))
def test_a_stream_is_that_of_the_number_its_names_hash_to(seed: int, names: list[str]) -> None:
    ours, theirs = stream(seed, *names), np.random.default_rng(numbered(seed, *names))
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert ours.spawn(2)[1].integers(2**62) == theirs.spawn(2)[1].integers(2**62)


@pytest.mark.parametrize("count", [0, 1, 300])
def test_many_streams_are_what_each_is_by_itself(count: int) -> None:
    found = streams(range(count), "a", "b")
    assert [each.bit_generator.state for each in found] == [
        stream(n, "a", "b").bit_generator.state for n in range(count)
    ]


def test_whatever_else_numpy_asks_a_seed_for_it_gets_from_numpys_own() -> None:
    digests, states = _kernel.stream_seeds([3], ["a"])
    ours, theirs = PrecomputedSeed(digests, states[0]), np.random.SeedSequence(numbered(3, "a"))
    for words, kind in ((4, np.uint64), (7, np.uint32), (4, np.uint32), (8, np.uint64)):
        assert ours.generate_state(words, kind).tolist() == theirs.generate_state(words, kind).tolist()


def test_a_hash_that_begins_with_zeros_seeds_as_its_number_does() -> None:
    """NumPy leaves leading zeros out, which one hash in four thousand million has: such as that of this seed."""
    assert numbered(8_580_820_544) < 2**224
    assert stream(8_580_820_544).bit_generator.state == PCG64(numbered(8_580_820_544)).state


def test_what_a_stream_gives_is_pinned() -> None:
    """Whoever gets other numbers here gets other runs and other episodes."""
    assert stream(7, "episode", "aave", "test").integers(10**9, size=3).tolist() == PINNED
    assert stream(7, "episode", "aave", "train").integers(10**9) != PINNED[0]
    assert stream(8, "episode", "aave", "test").integers(10**9) != PINNED[0]


PINNED = [38551289, 441055566, 833732807]
