"""The JSON-RPC client against a real server that misbehaves: it retries, it explains, it never makes up a value."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest

from mayavi.errors import RpcBadAnswer, RpcBudgetExceeded, RpcError, RpcHttpError, RpcTimeout
from mayavi.evm.rpc.answers import quantity
from mayavi.evm.rpc.client import Call, RpcClient
from mayavi.evm.rpc.refusals import NodeRefused, NodeUnreachable, Refusal, retry_after_s
from tests.evm.rpc.faulty_server import (
    KEY,
    Fault,
    Reply,
    SteppedClock,
    body,
    cut_json,
    drip,
    every,
    hang,
    hang_up,
    items,
    status,
    truncated,
)
from tests.evm.rpc.scripted_node import ALICE, POOL, ScriptedNode, scripted_node


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with scripted_node() as running:
        yield running


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def client(node: ScriptedNode, clock: SteppedClock) -> Iterator[RpcClient]:
    with RpcClient(node.url, clock=clock.clock(), timeout_s=5, max_attempts=3) as opened:
        yield opened


def balance(address: bytes = ALICE) -> Call:
    return Call("eth_getBalance", ["0x" + address.hex(), "latest"], quantity)


def slots(count: int) -> list[Call]:
    return [Call("eth_getStorageAt", ["0x" + POOL.hex(), hex(slot), "latest"], quantity) for slot in range(count)]


def slot_values(count: int) -> list[int]:
    return [slot * 1000 + 1 for slot in range(count)]


# Batches


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
    running, most, lock = 0, 0, threading.Lock()
    plain_answer = node.reply

    def counted(question: Any) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return plain_answer(question)
        finally:
            with lock:
                running -= 1

    node.reply = counted  # type: ignore[method-assign]
    with RpcClient(node.url, max_batch=7, max_concurrency=3) as client:
        assert client.batch(slots(300)) == slot_values(300)
    assert max(len(request) for request in node.requests) == 7
    assert 1 <= most <= 3


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


# Patience


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(status(429), id="429"),
        pytest.param(status(500), id="500"),
        pytest.param(status(503), id="503"),
        pytest.param(hang_up, id="connection closed"),
        pytest.param(truncated, id="truncated body"),
        pytest.param(cut_json, id="truncated JSON"),
        pytest.param(body(b"<html>busy</html>"), id="no JSON"),
        pytest.param(body(b'{"jsonrpc":"2.0","id":1}'), id="neither result nor error"),
        pytest.param(body(b"[]"), id="empty batch"),
        pytest.param(body(b"null"), id="null"),
        pytest.param(body(b"[" * 100_000), id="deeply nested"),
        pytest.param(every(id=999_999), id="wrong ids"),
        pytest.param(every(id="1"), id="ids of another type"),
        pytest.param(every(id=True), id="ids that only compare equal"),
        pytest.param(every(jsonrpc="1.0"), id="another protocol"),
        pytest.param(every(result=None), id="null result"),
        pytest.param(every(result=5), id="a JSON number"),
        pytest.param(every(result="5"), id="no hex"),
        pytest.param(every(result="0x"), id="empty hex"),
        pytest.param(every(result="0x1_0"), id="underscore"),
        pytest.param(every(result="0xfg"), id="no hex digit"),
        pytest.param(every(result=" 0x1"), id="space"),
        pytest.param(every(result="-0x1"), id="negative"),
        pytest.param(every(result="0x" + "1" * 65), id="over-long word"),
        pytest.param(every(result=["0x1"]), id="wrong type"),
        pytest.param(every(result="0x1", error={"code": 1, "message": "but"}), id="result and error"),
        pytest.param(every(error={"code": -32005, "message": "limit exceeded"}), id="rate limit -32005"),
        pytest.param(every(error={"code": 429, "message": "slow down"}), id="rate limit 429"),
        pytest.param(every(error={"code": -32603, "message": "internal error"}), id="internal error"),
        pytest.param(every(error={"code": -32000, "message": "header not found"}), id="lagging backend"),
        pytest.param(
            items(lambda answers: [*answers[:-1], answers[0]] if answers[1:] else [None]), id="one twice, one missing"
        ),
        pytest.param(items(lambda answers: answers[:-1] or [None]), id="one missing"),
        pytest.param(items(lambda answers: [*answers, answers[0]] if answers[1:] else [None]), id="one too many"),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_a_passing_fault_is_retried_and_a_lasting_one_is_an_error(
    client: RpcClient, node: ScriptedNode, clock: SteppedClock, fault: Fault, count: int
) -> None:
    node.faults = [fault, fault]
    assert client.batch(slots(count)) == slot_values(count)
    assert client.requests == 3
    assert len(clock.sleeps) == 2

    node.faults = [fault] * 3
    with pytest.raises(RpcError, match=r"\(3 attempts in \d+\.\d s\)") as caught:
        client.batch(slots(count))
    assert client.requests == 6
    assert KEY not in str(caught.value)
    assert node.host in str(caught.value)


def test_the_error_fits_the_fault(client: RpcClient, node: ScriptedNode) -> None:
    for fault, error in (
        (status(502), RpcHttpError),
        (status(429), RpcHttpError),
        (truncated, RpcBadAnswer),
        (every(id=77), RpcBadAnswer),
        (every(result="0xzz"), RpcBadAnswer),
        (every(error={"code": -32005, "message": "limit"}), NodeRefused),
    ):
        node.faults = [fault] * 3
        with pytest.raises(error):
            client.batch([balance()])


def test_a_node_that_does_not_answer_is_a_timeout(node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [hang] * 2
    with (
        RpcClient(node.url, timeout_s=0.05, max_attempts=2, clock=clock.clock()) as client,
        pytest.raises(RpcTimeout, match=r"did not answer within 0.05 s \(2 attempts in \d\.\d s\)"),
    ):
        client.batch([balance()])


def test_a_node_that_drips_is_held_to_the_same_deadline(node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [drip]
    with RpcClient(node.url, timeout_s=0.2, max_attempts=1, clock=clock.clock()) as client, pytest.raises(RpcTimeout):
        client.batch([balance()])


def test_a_node_that_hangs_once_is_asked_again(node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [hang]
    with RpcClient(node.url, timeout_s=0.3, clock=clock.clock()) as client:
        assert client.batch([balance()]) == [5 * 10**18]


def test_the_time_without_an_answer_is_bounded(node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [status(503)] * 20
    with (
        RpcClient(node.url, clock=clock.clock(), max_attempts=20, patience_s=4) as client,
        pytest.raises(RpcHttpError, match=r"HTTP 503 \(6 attempts in 3\.\d s\)"),
    ):
        client.batch([balance()])
    assert clock.sleeps == [0.125, 0.25, 0.5, 1.0, 2.0], "the next pause would have gone beyond four seconds"


def test_a_node_that_hangs_is_not_waited_for_attempt_after_attempt(node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [hang] * 6
    with (
        RpcClient(node.url, clock=clock.clock(), timeout_s=0.2, patience_s=1) as client,
        pytest.raises(RpcTimeout, match=r"did not answer within 0.2 s \([23] attempts in \d\.\d s\)"),
    ):
        client.batch([balance()])
    assert client.requests <= 3, "of the six attempts there might have been"


def test_an_answer_renews_the_patience(node: ScriptedNode, clock: SteppedClock) -> None:
    def nothing_but_the_first(answers: list[dict[str, Any]]) -> list[Any]:
        for answer in answers[1:]:
            answer["result"] = None
        return answers

    node.faults = [items(nothing_but_the_first)] * 9
    with RpcClient(node.url, clock=clock.clock(), max_attempts=20, patience_s=11) as client:
        assert client.batch(slots(10)) == slot_values(10)
    assert sum(clock.sleeps) > 11


def test_every_retry_is_logged_with_host_attempt_and_pause(
    client: RpcClient, node: ScriptedNode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mayavi.evm.rpc.client")
    node.faults = [status(503), status(429)]
    client.batch([balance()])
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"the node at {node.host} answers HTTP 503; asking again in 0.12 s (attempt 2 of 3)"),
        ("INFO", f"the node at {node.host} answers HTTP 429; asking again in 0.25 s (attempt 3 of 3)"),
    ]


def test_only_the_bad_item_of_a_batch_is_asked_again(client: RpcClient, node: ScriptedNode) -> None:
    def spoil(answers: list[dict[str, Any]]) -> list[Any]:
        answers[1]["result"] = "0xnonsense"
        return answers

    node.faults = [items(spoil)]
    assert client.batch(slots(5)) == slot_values(5)
    assert [len(request) for request in node.requests] == [5, 1]


def test_an_answer_cut_anywhere_is_never_taken_for_a_value(node: ScriptedNode, clock: SteppedClock) -> None:
    def cut_at(length: int) -> Fault:
        def change(reply: Reply) -> None:
            reply.body = json.dumps(reply.content).encode()[:length]

        return change

    with RpcClient(node.url, clock=clock.clock()) as client:
        client.batch(slots(2))
        whole = len(json.dumps(node.answer(node.requests[-1])))
        for length in range(whole - 8):  # ids grow, so an answer may be a few bytes longer than the first
            node.faults = [cut_at(length)]
            assert client.batch(slots(2)) == slot_values(2)
        assert client.requests == 1 + 2 * (whole - 8)


def test_waits_grow_and_are_spread(node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [status(503)] * 9
    with RpcClient(node.url, clock=clock.clock(), max_attempts=10) as client:
        client.batch([balance()])
    assert clock.sleeps == [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_retry_after_in_seconds_is_honoured(client: RpcClient, node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [status(429, Retry_After="17")]
    client.batch([balance()])
    assert clock.sleeps == [17.0]


def test_retry_after_as_a_date_is_honoured(client: RpcClient, node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [status(503, Retry_After=formatdate(clock.now + 30, usegmt=True))]
    client.batch([balance()])
    assert clock.sleeps == [pytest.approx(30, abs=1)]


def test_a_wait_beyond_reason_is_an_error_at_once(client: RpcClient, node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [status(429, Retry_After="86400")]
    with pytest.raises(RpcHttpError, match="asks to wait 86400 s"):
        client.batch([balance()])
    assert clock.sleeps == []


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0.0), ("1.5", 1.5), (None, None), ("soon", None), ("-3", None), ("Thu, 01 Jan 1970 00:00:10 GMT", 3.0)],
)
def test_retry_after_forms(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, now=7.0) == seconds


def test_a_rate_limit_holds_the_other_batches_back(node: ScriptedNode, clock: SteppedClock) -> None:
    node.faults = [status(429)]
    with RpcClient(node.url, max_batch=10, max_concurrency=1, clock=clock.clock()) as client:
        assert client.batch(slots(50)) == slot_values(50)
    assert [len(request) for request in node.requests] == [10] * 6
    assert len(clock.sleeps) == 1


def test_a_node_that_cannot_be_reached_is_named(clock: SteppedClock) -> None:
    with scripted_node() as gone:
        url = gone.url
    with (
        RpcClient(url, clock=clock.clock(), max_attempts=2) as client,
        pytest.raises(NodeUnreachable, match=r"cannot be reached: .*refused.* \(2 attempts in \d\.\d s\)") as caught,
    ):
        client.batch([balance()])
    assert KEY not in str(caught.value)
    with (
        RpcClient(url, clock=clock.clock()) as client,
        pytest.raises(NodeUnreachable, match=r"\(1 attempt in \d\.\d s\)"),
    ):
        client.batch([balance()], fail_fast=True)


# Refusals


@pytest.mark.parametrize(("code", "hint"), [(401, "key"), (403, "key"), (404, "endpoint")])
def test_a_closed_door_is_not_knocked_on_twice(client: RpcClient, node: ScriptedNode, code: int, hint: str) -> None:
    node.faults = [status(code)]
    with pytest.raises(RpcHttpError, match=f"HTTP {code}") as caught:
        client.batch([balance()])
    assert caught.value.hint is not None
    assert hint in caught.value.hint
    assert client.requests == 1


def test_a_redirect_is_not_followed_since_it_would_carry_the_key_elsewhere(
    client: RpcClient, node: ScriptedNode
) -> None:
    node.faults = [status(308, Location=f"https://elsewhere.example/v2/{KEY}")]
    with pytest.raises(RpcHttpError, match=r"redirects to https://elsewhere\.example$"):
        client.batch([balance()])


def test_what_the_node_refuses_for_good_is_not_retried(client: RpcClient, node: ScriptedNode) -> None:
    good, refused = client.attempt([balance(), Call("eth_unheardOf", [], quantity)])
    assert good == 5 * 10**18
    assert isinstance(refused, NodeRefused)
    assert (refused.code, refused.unsupported) == (-32601, True)
    with pytest.raises(NodeRefused, match="refuses eth_unheardOf: the method"):
        client.batch([balance(), Call("eth_unheardOf", [], quantity)])
    assert client.requests == 2


def test_a_pruned_node_says_so_and_what_to_do(client: RpcClient, node: ScriptedNode) -> None:
    node.faults = [every(error={"code": -32000, "message": "missing trie node 0123 (path )"})]
    with pytest.raises(NodeRefused) as caught:
        client.batch([balance()])
    assert "archive node" in str(caught.value.hint)


@pytest.mark.parametrize("error", ["text", None, [], {"code": "x", "message": 5}, {}])
def test_malformed_error_objects_are_read_as_far_as_they_go(error: object) -> None:
    assert Refusal.of(error).code == 0


def test_refusals_survive_pickling() -> None:
    import pickle

    refused = pickle.loads(pickle.dumps(NodeRefused("no", "hint", code=-32601, unsupported=True)))
    assert (refused.message, refused.hint, refused.code, refused.unsupported) == ("no", "hint", -32601, True)


# The budget


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


# Secrets


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
