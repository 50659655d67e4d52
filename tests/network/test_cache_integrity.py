"""The triples of tests/evm/storage_triples.py match Ethereum. Needs MAYAVI_RPC_URL, a mainnet node."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mayavi.evm.fork import Fork
from tests.evm.storage_triples import BLOCK, TRIPLES

pytestmark = pytest.mark.network


@pytest.mark.skipif(not os.environ.get("MAYAVI_RPC_URL"), reason="MAYAVI_RPC_URL names no node")
def test_ethereum_holds_the_triples(tmp_path: Path) -> None:
    fork = Fork.from_rpc(block=BLOCK, chain="ethereum", cache_dir=tmp_path)
    assert {each.what: fork.storage(each.address, each.slot) for each in TRIPLES} == {
        each.what: each.value for each in TRIPLES
    }
