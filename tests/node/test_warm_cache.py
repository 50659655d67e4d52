"""Reopening a block sends no request to a real node, or one on a development chain.

On chain 1 the hash of a block 64 deep is final. Development nodes are restarted and reverted, so their cached data is
verified once before use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import BlockHashMismatch
from mayavi.evm.fork import Fork
from mayavi.evm.rpc.refusals import NodeUnreachable
from tests.node.aave_market import ALICE, AaveMarket, act_on_fork, deploy_market
from tests.node.faulty_proxy import FaultyProxy, faulty_proxy
from tests.node.hardhat import Hardhat

pytestmark = pytest.mark.node


@contextmanager
def running(folder: Path, **options: Any) -> Iterator[Hardhat]:
    folder.mkdir(exist_ok=True)
    node = Hardhat.start(folder, **options)
    try:
        yield node
    finally:
        node.stop()


def session(fork: Fork, market: AaveMarket) -> tuple[Any, ...]:
    """Run all reads, then transactions, then all reads again."""

    def readings() -> list[str]:
        return [fork.call(to, data).hex() for to, data in market.reads().values()]

    return readings(), act_on_fork(fork, market.borrowing()), readings(), fork.balance(ALICE), fork.digest()


def test_on_a_real_chain_a_final_block_asks_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "node", chain_id=1) as node:
        market = deploy_market(node)
        node.rpc("hardhat_mine", hex(64))
        with faulty_proxy(node) as proxy:

            def open_fork() -> Fork:
                # a young chain with Ethereum's id: the schedule would have its blocks be Frontier's
                return Fork.from_rpc(proxy.url, market.block, chain="ethereum", hardfork="shanghai", cache_dir=tmp_path)

            with closing(open_fork()) as first:
                seen = session(first, market)
                assert 0 < len(proxy.requests) == first.requests
            proxy.requests.clear()
            with closing(open_fork()) as again:
                assert again.labels["WETH"] == first.labels["WETH"], "names of mainnet, where nothing stands here"
                assert session(again, market) == seen
                assert (again.requests, proxy.requests) == (0, [])


def test_on_a_development_chain_opening_asks_nothing_and_a_whole_session_one_question(
    market: AaveMarket, proxy: FaultyProxy, tmp_path: Path
) -> None:
    def open_fork() -> Fork:
        return Fork.from_rpc(proxy.url, market.block, cache_dir=tmp_path)

    with closing(open_fork()) as first:
        seen = session(first, market)
    proxy.requests.clear()
    with closing(open_fork()) as again:
        assert (again.requests, proxy.requests) == (0, [])
        assert session(again, market) == seen
        assert again.requests == 1
    assert [[call["method"] for call in request] for request in proxy.requests] == [
        ["eth_chainId", "eth_getBlockByNumber"]
    ]


def test_a_reverted_node_is_found_and_opened_anew(market: AaveMarket, tmp_path: Path) -> None:
    node = market.node
    number = node.block_number + 1

    def open_fork() -> Fork:
        return Fork.from_rpc(node.url, number, cache_dir=tmp_path)

    moment = node.rpc("evm_snapshot")
    node.set_balance(ALICE, 1111)
    node.rpc("evm_mine")
    assert open_fork().balance(ALICE) == 1111
    assert node.rpc("evm_revert", moment) is True
    node.set_balance(ALICE, 2222)
    node.rpc("evm_mine")
    stale = open_fork()
    with pytest.raises(BlockHashMismatch):
        stale.balance(ALICE)
    assert open_fork().balance(ALICE) == 2222


def test_a_node_restarted_with_other_contents_is_found_and_opened_anew(tmp_path: Path) -> None:
    with running(tmp_path / "first") as node:
        node.set_balance(ALICE, 1111)
        node.rpc("hardhat_mine", "0x3")
        assert Fork.from_rpc(node.url, 3, cache_dir=tmp_path).balance(ALICE) == 1111
    with running(tmp_path / "second", port=node.port) as restarted:
        assert restarted.url == node.url
        restarted.set_balance(ALICE, 2222)
        restarted.rpc("hardhat_mine", "0x3")
        fork = Fork.from_rpc(node.url, 3, cache_dir=tmp_path)
        assert fork.requests == 0
        for _ in range(2):
            with pytest.raises(BlockHashMismatch, match="this state belongs to block 3 0x") as caught:
                fork.balance(ALICE)
        assert "restarted or reverted; open the fork again" in str(caught.value.hint)
        assert Fork.from_rpc(node.url, 3, cache_dir=tmp_path).balance(ALICE) == 2222


def test_a_node_that_is_stopped_leaves_the_session_its_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running(tmp_path / "node") as node:
        market = deploy_market(node)
        seen = session(Fork.from_rpc(node.url, market.block, cache_dir=tmp_path), market)
    fork = Fork.from_rpc(node.url, market.block, cache_dir=tmp_path, patience_s=0.1)
    assert session(fork, market) == seen
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "going on from the cache" in caplog.text
    with pytest.raises(NodeUnreachable, match="cannot be reached"):
        fork.balance(b"\x77" * 20)
