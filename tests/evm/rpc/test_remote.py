"""State of one block from a node: pinned to its hash, checked before it is used, kept so that it is asked for once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mayavi.errors import (
    BlockHashMismatch,
    MissingStateError,
    RpcBadAnswer,
    RpcBudgetExceeded,
    RpcHttpError,
    UsageError,
    WrongChain,
)
from mayavi.evm.rpc.cache import CacheError
from mayavi.evm.rpc.client import RpcClient
from mayavi.evm.rpc.endpoint import Endpoint
from mayavi.evm.rpc.refusals import NodeRefused, NodeUnreachable
from mayavi.evm.rpc.remote import Facts, RemoteState
from tests.evm.rpc.faulty_server import KEY, Fault, Reply, SteppedClock, every, hang, items, status, truncated
from tests.evm.rpc.scripted_node import ALICE, POOL, POOL_CODE, ScriptedNode, invented_block, scripted_node

NOBODY = bytes.fromhex("0b0d100000000000000000000000000000000003")
WANTED = [("account", ALICE, 0), ("account", POOL, 0), ("slot", POOL, 7), ("slot", POOL, 8), ("slot", ALICE, 2**255)]
FACTS = Facts(
    accounts={ALICE: (5 * 10**18, 7, b""), POOL: (0, 1, POOL_CODE)},
    slots={POOL: {7: 7001, 8: 8001}, ALICE: {2**255: 0}},
)

Opened = Callable[..., RemoteState]


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with scripted_node() as running:
        yield running


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def opened(node: ScriptedNode, clock: SteppedClock, tmp_path: Path) -> Iterator[Opened]:
    """Open the node's state with a cache of this test's own; everything opened is closed at the end."""
    states: list[RemoteState | RpcClient] = []

    def open_state(block: Any = 20, **options: Any) -> RemoteState:
        client = RpcClient(node.url, clock=clock.clock(), max_attempts=3, timeout_s=options.pop("timeout_s", 5), **{
            name: options.pop(name) for name in ("budget", "max_batch") if name in options
        })  # fmt: skip
        states.append(client)
        state = RemoteState.open(node.url, block, client=client, cache_dir=tmp_path, **options)
        states.append(state)
        return state

    yield open_state
    for state in states:
        state.close()


def block_hash(node: ScriptedNode, number: int) -> bytes:
    return bytes.fromhex(node.blocks[number]["hash"][2:])


# Opening


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
    with pytest.raises(UsageError, match="is no block"):
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


# Fetching


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


# Nodes that do not take block hashes


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


# The cache


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


# Development nodes, which are restarted and reverted at will


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


# A cache that cannot be kept


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


# Access lists


def created(call: dict[str, str], at: Any) -> Any:
    entries = [{"address": "0x" + POOL.hex(), "storageKeys": [f"0x{7:064x}", f"0x{8:064x}"]}]
    return {"accessList": entries, "gasUsed": "0x5208", "error": "execution reverted"}


def traced(call: dict[str, str], at: Any, options: dict[str, str]) -> Any:
    assert options == {"tracer": "prestateTracer"}
    return {"0x" + POOL.hex(): {"balance": "0x0", "storage": {f"0x{9:064x}": "0x" + "00" * 32}}}


def test_the_node_tells_what_a_call_touches(node: ScriptedNode, opened: Opened) -> None:
    node.methods["eth_createAccessList"] = created
    assert opened(20).access_list(ALICE, POOL, b"\x12\x34", 5) == [(POOL, [7, 8]), (ALICE, [])]
    question, at = node.requests[-1][0]["params"]
    assert question == {"from": "0x" + ALICE.hex(), "to": "0x" + POOL.hex(), "data": "0x1234", "value": "0x5"}
    assert at == "0x14"


def test_a_tracer_serves_where_access_lists_are_lacking(node: ScriptedNode, opened: Opened) -> None:
    node.methods["debug_traceCall"] = traced
    state = opened(20)
    for _ in range(3):
        assert state.access_list(ALICE, POOL, b"", 0) == [(POOL, [9]), (ALICE, [])]
    assert node.asked("eth_createAccessList") == 1, "what the node lacks is remembered"


def test_a_node_that_cannot_tell_is_asked_once(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    for _ in range(3):
        assert state.access_list(ALICE, POOL, b"", 0) is None
    assert (node.asked("eth_createAccessList"), node.asked("debug_traceCall")) == (1, 1)


@pytest.mark.parametrize(
    "answer",
    [None, {}, {"accessList": 5}, {"accessList": [{"address": "0x12"}]}, {"accessList": [None]},
     {"accessList": [{"address": "0x" + "00" * 20, "storageKeys": ["0xzz"]}]}],
)  # fmt: skip
def test_a_malformed_list_is_no_list(node: ScriptedNode, opened: Opened, clock: SteppedClock, answer: Any) -> None:
    node.methods["eth_createAccessList"] = lambda call, at: answer
    assert opened(20).access_list(ALICE, POOL, b"", 0) is None
    assert clock.sleeps == []


def test_nothing_shown_holds_the_key(node: ScriptedNode, opened: Opened) -> None:
    state = opened(20)
    assert KEY not in repr(state) + repr(state.client) + repr(state.header)
    assert node.host in repr(state)


def test_the_cache_does_not_hold_the_key(opened: Opened, tmp_path: Path) -> None:
    opened(20).fetch(WANTED)
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
