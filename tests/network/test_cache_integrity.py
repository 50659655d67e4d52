"""The triples of mayavi/worlds/known_storage.py match Ethereum. Needs MAYAVI_RPC_URL, a mainnet node."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork
from mayavi.worlds.known_storage import ETHEREUM, ETHEREUM_BLOCK

pytestmark = pytest.mark.network


@pytest.mark.skipif(not os.environ.get("MAYAVI_RPC_URL"), reason="MAYAVI_RPC_URL names no node")
def test_ethereum_holds_the_triples(tmp_path: Path) -> None:
    fork = Fork.from_rpc(block=ETHEREUM_BLOCK, chain="ethereum", cache_dir=tmp_path)
    assert {each.what: fork.storage(each.address, each.slot) for each in ETHEREUM} == {
        each.what: each.expected for each in ETHEREUM
    }
