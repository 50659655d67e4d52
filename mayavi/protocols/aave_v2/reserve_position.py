"""Amounts of an account in one reserve of any Aave V2 market, the real one with prices in ETH included."""

from __future__ import annotations

from typing import NamedTuple

from mayavi.evm.address import AddressLike
from mayavi.evm.fork import Fork
from mayavi.protocols.aave_v2.market import AaveV2
from mayavi.protocols.tokens import Erc20


class ReservePosition(NamedTuple):
    """Supplied and borrowed amounts with interest, in smallest units."""

    supplied: int
    borrowed: int


def reserve_position(fork: Fork, pool: AddressLike, asset: AddressLike, account: AddressLike) -> ReservePosition:
    """Return what `account` supplied and borrowed of `asset`, at stable and variable rates."""
    data = fork.contract(pool, AaveV2.pool_abi).getReserveData(asset)
    supplied, stable, variable = (
        Erc20(fork, token).balance_of(account) for token in (data.aToken, data.stableDebtToken, data.variableDebtToken)
    )
    return ReservePosition(supplied, stable + variable)
