"""A node that fails for a while: asked again within bounds, and a wrong answer is never a value."""

from __future__ import annotations

import json
import logging
from email.utils import formatdate
from typing import Any

import pytest

from mayavi.errors import RpcBadAnswer, RpcError, RpcHttpError, RpcTimeout
from mayavi.evm.rpc.client import RpcClient
from mayavi.evm.rpc.refusals import NodeRefused, NodeUnreachable
from tests.evm.rpc.calls import balance, slot_values, slots
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
from tests.evm.rpc.scripted_node import ScriptedNode, scripted_node


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
