"""Development nodes, which are restarted and reverted at will: noticed before a cached value is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import BlockHashMismatch, WrongChain
from mayavi.evm.rpc.endpoint import Endpoint
from mayavi.evm.rpc.refusals import NodeUnreachable
from mayavi.evm.rpc.remote import Facts, RemoteState
from tests.evm.rpc.faulty_server import SteppedClock
from tests.evm.rpc.remote_states import FACTS, WANTED, Opened, block_hash
from tests.evm.rpc.scripted_node import ALICE, POOL, ScriptedNode, scripted_node


@pytest.fixture
def dev_node(node: ScriptedNode) -> ScriptedNode:
    node.chain_id = 31337
    node.rebuild(5)
    return node


def test_a_warm_opening_of_a_development_node_makes_no_request_and_its_use_exactly_one(
    dev_node: ScriptedNode, opened: Opened, clock: SteppedClock
) -> None:
    opened(5).fetch(WANTED)
    clock.now += 365 * 86_400
    dev_node.requests.clear()
    state = opened(5)
    assert state.fetch([]) == Facts()
    assert dev_node.requests == []
    assert state.fetch(WANTED) == FACTS
    assert [[call["method"] for call in request] for request in dev_node.requests] == [
        ["eth_chainId", "eth_getBlockByNumber"]
    ]
    assert state.fetch(WANTED) == FACTS
    assert state.access_list(ALICE, POOL, b"", 0) is None, "nor does a guess at what comes next ask more"
    assert state.requests == len(dev_node.requests) == 1


@pytest.mark.parametrize("height", [3, 8], ids=["reverted below", "another block there"])
def test_a_restarted_development_node_is_found_before_a_cached_value_is_used(
    dev_node: ScriptedNode, opened: Opened, height: int
) -> None:
    opened(5).fetch(WANTED)
    dev_node.rebuild(height, extraData="0x02")
    state = opened(5)
    with pytest.raises(BlockHashMismatch, match=r"does not have it|now has 0x") as caught:
        state.fetch(WANTED)
    assert "restarted or reverted; open the fork again" in str(caught.value.hint)
    dev_node.rebuild(8, extraData="0x02")
    again = opened(5)
    assert again.header.hash == block_hash(dev_node, 5), "opening it again reads what is there now"
    dev_node.storage["0x" + POOL.hex(), 7] = 12345
    assert again.fetch([("slot", POOL, 7)]).slots == {POOL: {7: 12345}}


def test_a_development_node_that_became_another_chain_is_found(dev_node: ScriptedNode, opened: Opened) -> None:
    opened(5).fetch(WANTED)
    dev_node.chain_id = 1337
    with pytest.raises(WrongChain, match="serves chain 1337, not chain 31337") as caught:
        opened(5).fetch(WANTED)
    assert "open the fork again" in str(caught.value.hint)
    assert opened(5).chain_id == 1337


def test_two_development_nodes_share_a_cache_and_not_their_block_numbers(
    dev_node: ScriptedNode, opened: Opened, tmp_path: Path
) -> None:
    opened(5).fetch(WANTED)
    with scripted_node(chain_id=31337) as other:
        other.rebuild(5, extraData="0x02")
        RemoteState.open(other.url, 5, cache_dir=tmp_path).close()
    assert opened(5).fetch(WANTED) == FACTS


def test_a_development_node_that_is_off_leaves_the_cache_to_work_from(
    clock: SteppedClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with scripted_node(chain_id=31337, height=5) as node, RemoteState.open(node.url, 5, cache_dir=tmp_path) as state:
        state.fetch(WANTED)
    with RemoteState.open(node.url, 5, cache_dir=tmp_path, clock=clock.clock()) as state:
        assert state.fetch(WANTED) == state.fetch(WANTED) == FACTS
        assert (state.requests, clock.sleeps) == (1, []), "one knock, no waiting"
        (warning,) = caplog.records
        assert warning.levelname == "WARNING"
        assert "cannot be reached" in warning.message
        assert "going on from the cache, unverified" in warning.message
        with pytest.raises(NodeUnreachable):
            state.fetch([("slot", POOL, 9)])


def test_a_development_node_that_comes_back_changed_is_found_at_the_first_fetch(
    dev_node: ScriptedNode, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    opened(5).fetch(WANTED)
    state = opened(5)
    host, state.client._transport.endpoint = state.client._transport.endpoint, Endpoint.parse("http://127.0.0.1:1/")
    assert state.fetch(WANTED) == FACTS
    state.client._transport.endpoint = host
    dev_node.rebuild(8, extraData="0x02")
    with pytest.raises(BlockHashMismatch):
        state.fetch([("slot", POOL, 9)])
