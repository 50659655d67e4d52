"""The event LiquidationCall of Aave V2 in raw logs, as a node answers them."""

from __future__ import annotations

from typing import Final, NamedTuple

from mayavi.evm.hashing import keccak_text

LIQUIDATION_TOPIC: Final = keccak_text("LiquidationCall(address,address,address,uint256,uint256,address,bool)")
"""First topic; the others are collateral asset, debt asset and account."""
DATA_BYTES: Final = 4 * 32


class LiquidationData(NamedTuple):
    """Data of the event: amounts in smallest units."""

    covered: int
    seized: int
    liquidator: bytes


def decode_liquidation(data: bytes) -> LiquidationData:
    """Decode the `DATA_BYTES` of a log."""
    return LiquidationData(int.from_bytes(data[:32]), int.from_bytes(data[32:64]), data[64 + 12 : 96])
