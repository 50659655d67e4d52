"""Fork of a real node: reads equal the node's, the node is never changed, and faults do no harm.

The node is `hardhat node`; Aave V3 is deployed on it from the npm artifacts by the replica's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import BlockHashMismatch, CallReverted, RpcBadAnswer, RpcError, RpcHttpError, RpcTimeout, WrongChain
from mayavi.evm.fork import Fork
from mayavi.evm.rpc.client import RpcClient
from tests.evm.rpc.faulty_server import (
    KEY,
    Fault,
    Reply,
    SteppedClock,
    cut_json,
    every,
    hang,
    hang_up,
    items,
    status,
    truncated,
)
from tests.node.aave_market import ALICE, ETHER, USDC, AaveMarket, act_on_fork, act_on_node
from tests.node.faulty_proxy import FaultyProxy
from tests.node.hardhat import Hardhat

pytestmark = pytest.mark.node

OpenFork = Callable[..., Fork]


@pytest.fixture
def open_fork(proxy: FaultyProxy, market: AaveMarket, tmp_path: Path) -> Iterator[OpenFork]:
    """Open forks at the market's block through the proxy, with one cache; retries use a test clock."""
    clients: list[RpcClient] = []

    def open_at_block(
        block: int | str | None = None, *, timeout_s: float = 10.0, max_attempts: int = 4, **options: Any
    ) -> Fork:
        client = RpcClient(proxy.url, timeout_s=timeout_s, max_attempts=max_attempts, clock=SteppedClock().clock())
        clients.append(client)
        at = market.block if block is None else block
        return Fork.from_rpc(proxy.url, at, client=client, cache_dir=tmp_path, **options)

    yield open_at_block
    for client in clients:
        client.close()


def readings_of_fork(fork: Fork, market: AaveMarket) -> dict[str, str]:
    contracts = {name: fork.call(to, data).hex() for name, (to, data) in market.reads().items()}
    return {**contracts, "ether": hex(fork.balance(ALICE)), "nonce": hex(fork.nonce(ALICE))}


def readings_of_node(node: Hardhat, market: AaveMarket) -> dict[str, str]:
    contracts = {name: node.call(to, data).hex() for name, (to, data) in market.reads().items()}
    who = "0x" + ALICE.hex()
    ether = node.rpc("eth_getBalance", who, "latest")
    return {**contracts, "ether": ether, "nonce": node.rpc("eth_getTransactionCount", who, "latest")}


def live_on(market: AaveMarket) -> None:
    """Advance the chain after the market's block in ways that would change every answer."""
    act_on_node(
        market.node,
        [
            market.act(100, "WETH", "deposit()", value=5 * ETHER),
            market.act(100, "WETH", "approve(address,uint256)", "AaveV3.Pool", 5 * ETHER),
            market.act(100, "AaveV3.Pool", "supply(address,uint256,address,uint16)", "WETH", 5 * ETHER, ALICE, 0),
            market.act(
                86_400, "AaveV3.Pool", "borrow(address,uint256,uint256,uint16,address)", "DAI", ETHER, 2, 0, ALICE
            ),
        ],
    )


def test_acting_on_a_fork_of_a_past_block_equals_acting_on_the_node(market: AaveMarket, open_fork: OpenFork) -> None:
    node, acts = market.node, market.borrowing()
    before = readings_of_node(node, market)
    moment = node.rpc("evm_snapshot")
    live_on(market)
    head = node.head

    fork = open_fork()
    assert fork.block_number == market.block < node.block_number
    assert readings_of_fork(fork, market) == before
    fork_outcomes = act_on_fork(fork, acts)
    fork_readings = readings_of_fork(fork, market)
    fork.mine(1, seconds=86_400 * 365)
    fork_readings_later = readings_of_fork(fork, market)

    assert node.head == head, "what happens on a fork stays there"
    assert node.rpc("evm_revert", moment) is True
    assert readings_of_node(node, market) == before
    node_outcomes = act_on_node(node, acts)
    assert fork_outcomes == node_outcomes, "gas and logs of every transaction"
    assert fork_readings == readings_of_node(node, market)
    assert fork_readings != before
    node.rpc("evm_setNextBlockTimestamp", hex(int(node.head["timestamp"], 16) + 86_400 * 365))
    node.rpc("evm_mine")
    assert fork_readings_later == readings_of_node(node, market), "and a year later"
    assert fork_readings_later != fork_readings


