"""Interest rate parameters of a Compound V3 market."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_ABI = ["borrowKink() view returns (uint256)"]


def borrow_kink_wad(fork: Fork, market: bytes) -> int:
    """The utilisation above which the borrow rate of `market` rises steeply, with eighteen decimals."""
    return int(fork.contract(market, _ABI).borrowKink())
