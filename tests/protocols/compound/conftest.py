"""Every market of every replica and of mainnet's bytecode, and an account in it."""

from __future__ import annotations

import pytest

from mayavi.protocols import CompoundV3, CompoundV3Account
from tests.protocols.compound.positions import ALICE
from tests.protocols.compound.worlds import MAINNET, mainnet_world, replica, replica_markets

WORLDS = [*replica_markets(), (MAINNET, "cUSDCv3")]


@pytest.fixture(params=WORLDS, ids=[f"{where}-{name}" for where, name in WORLDS])
def market(request: pytest.FixtureRequest) -> CompoundV3:
    """Independent market for every test."""
    where, name = request.param
    world = mainnet_world(request.getfixturevalue("cases")) if where == MAINNET else replica(where)
    return CompoundV3(world.copy(), name)


@pytest.fixture
def alice(market: CompoundV3) -> CompoundV3Account:
    return market.account(ALICE)
