"""A fresh twin of the Ethereum replica for every test."""

from __future__ import annotations

import pytest

from mayavi import Fork


@pytest.fixture(scope="session")
def replica() -> Fork:
    return Fork.replica("ethereum").frozen()


@pytest.fixture
def fork(replica: Fork) -> Fork:
    return replica.copy()
