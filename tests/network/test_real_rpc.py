"""Fork of a real chain over a real provider: needs `MAYAVI_RPC_URL` (an Ethereum node; any plan)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork
from mayavi.evm.rpc.remote import RemoteState

pytestmark = pytest.mark.network

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
DECIMALS = bytes.fromhex("313ce567")
TOTAL_SUPPLY = bytes.fromhex("18160ddd")


@pytest.fixture(scope="module")
def url() -> str:
    address = os.environ.get("MAYAVI_RPC_URL", "").strip()
    if not address:
        pytest.skip("MAYAVI_RPC_URL is not set: it names the node that this test reads")
    return address


def test_a_recent_final_block_opens_again_without_a_request(url: str, tmp_path: Path) -> None:
    with RemoteState.open(url, "latest", cache_dir=tmp_path, chain_id=1, budget=20) as state:
        number = state.header.number - 100
    fork = Fork.from_rpc(url, number, chain="ethereum", cache_dir=tmp_path, budget=40)
    assert int.from_bytes(fork.call(WETH, DECIMALS), "big") == 18
    supply = fork.call(WETH, TOTAL_SUPPLY)
    assert int.from_bytes(supply, "big") == fork.balance(WETH) > 10**24, "every WETH is backed by an ether"
    again = Fork.from_rpc(url, number, chain="ethereum", cache_dir=tmp_path)
    assert again.call(WETH, TOTAL_SUPPLY) == supply
    assert again.requests == 0


def test_acting_on_the_fork_needs_nobody_s_key(url: str, tmp_path: Path) -> None:
    fork = Fork.from_rpc(url, "latest", chain="ethereum", cache_dir=tmp_path, budget=60)
    alice = "0x" + "a11ce".rjust(40, "0")
    fork.set_balance(alice, 10 * 10**18)
    fork.send(WETH, bytes.fromhex("d0e30db0"), sender=alice, value=10**18)
    balance_of = bytes.fromhex("70a08231") + bytes.fromhex(alice[2:]).rjust(32, b"\0")
    assert int.from_bytes(fork.call(WETH, balance_of), "big") == 10**18
