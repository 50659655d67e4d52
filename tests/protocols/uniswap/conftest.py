"""Uniswap V3 and its WETH/USDC pool on a fresh copy of the Ethereum replica."""

from __future__ import annotations

import pytest

from mayavi.protocols import UniswapV3
from mayavi.protocols.uniswap.pool import UniswapV3Pool
from tests.protocols.uniswap.worlds import WETH_USDC, uniswap_on


@pytest.fixture
def uniswap() -> UniswapV3:
    return uniswap_on("ethereum")


@pytest.fixture
def pool(uniswap: UniswapV3) -> UniswapV3Pool:
    return uniswap.pool(*WETH_USDC)