def test_a_refused_transaction_has_the_node_s_reason(market: AaveMarket, open_fork: OpenFork) -> None:
    too_much = market.act(
        12, "AaveV3.Pool", "borrow(address,uint256,uint256,uint16,address)", "USDC", USDC, 2, 0, ALICE
    )
    with pytest.raises(CallReverted, match="34 COLLATERAL_BALANCE_IS_ZERO"):
        act_on_fork(open_fork(), [too_much])
    with pytest.raises(CallReverted, match="reverted with reason string '34'"):
        act_on_node(market.node, [too_much])


def test_a_fork_costs_few_requests(market: AaveMarket, open_fork: OpenFork, proxy: FaultyProxy) -> None:
    fork = open_fork()
    act_on_fork(fork, market.borrowing())
    calls = sum(len(request) for request in proxy.requests)
    assert fork.requests == len(proxy.requests) < calls / 2, "misses are fetched together"


def test_a_block_can_be_named_by_hash_or_as_the_latest(market: AaveMarket, open_fork: OpenFork) -> None:
    block_hash = market.node.head["hash"]
    live_on(market)
    for name in (market.block, block_hash):
        assert open_fork(name).source["block_hash"] == block_hash
    assert open_fork("latest").block_number == market.node.block_number


def test_a_snapshot_of_the_fork_opens_without_the_node(
    market: AaveMarket, open_fork: OpenFork, proxy: FaultyProxy, tmp_path: Path
) -> None:
    fork = open_fork()
    act_on_fork(fork, market.borrowing())
    readings = readings_of_fork(fork, market)
    fork.dump_snapshot(tmp_path / "market.snapshot")
    proxy.requests.clear()
    assert readings_of_fork(Fork.load_snapshot(tmp_path / "market.snapshot"), market) == readings
    assert proxy.requests == []


# A line or a node that misbehaves

PASSING = [
    pytest.param(status(429, Retry_After="3"), id="429"),
    pytest.param(status(500), id="500"),
    pytest.param(hang_up, id="connection closed"),
    pytest.param(truncated, id="truncated body"),
    pytest.param(cut_json, id="truncated JSON"),
    pytest.param(every(id=-1), id="wrong ids"),
    pytest.param(items(lambda answers: answers[:-1] or [None]), id="missing answer"),
    pytest.param(every(result="0x" + "f" * 65), id="over-long words"),
    pytest.param(every(error={"code": -32005, "message": "limit exceeded"}), id="rate limit"),
]


@pytest.mark.parametrize("fault", PASSING)
def test_faults_that_pass_change_no_number(
    market: AaveMarket, open_fork: OpenFork, proxy: FaultyProxy, fault: Fault
) -> None:
    expected = readings_of_node(market.node, market)
    proxy.faults = [fault, fault, None] * 20
    fork = open_fork(max_attempts=20)
    assert readings_of_fork(fork, market) == expected
    acts = market.borrowing()
    assert act_on_fork(fork, acts) == act_on_node(market.node, acts)
    assert readings_of_fork(fork, market) == readings_of_node(market.node, market)
    assert len(proxy.faults) < 40, "the faults did happen"


def test_a_node_that_hangs_now_and_then_changes_no_number(
    market: AaveMarket, open_fork: OpenFork, proxy: FaultyProxy
) -> None:
    proxy.faults = [hang, None, None, hang]
    fork = open_fork(timeout_s=0.5)
    assert readings_of_fork(fork, market) == readings_of_node(market.node, market)
    assert proxy.faults == []


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        pytest.param(status(429), RpcHttpError, "HTTP 429", id="429"),
        pytest.param(status(500), RpcHttpError, "HTTP 500", id="500"),
        pytest.param(hang, RpcTimeout, "did not answer within 0.2 s", id="timeout"),
        pytest.param(truncated, RpcBadAnswer, "ended its answer early", id="truncated body"),
        pytest.param(cut_json, RpcBadAnswer, "not complete JSON", id="truncated JSON"),
        pytest.param(every(result="0x"), RpcBadAnswer, "is not a hex", id="empty values"),
    ],
)
@pytest.mark.parametrize("when", ["opening", "reading"])
def test_faults_that_last_are_clear_errors(
    market: AaveMarket,
    open_fork: OpenFork,
    proxy: FaultyProxy,
    fault: Fault,
    error: type[RpcError],
    message: str,
    when: str,
) -> None:
    endless: list[Fault | None] = [fault] * 20
    if when == "opening":
        proxy.faults = endless
        with pytest.raises(error, match=rf"{message}.*\(4 attempts in \d\.\d s\)") as caught:
            open_fork(timeout_s=0.2)
    else:
        fork = open_fork(timeout_s=0.2)
        proxy.faults = endless
        with pytest.raises(error, match=rf"{message}.*\(4 attempts in \d\.\d s\)") as caught:
            readings_of_fork(fork, market)
    assert KEY not in str(caught.value)
    assert proxy.host in str(caught.value)
    proxy.faults = []
    assert readings_of_fork(open_fork(), market) == readings_of_node(market.node, market), "and nothing wrong was kept"


