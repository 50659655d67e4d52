"""Opening a block of a node: by number, hash or tag, with a header that its hash confirms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.errors import BlockHashMismatch, RpcBadAnswer, UsageError, WrongChain
from tests.evm.rpc.faulty_server import KEY, items
from tests.evm.rpc.remote_states import Opened, block_hash
from tests.evm.rpc.scripted_node import ScriptedNode


def test_opening_takes_one_request_and_gives_the_header(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    assert state.requests == len(node.requests) == 1
    assert state.chain_id == 1
    assert state.header.number == 20
    assert state.header.hash == block_hash(node, 20)
    assert state.header.parent_hash == block_hash(node, 19)
    assert state.header.timestamp == 1_700_000_240
    assert state.header.base_fee == 10**9
    assert state.header.gas_limit == 30_000_000
    assert state.header.coinbase == b"\xc0" * 20
    assert state.header.prevrandao == (20).to_bytes(32, "big")
    assert state.header.excess_blob_gas is None


def test_a_block_can_be_named_by_number_hash_or_tag(node: ScriptedNode, opened: Opened) -> None:
    for name in (20, "20", block_hash(node, 20), "0x" + block_hash(node, 20).hex()):
        assert opened(name).header.number == 20
    for tag in ("latest", "safe", "finalized"):
        assert opened(tag).header.number == 100


def test_a_number_may_be_of_any_integer_type(opened: Opened) -> None:
    assert opened(np.int64(20)).header.number == opened(np.uint8(20)).header.number == 20


@pytest.mark.parametrize(
    "block", [-1, True, np.True_, np.float64(20), 2**63, "newest", "0x12", b"\1" * 31, "", 1.5, None]
)
def test_what_names_no_block_is_refused_without_a_request(node: ScriptedNode, opened: Opened, block: object) -> None:
    with pytest.raises(UsageError, match="is not a valid block"):
        opened(block)
    assert node.requests == []


def test_a_block_that_does_not_exist_yet(opened: Opened) -> None:
    with pytest.raises(UsageError, match=r"block 101 of chain 1 does not exist yet: the node at .* is at block 100"):
        opened(101)


def test_a_hash_the_node_does_not_know(opened: Opened) -> None:
    with pytest.raises(UsageError, match="knows no block 0xabab"):
        opened(b"\xab" * 32)


def test_a_backend_that_lags_is_asked_again(node: ScriptedNode, opened: Opened) -> None:
    def no_block(answers: list[dict[str, Any]]) -> list[Any]:
        answers[-1]["result"] = None
        return answers

    node.faults = [items(no_block)]
    assert opened(100).header.number == 100
    node.faults = [items(no_block)] * 4
    with pytest.raises(RpcBadAnswer):
        opened(99)


def test_the_chain_must_be_the_one_expected(node: ScriptedNode, opened: Opened) -> None:
    with pytest.raises(WrongChain, match=rf"{node.host} serves chain 1, not chain 8453") as caught:
        opened(20, chain_id=8453)
    assert KEY not in str(caught.value)
    assert opened(20, chain_id=1).chain_id == 1


def test_a_block_of_another_number_than_asked_is_refused(node: ScriptedNode, opened: Opened) -> None:
    node.blocks[20] = node.blocks[21]
    with pytest.raises(RpcBadAnswer, match="asked for block 20, got block 21"):
        opened(20)


def test_a_block_hash_that_does_not_follow_from_the_header_is_a_lie(node: ScriptedNode, opened: Opened) -> None:
    true_hash = node.blocks[20]["hash"]
    node.blocks[20] = {**node.blocks[20], "hash": "0x" + "ab" * 32}
    with pytest.raises(BlockHashMismatch, match=f"has hash 0xabab.* but its header has hash {true_hash}"):
        opened(20)
    node.blocks[20] = {**node.blocks[20], "hash": true_hash, "timestamp": "0x1"}
    with pytest.raises(BlockHashMismatch):
        opened(20)
    assert opened(20, check_header=False).header.timestamp == 1


def test_another_block_than_the_hash_asked_for_is_a_lie(node: ScriptedNode, opened: Opened) -> None:
    asked = block_hash(node, 20)
    node.methods["eth_getBlockByHash"] = lambda block, full: node.blocks[21]
    with pytest.raises(BlockHashMismatch, match="when asked for"):
        opened(asked)


def test_chains_with_other_headers_are_taken_at_their_word(node: ScriptedNode, opened: Opened) -> None:
    node.chain_id = 42161
    node.blocks[20] = {**node.blocks[20], "hash": "0x" + "ab" * 32}
    assert opened(20).header.hash == b"\xab" * 32
