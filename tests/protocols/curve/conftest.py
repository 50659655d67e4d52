"""The replica's pools of three and two coins, and mainnet's 3pool bytecode."""

from __future__ import annotations

import pytest

from mayavi.protocols import CurveStableSwap
from tests.protocols.curve.worlds import WORLDS, open_pool


@pytest.fixture(params=WORLDS)
def pool(request: pytest.FixtureRequest) -> CurveStableSwap:
    mainnet = request.param.startswith("mainnet")
    return open_pool(request.param, request.getfixturevalue("cases") if mainnet else None)


@pytest.fixture
def tripool() -> CurveStableSwap:
    return open_pool("3pool", None)
