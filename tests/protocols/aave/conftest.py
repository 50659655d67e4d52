"""The V3 market of every chain's replica, and accounts in it."""

from __future__ import annotations

from functools import cache

import pytest

from mayavi import Fork
from mayavi.protocols import AaveAccount, AaveV3
from mayavi.worlds import world_names
from tests.protocols.aave.reference import (
    ALICE,
    BOB,
    WAD,
    give_and_supply,
)


@cache
def replica(chain: str) -> Fork:
    return Fork.replica(chain)


@pytest.fixture(scope="module", params=[*world_names(), "ethereum@2025-12"])
def world(request: pytest.FixtureRequest) -> Fork:
    return replica(request.param)


@pytest.fixture
def fork(world: Fork) -> Fork:
    return world.copy()


@pytest.fixture
def market(fork: Fork) -> AaveV3:
    return AaveV3(fork)


@pytest.fixture
def alice(market: AaveV3) -> AaveAccount:
    return market.account(ALICE)


@pytest.fixture
def bob(market: AaveV3) -> AaveAccount:
    return market.account(BOB)


@pytest.fixture
def borrower(market: AaveV3, alice: AaveAccount) -> AaveAccount:
    """Alice with 1 WETH supplied and 1,500 USDC borrowed; a week has passed, so no index is a round number."""
    market.fork.mine(1, 7 * 86_400)
    give_and_supply(alice, "WETH", WAD)
    alice.borrow("USDC", 1_500 * 10**6)
    market.fork.mine(1, 86_400)
    return alice
