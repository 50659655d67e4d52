"""Storage of Ethereum that is known for certain, to hold every way of reading it against.

Each triple is a fact of the chain at `BLOCK`. The tests beside this file read it through the cache and a snapshot,
`tests/network` reads it from a real node.
"""

from __future__ import annotations

from typing import NamedTuple

BLOCK = 17_666_332


class StorageTriple(NamedTuple):
    """The word that stands in `slot` of `address`."""

    what: str
    address: bytes
    slot: int
    value: int


THREE_POOL = bytes.fromhex("bebc44782c7db0a1a60cb6fe97d0b483032ff1c7")
USDC = bytes.fromhex("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")

TRIPLES = [
    StorageTriple("3pool: fee", THREE_POOL, 2, 1_000_000),
    StorageTriple("3pool: admin fee", THREE_POOL, 3, 5_000_000_000),
    StorageTriple("3pool: future amplification", THREE_POOL, 7, 2_000),
    StorageTriple("3pool: is killed", THREE_POOL, 15, 0),
    StorageTriple(
        "USDC: implementation behind the proxy",
        USDC,
        0x7050C9E0F4CA769C69BD3A8EF740BC37934F8E2C036E5A723FD8EE048ED3F8C3,
        0xA2327A938FEBF5FEC13BACFB16AE10ECBC4CBDCF,
    ),
]
