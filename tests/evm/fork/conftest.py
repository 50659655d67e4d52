"""An empty world under Shanghai's rules."""

from __future__ import annotations

import pytest

from mayavi.evm.fork import Fork


@pytest.fixture
def fork() -> Fork:
    return Fork.empty(chain_id=1, hardfork="shanghai")
