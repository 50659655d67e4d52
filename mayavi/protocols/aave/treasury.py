"""The treasury that receives Aave's share of interest and liquidations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_ABI = ["RESERVE_TREASURY_ADDRESS() view returns (address)"]


def treasury_of(fork: Fork, a_token: bytes) -> bytes:
    """The treasury of the reserve whose aToken is `a_token`."""
    treasury: bytes = fork.contract(a_token, _ABI).RESERVE_TREASURY_ADDRESS()
    return treasury
