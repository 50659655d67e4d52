"""Words: exact whatever their size, and compared row by row as integers are."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.evm.fleet import Words, to_words

EDGES = [0, 1, 2**63, 2**64 - 1, 2**64, 2**128, 2**192, 2**256 - 1]
integers = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**256 - 1), st.integers(0, 2**64))


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
@given(values=st.lists(integers, max_size=12), bound=st.one_of(integers, st.just(-1), st.just(2**256)))
def test_a_comparison_is_that_of_integers(
    compare: Callable[[object, int], object], values: list[int], bound: int
) -> None:
    compared = compare(Words.of(values), bound)
    assert isinstance(compared, np.ndarray)
    assert compared.dtype == np.bool_
    assert compared.tolist() == [compare(value, bound) for value in values]


@given(st.lists(integers, max_size=12))  # few and many are read in different ways
def test_integers_come_back_as_they_went_in(values: list[int]) -> None:
    assert Words.of(values).ints() == values
    assert all(type(value) is int for value in Words.of(values).ints())


@given(st.lists(st.one_of(integers, st.integers(2**64 - 3, 2**64 + 3)), max_size=12))
def test_saturated_words_are_the_nearest_of_64_bits(values: list[int]) -> None:
    saturated = Words.of(values).saturated()
    assert saturated.dtype == np.uint64
    assert saturated.tolist() == [min(value, 2**64 - 1) for value in values]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=12))
def test_arrays_of_integers_are_words_too(values: list[int]) -> None:
    assert Words.of(np.array(values, dtype=np.uint64)).ints() == values


@given(st.lists(st.binary(min_size=20, max_size=20), min_size=1, max_size=8))
def test_addresses_are_the_same_alone_and_among_integers(places: list[bytes]) -> None:
    alone = to_words(places, len(places))
    assert np.array_equal(alone, to_words([*places, 5], len(places) + 1)[:-1])
    assert Words(alone).addresses() == places
    assert np.array_equal(alone, to_words(tuple(places), len(places)))