def lie(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    """Change every block sent."""

    def change_blocks(answers: list[dict[str, Any]]) -> list[Any]:
        for answer in answers:
            if isinstance(answer.get("result"), dict) and "stateRoot" in answer["result"]:
                answer["result"] = change(answer["result"])
        return answers

    return items(change_blocks)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda block: {**block, "hash": "0x" + "ab" * 32}, id="hash"),
        pytest.param(lambda block: {**block, "timestamp": hex(int(block["timestamp"], 16) + 1)}, id="timestamp"),
        pytest.param(lambda block: {**block, "stateRoot": "0x" + "cd" * 32}, id="state root"),
        pytest.param(lambda block: {**block, "baseFeePerGas": "0x1"}, id="base fee"),
    ],
)
def test_a_lie_about_the_block_is_found_at_opening(
    open_fork: OpenFork, proxy: FaultyProxy, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    proxy.faults = [lie(change)] * 5
    with pytest.raises(BlockHashMismatch, match="but its header has hash 0x"):
        open_fork()


def test_a_node_whose_block_changes_under_the_fork_is_found(
    market: AaveMarket, open_fork: OpenFork, proxy: FaultyProxy
) -> None:
    """The chain is rolled back and another block takes the fork's block number."""
    node = market.node
    moment = node.rpc("evm_snapshot")
    live_on(market)
    fork = open_fork("latest")
    pinned = fork.block_number
    assert node.rpc("evm_revert", moment) is True
    node.rpc("hardhat_mine", hex(pinned - node.block_number))
    assert node.block_number == pinned
    with pytest.raises(BlockHashMismatch, match=f"this state belongs to block {pinned} 0x"):
        readings_of_fork(fork, market)
    proxy.requests.clear()
    again = open_fork(pinned, verify=True)
    assert again.source["block_hash"] == node.head["hash"]
    assert readings_of_fork(again, market) == readings_of_node(node, market)


def test_a_node_that_knows_no_block_hashes_gives_the_same_numbers(
    market: AaveMarket, open_fork: OpenFork, proxy: FaultyProxy
) -> None:
    def refuse_hashes(reply: Reply) -> None:
        questions = proxy.requests[-1]
        answers = reply.content if isinstance(reply.content, list) else [reply.content]
        for question, answer in zip(questions, answers, strict=True):
            if question["params"] and isinstance(question["params"][-1], dict):
                answer.pop("result", None)
                answer["error"] = {"code": -32602, "message": "invalid argument: cannot unmarshal object"}

    proxy.faults = [refuse_hashes] * 1000
    fork = open_fork()
    assert readings_of_fork(fork, market) == readings_of_node(market.node, market)
    acts = market.borrowing()
    assert act_on_fork(fork, acts) == act_on_node(market.node, acts)


def test_a_node_of_another_chain_is_refused(open_fork: OpenFork) -> None:
    with pytest.raises(WrongChain, match="serves chain 31337, not chain 1"):
        open_fork(chain="ethereum")


def test_nodes_under_other_rules_have_headers_that_hash_and_say_which(other_rules: Hardhat, tmp_path: Path) -> None:
    """Cancun and Prague add header fields; another chain id shows that none is assumed."""
    node, hardfork = other_rules, other_rules.hardfork
    node.rpc("hardhat_mine", "0x2")
    block = node.block_number - 1
    fork = Fork.from_rpc(node.url, block, cache_dir=tmp_path)
    assert (fork.chain_id, fork.block_number, fork.hardfork) == (1337, block, hardfork)
    assert Fork.from_rpc(node.url, block, cache_dir=tmp_path, hardfork="shanghai").hardfork == "shanghai"
    assert fork.balance(ALICE) == 0
