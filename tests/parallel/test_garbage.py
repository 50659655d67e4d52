"""Cyclic garbage of a stretch of work is collected once, at its end."""

from __future__ import annotations

import gc
import weakref

import pytest

from mayavi.parallel.garbage import collected_once


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_collected_at_the_end_and_not_before() -> None:
    with collected_once():
        left = weakref.ref(Node())
        for _ in range(20_000):
            Node()
        assert left() is not None
        assert not gc.isenabled()
    assert left() is None
    assert gc.isenabled()


def test_what_it_freezes_it_releases_and_nothing_else() -> None:
    gc.unfreeze()  # what the tests have frozen
    try:
        with collected_once():
            assert gc.get_freeze_count()
        assert not gc.get_freeze_count()
    finally:
        gc.freeze()
    frozen = gc.get_freeze_count()
    with collected_once():
        Node()
    assert 0 < gc.get_freeze_count() <= frozen  # a frozen object may die


def test_what_raises_ends_it_too() -> None:
    with pytest.raises(KeyError), collected_once():
        raise KeyError
    assert gc.isenabled()


def test_whoever_collects_nothing_is_left_alone() -> None:
    gc.disable()
    try:
        with collected_once():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
