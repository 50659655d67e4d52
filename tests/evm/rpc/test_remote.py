"""State of one block from a node: pinned to its hash and checked before it is used."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mayavi.errors import BlockHashMismatch, MissingStateError, RpcBadAnswer, RpcBudgetExceeded, RpcHttpError
from mayavi.evm.rpc.refusals import NodeRefused
from mayavi.evm.rpc.remote import Facts
from tests.evm.rpc.faulty_server import KEY, Fault, Reply, every, hang, status, truncated
from tests.evm.rpc.remote_states import FACTS, NOBODY, WANTED, Opened, block_hash
from tests.evm.rpc.scripted_node import POOL, ScriptedNode


def test_facts_come_in_one_request(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    assert state.fetch(WANTED) == FACTS
    assert state.requests == 2
    for call in node.requests[1]:
        if call["method"] in ("eth_getBalance", "eth_getCode", "eth_getStorageAt", "eth_getTransactionCount"):
            assert set(call["params"][-1]) == {"blockHash"}, "state is asked for by block hash"


def test_nothing_missing_makes_no_request(opened: Opened) -> None:
    state = opened(20)
    assert state.fetch([]) == Facts()
    assert state.requests == 1


def test_each_fact_is_asked_for_once(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    state.fetch([*WANTED, *WANTED])
    assert node.asked("eth_getStorageAt") == 3
    assert state.fetch(WANTED) == FACTS
    assert state.requests == 2


def test_an_account_that_does_not_exist_is_empty(opened: Opened) -> None:
    assert opened(20).fetch([("account", NOBODY, 0)]).accounts == {NOBODY: (0, 0, b"")}


@pytest.mark.slow(0.3)
def test_many_facts_come_in_bounded_batches(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20, max_batch=50)
    facts = state.fetch([("slot", POOL, slot) for slot in range(2000)])
    assert facts.slots == {POOL: {slot: slot * 1000 + 1 for slot in range(2000)}}
    assert max(len(request) for request in node.requests) == 50


def test_hashes_of_ancestors(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    near = state.fetch([("block_hash", b"", 20), ("block_hash", b"", 19)])
    assert near.block_hashes == {20: block_hash(node, 20), 19: block_hash(node, 19)}
    assert state.requests == 1, "the header itself gives these two"
    assert state.fetch([("block_hash", b"", 3)]).block_hashes == {3: block_hash(node, 3)}
    with pytest.raises(MissingStateError, match="block 21 has no hash"):
        state.fetch([("block_hash", b"", 21)])


def test_a_lie_about_an_ancestor_is_found(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    node.blocks[3] = {**node.blocks[3], "hash": "0x" + "ab" * 32}
    with pytest.raises(BlockHashMismatch):
        state.fetch([("block_hash", b"", 3)])


@pytest.mark.parametrize("fault", [status(429), status(500), truncated, every(id=5), every(result="0x" + "f" * 70)])
def test_a_fault_while_fetching_is_retried_and_never_a_wrong_number(
    node: ScriptedNode, opened: Opened, fault: Fault
) -> None:
    state = opened(20)
    node.faults = [fault, fault]
    assert state.fetch(WANTED) == FACTS
    node.faults = [fault] * 3
    with pytest.raises((RpcBadAnswer, RpcHttpError)):
        state.fetch([("slot", POOL, 100)])
    assert state.fetch([("slot", POOL, 100)]).slots == {POOL: {100: 100_001}}


def test_a_node_that_hangs_is_asked_again(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20, timeout_s=0.2)
    node.faults = [hang]
    assert state.fetch(WANTED) == FACTS


def test_the_budget_ends_the_fetching_and_what_arrived_is_kept(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20, budget=15, max_batch=100)
    with pytest.raises(RpcBudgetExceeded, match="15 requests"):
        state.fetch([("slot", POOL, slot) for slot in range(2000)])
    assert len(node.requests) == 15
    assert len(state.known().slots[POOL]) == 1000


def no_hashes(node: ScriptedNode) -> None:
    node.eip1898 = False


def ignores_hashes(node: ScriptedNode) -> None:
    node._state = lambda at, value: value  # type: ignore[method-assign]


@pytest.mark.parametrize("lack", [no_hashes, ignores_hashes])
def test_a_node_without_block_hashes_is_asked_by_number_and_checked_after(
    node: ScriptedNode, opened: Opened, lack: Callable[[ScriptedNode], None]
) -> None:
    lack(node)
    state = opened(20)
    assert state.fetch(WANTED) == FACTS
    assert [call["params"][-1] for call in node.requests[-2]] == ["0x14"] * len(node.requests[-2])
    assert [call["method"] for call in node.requests[-1]] == ["eth_chainId", "eth_getBlockByNumber"]
    before = state.requests
    assert state.fetch([("slot", POOL, 9)]).slots == {POOL: {9: 9001}}
    assert state.requests == before + 2


@pytest.mark.parametrize("lack", [no_hashes, ignores_hashes])
def test_a_reorganisation_while_asking_by_number_is_found_before_a_value_is_used(
    node: ScriptedNode, opened: Opened, lack: Callable[[ScriptedNode], None]
) -> None:
    lack(node)
    state = opened(20)
    state.fetch(WANTED)

    def reorganise(reply: Reply) -> None:
        node.rebuild(100, extraData="0x02")

    node.faults = [reorganise]
    with pytest.raises(BlockHashMismatch, match=r"but the node at .* now has 0x"):
        state.fetch([("slot", POOL, 9)])
    assert 9 not in state.known().slots[POOL], "and nothing of it is kept"


def test_a_reorganisation_does_not_matter_to_a_node_that_still_has_the_block_by_hash(
    node: ScriptedNode, opened: Opened
) -> None:
    state = opened(20)
    state.fetch(WANTED)
    old = list(node.blocks)
    node.rebuild(100, extraData="0x02")
    node._block_by_hash = lambda block, full: next((b for b in old if b["hash"] == block), None)  # type: ignore[method-assign]
    assert state.fetch([("slot", POOL, 9)]).slots == {POOL: {9: 9001}}


def test_a_node_that_forgot_the_block_is_explained(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    state.fetch(WANTED)
    node.rebuild(100, extraData="0x02")
    with pytest.raises(BlockHashMismatch, match="this state belongs to block 20"):
        state.fetch([("slot", POOL, 9)])


def test_a_pruned_node_is_explained(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    state.fetch(WANTED)
    node.faults = [every(error={"code": -32000, "message": "missing trie node 00"})]
    with pytest.raises(NodeRefused) as caught:
        state.fetch([("slot", POOL, 9)])
    assert "archive node" in str(caught.value.hint)


def test_nothing_shown_holds_the_key(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    assert KEY not in repr(state) + repr(state.client) + repr(state.header)
    assert node.host in repr(state)
