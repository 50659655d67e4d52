"""State that was read once: kept, not asked for again, and checked before it is trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import BlockHashMismatch, RpcBudgetExceeded, WrongChain
from mayavi.evm.rpc.cache import CacheError
from mayavi.evm.rpc.remote import Facts, RemoteState
from tests.evm.rpc.faulty_server import KEY
from tests.evm.rpc.remote_states import FACTS, WANTED, Opened, block_hash
from tests.evm.rpc.scripted_node import ALICE, POOL, ScriptedNode, invented_block


def test_opening_again_and_reading_the_same_makes_no_request(node: ScriptedNode, opened: Opened) -> None:
    first = opened(20)
    first.fetch([*WANTED, ("block_hash", b"", 3)])
    node.requests.clear()
    again = opened(20)
    assert again.header == first.header
    assert again.fetch(WANTED) == FACTS
    assert again.fetch([("block_hash", b"", 3)]).block_hashes == {3: block_hash(node, 3)}
    assert again.known() == Facts(FACTS.accounts, FACTS.slots, {3: block_hash(node, 3)})
    assert again.access_list(ALICE, POOL, b"", 0) is None, "nor does a guess at what comes next"
    assert (again.requests, node.requests) == (0, [])


def test_a_warm_cache_needs_no_node_and_no_budget(node: ScriptedNode, opened: Opened) -> None:
    opened(20).fetch(WANTED)
    offline = opened(20, budget=0)
    assert offline.fetch(WANTED) == FACTS
    with pytest.raises(RpcBudgetExceeded, match="budget of 0 requests"):
        offline.fetch([("slot", POOL, 9)])


def test_opening_by_hash_again_makes_no_request(node: ScriptedNode, opened: Opened) -> None:
    name = block_hash(node, 99)
    opened(name)
    assert opened(name).requests == 0
    assert opened(99).requests == 1, "a number so near the head may come to mean another block"


def test_a_number_is_trusted_only_at_depth(node: ScriptedNode, opened: Opened) -> None:
    for number, requests in ((36, 0), (37, 1)):
        opened(number)
        assert opened(number).requests == requests
    node.blocks.append(invented_block(101, block_hash(node, 100)))
    opened(37)
    assert opened(37).requests == 0


def test_the_latest_block_is_always_asked_for(opened: Opened) -> None:
    assert opened("latest").requests == 1
    assert opened("latest").requests == 1


def test_verify_asks_always(node: ScriptedNode, opened: Opened) -> None:
    opened(20)
    assert opened(20, verify=True).requests == 1
    node.rebuild(100, extraData="0x02")
    assert opened(20, verify=True).header.hash == block_hash(node, 20)


def test_after_a_warm_opening_the_first_fetch_checks_chain_and_hash(node: ScriptedNode, opened: Opened) -> None:
    opened(20).fetch(WANTED)
    state = opened(20)
    assert state.fetch([("slot", POOL, 9)]).slots == {POOL: {9: 9001}}
    assert [call["method"] for call in node.requests[-1]][:2] == ["eth_chainId", "eth_getBlockByNumber"]
    assert state.requests == 1
    state.fetch([("slot", POOL, 10)])
    assert [call["method"] for call in node.requests[-1]] == ["eth_getStorageAt"], "once is enough"


def test_after_a_warm_opening_another_chain_is_found_before_a_value_is_used(node: ScriptedNode, opened: Opened) -> None:
    opened(20).fetch(WANTED)
    node.chain_id = 10
    state = opened(20)
    with pytest.raises(WrongChain, match="serves chain 10, not chain 1"):
        state.fetch([("slot", POOL, 9)])
    assert 9 not in state.known().slots[POOL]
    assert opened(20).chain_id == 10, "the next opening knows"


def test_after_a_warm_opening_another_block_is_found_before_a_value_is_used(node: ScriptedNode, opened: Opened) -> None:
    opened(20).fetch(WANTED)
    node.rebuild(100, extraData="0x02")
    state = opened(20)
    with pytest.raises(BlockHashMismatch):
        state.fetch([("slot", POOL, 9)])
    assert 9 not in state.known().slots[POOL]
    again = opened(20)
    assert again.header.hash == block_hash(node, 20), "the next opening asks"
    assert again.known() == Facts()


def test_an_expected_chain_that_differs_from_the_cached_one_is_asked_for(node: ScriptedNode, opened: Opened) -> None:
    opened(20)
    with pytest.raises(WrongChain):
        opened(20, chain_id=10)
    assert len(node.requests) == 2


def test_where_no_cache_can_be_kept_the_state_is_read_without_one(
    node: ScriptedNode, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "cache"
    in_the_way.write_text("a file")
    with RemoteState.open(node.url, 20, cache_dir=in_the_way) as state:
        assert state.fetch(WANTED) == state.fetch(WANTED) == FACTS
        assert state.requests == 2
    assert in_the_way.read_text() == "a file"
    (warning,) = caplog.records
    assert f"the cache '{in_the_way}/rpc.sqlite3' cannot be opened" in warning.message
    assert "MAYAVI_CACHE_DIR" in warning.message


def test_a_cache_that_is_damaged_is_still_an_error(node: ScriptedNode, tmp_path: Path) -> None:
    (tmp_path / "rpc.sqlite3").write_bytes(b"not a database" * 1000)
    with pytest.raises(CacheError, match="is damaged"):
        RemoteState.open(node.url, 20, cache_dir=tmp_path)


def test_without_a_cache_nothing_is_written(node: ScriptedNode, opened: Opened, tmp_path: Path) -> None:
    opened(20, cached=False).fetch(WANTED)
    assert list(tmp_path.iterdir()) == []
    assert opened(20, cached=False).requests == 1


def test_a_header_damaged_in_the_cache_is_asked_for_again(node: ScriptedNode, opened: Opened) -> None:
    first = opened(20)
    fields = first._cache.header(1, first.header.hash)
    assert fields is not None
    first._cache.remember_header(1, first.header.hash, {**fields, "timestamp": "0x1"})
    again = opened(20)
    assert (again.requests, again.header) == (1, first.header)


def test_the_cache_does_not_hold_the_key(opened: Opened, tmp_path: Path) -> None:
    opened(20).fetch(WANTED)
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
