"""The JSON-RPC client on a real server: batches, their limits, the budget of requests, and no secret shown."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mayavi.errors import RpcBadAnswer, RpcBudgetExceeded, RpcError
from mayavi.evm.rpc.client import RpcClient
from tests.evm.rpc.calls import balance, slot_values, slots
from tests.evm.rpc.concurrency import CountedAnswers
from tests.evm.rpc.faulty_server import KEY, Fault, SteppedClock, body, every, items, status
from tests.evm.rpc.scripted_node import ScriptedNode


def test_a_batch_is_one_request_and_keeps_the_order(client: RpcClient, node: ScriptedNode) -> None:
    assert client.batch([balance(), *slots(50)]) == [5 * 10**18, *slot_values(50)]
    assert len(node.requests) == client.requests == 1
    assert client.calls == 51


def test_answers_may_come_in_any_order(client: RpcClient, node: ScriptedNode) -> None:
    node.faults = [items(lambda answers: answers[::-1])]
    assert client.batch(slots(20)) == slot_values(20)
    assert client.requests == 1


def test_no_calls_make_no_request(client: RpcClient) -> None:
    assert client.batch([]) == []
    assert client.requests == 0


def test_batches_are_bounded_and_run_on_few_connections(node: ScriptedNode) -> None:
    node.reply = counted = CountedAnswers(node.reply)  # type: ignore[method-assign]
    with RpcClient(node.url, max_batch=7, max_concurrency=3) as client:
        assert client.batch(slots(300)) == slot_values(300)
    assert max(len(request) for request in node.requests) == 7
    assert 1 <= counted.most <= 3


def test_a_connection_is_used_again(client: RpcClient, node: ScriptedNode) -> None:
    client.batch([balance()])
    client.batch([balance()])
    assert len(client._transport._idle) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(status(413), id="http-413"),
        pytest.param(status(400), id="http-400"),
        pytest.param(
            body(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}'), id="no-batches"
        ),
        pytest.param(
            body(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch requests are not supported"}}'),
            id="says-so",
        ),
    ],
)
def test_a_node_that_refuses_every_batch_is_asked_one_by_one(
    client: RpcClient, node: ScriptedNode, clock: SteppedClock, refusal: Fault
) -> None:
    def refuse_lists(reply: Any) -> None:
        if isinstance(reply.content, list):
            refusal(reply)

    node.faults = [refuse_lists] * 100
    assert client.batch(slots(9)) == slot_values(9)
    assert sum(len(request) == 1 for request in node.requests) == 9
    assert clock.sleeps == []
    node.requests.clear()
    client.batch(slots(3))
    assert [len(request) for request in node.requests] == [1, 1, 1], "what the node refuses is remembered"


def test_a_batch_too_large_for_the_node_is_split(client: RpcClient, node: ScriptedNode, clock: SteppedClock) -> None:
    node.batch_limit = 16
    assert client.batch(slots(100)) == slot_values(100)
    assert clock.sleeps == []


def test_an_answer_too_large_for_the_node_is_split(client: RpcClient, node: ScriptedNode, clock: SteppedClock) -> None:
    def too_large(answers: list[dict[str, Any]]) -> list[Any]:
        for answer in answers[4:]:
            answer.pop("result")
            answer["error"] = {"code": -32003, "message": "response too large"}
        return answers

    node.faults = [items(too_large)]
    assert client.batch(slots(10)) == slot_values(10)
    assert sorted(len(request) for request in node.requests) == [1, 5, 10]
    assert clock.sleeps == []


def test_an_answer_larger_than_the_cap_is_split_and_then_refused(node: ScriptedNode) -> None:
    with RpcClient(node.url, max_answer_bytes=1000, max_concurrency=1) as client:
        assert client.batch(slots(40)) == slot_values(40)
        node.faults = [body(b" " * 2000)]
        with pytest.raises(RpcBadAnswer, match="longer than 1000 bytes"):
            client.batch([balance()])


def test_the_budget_counts_requests_and_says_how_many_were_made(node: ScriptedNode, clock: SteppedClock) -> None:
    with RpcClient(node.url, budget=2, clock=clock.clock()) as client:
        client.batch(slots(5))
        node.faults = [status(500)]
        with pytest.raises(RpcBudgetExceeded, match=r"budget of 2 requests .* 2 requests with 10 calls were made"):
            client.batch(slots(5))
        with pytest.raises(RpcBudgetExceeded):
            client.batch([balance()])
    assert len(node.requests) == 2


def test_the_budget_holds_with_several_connections(node: ScriptedNode) -> None:
    with RpcClient(node.url, budget=10, max_batch=1, max_concurrency=4) as client, pytest.raises(RpcBudgetExceeded):
        client.batch(slots(100))
    assert len(node.requests) == 10


def test_no_key_is_logged_or_shown(client: RpcClient, node: ScriptedNode, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    leak = {"code": -32603, "message": f"internal error: key {KEY} of {node.url} is over its limit"}
    node.faults = [every(error=leak)] * 3
    with pytest.raises(RpcError) as caught:
        client.batch([balance()])
    node.faults = [every(result=KEY)] * 3
    with pytest.raises(RpcError) as caught_value:
        client.batch([balance()])
    shown = caplog.text + str(caught.value) + str(caught_value.value) + repr(client) + repr(client.endpoint)
    assert KEY not in shown
    assert "internal error: key …" in shown
    assert "asking again" in caplog.text


def test_user_and_password_are_sent_and_not_shown(node: ScriptedNode) -> None:
    url = node.host.replace("http://", "http://anna:opensesame@")
    with RpcClient(url) as client:
        client.batch([balance()])
        assert "opensesame" not in repr(client) + repr(client.endpoint) + str(client.endpoint)
    assert node.request_headers[0]["Authorization"] == "Basic YW5uYTpvcGVuc2VzYW1l"


def test_a_proxy_the_environment_names_is_used(node: ScriptedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", node.host.replace("http://", "http://anna:opensesame@"))
    monkeypatch.delenv("no_proxy", raising=False)
    with RpcClient(f"http://node.invalid/v2/{KEY}", max_attempts=1) as client:
        assert client.batch([balance()]) == [5 * 10**18]
    assert node.request_headers[0][":path"] == f"http://node.invalid/v2/{KEY}"
    assert node.request_headers[0]["Proxy-Authorization"] == "Basic YW5uYTpvcGVuc2VzYW1l"
