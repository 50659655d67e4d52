"""Storage words of real chains that are known for certain.

`ETHEREUM` holds facts of mainnet at block `ETHEREUM_BLOCK`. To add one, append a `StorageTriple`. Its value comes from
an archive node (`cast storage ADDRESS SLOT --block …`) or from the recorded pre-state of the next block.
"""

from __future__ import annotations

from mayavi.evm.storage_triples import StorageTriple

THREE_POOL = bytes.fromhex("bebc44782c7db0a1a60cb6fe97d0b483032ff1c7")
USDC = bytes.fromhex("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")

ETHEREUM_CHAIN_ID = 1
ETHEREUM_BLOCK = 17_666_332
ETHEREUM = (
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
)


def known_triples(chain_id: int, block: int) -> tuple[StorageTriple, ...]:
    """Return the facts of `chain_id` at exactly `block`."""
    return ETHEREUM if (chain_id, block) == (ETHEREUM_CHAIN_ID, ETHEREUM_BLOCK) else ()
