"""The fork cache matches the node: slot by slot against direct reads of a real node.

To add a check, append a `NodeTriple` to `TRIPLES`. A contract is a label of the market in `tests/node/aave_market.py`;
an expected value is an integer, a label (its address) or None (whatever the node returns). Facts of Ethereum itself
belong in `mayavi/worlds/known_storage.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from mayavi.evm.fork import Fork
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.remote import RemoteState
from mayavi.worlds.deploy.deployment import MARKET
from tests.node.aave_market import ADMIN, AaveMarket, act_on_fork

pytestmark = pytest.mark.node


class NodeTriple(NamedTuple):
    """Expected value of slot `slot` of `contract`."""

    contract: str
    slot: int
    expected: int | str | None


def mapping_slot(position: int, key: bytes) -> int:
    """Return Solidity's slot of `key` in the mapping at `position`."""
    return int.from_bytes(keccak256(key.rjust(32, b"\0") + position.to_bytes(32, "big")), "big")


def short_string(text: str) -> int:
    """Return Solidity's storage word of a string of at most 31 bytes."""
    return int.from_bytes(text.encode().ljust(31, b"\0") + bytes([2 * len(text)]), "big")


_IMPLEMENTATION = int.from_bytes(keccak256(b"eip1967.proxy.implementation"), "big") - 1

TRIPLES = [
    NodeTriple("WETH", 0, short_string("Wrapped Ether")),
    NodeTriple("WETH", 1, short_string("WETH")),
    NodeTriple("WETH", 2, 18),
    NodeTriple("WETH", mapping_slot(3, MARKET), 0),  # the market account supplied all of it
    NodeTriple("WETH", 2**256 - 1, 0),
    NodeTriple("AaveV3.Pool", _IMPLEMENTATION, "AaveV3.PoolImplementation"),
    NodeTriple("AaveV3.PoolConfigurator", _IMPLEMENTATION, "AaveV3.PoolConfiguratorImplementation"),
    NodeTriple("AaveV3.Provider", 0, int.from_bytes(ADMIN, "big")),
    NodeTriple("AaveV3.aWETH", mapping_slot(52, MARKET), None),  # scaled balance and index of the last interest
]


@pytest.mark.parametrize("triple", TRIPLES, ids=lambda triple: f"{triple.contract}-{triple.slot:#x}")
def test_the_cache_holds_what_the_node_says(market: AaveMarket, tmp_path: Path, triple: NodeTriple) -> None:
    contract = market.labels[triple.contract]
    fork = Fork.from_rpc(market.node.url, market.block, cache_dir=tmp_path)
    read = fork.storage(contract, triple.slot)
    with RemoteState.open(market.node.url, market.block, cache_dir=tmp_path) as state:
        cached = state.known().slots[contract][triple.slot]
        assert state.requests == 0
    direct = int(
        market.node.rpc("eth_getStorageAt", "0x" + contract.hex(), f"0x{triple.slot:064x}", hex(market.block)), 16
    )
    assert read == cached == direct
    if triple.expected is not None:
        label = triple.expected
        assert direct == (int.from_bytes(market.labels[label], "big") if isinstance(label, str) else label)


def test_everything_a_session_leaves_in_the_cache_is_what_the_node_says(market: AaveMarket, tmp_path: Path) -> None:
    node, at = market.node, hex(market.block)
    act_on_fork(Fork.from_rpc(node.url, market.block, cache_dir=tmp_path), market.borrowing())
    with RemoteState.open(node.url, market.block, cache_dir=tmp_path) as state:
        kept = state.known()
    assert len(kept.accounts) > 15
    assert sum(map(len, kept.slots.values())) > 60
    for address, (balance, nonce, code) in kept.accounts.items():
        who = "0x" + address.hex()
        assert balance == int(node.rpc("eth_getBalance", who, at), 16)
        assert nonce == int(node.rpc("eth_getTransactionCount", who, at), 16)
        assert "0x" + code.hex() == node.rpc("eth_getCode", who, at)
    for address, slots in kept.slots.items():
        for slot, value in slots.items():
            assert value == int(node.rpc("eth_getStorageAt", "0x" + address.hex(), f"0x{slot:064x}", at), 16)
