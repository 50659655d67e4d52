"""What a node refuses for good: not asked again, and explained."""

from __future__ import annotations

import pytest

from mayavi.errors import RpcHttpError
from mayavi.evm.rpc.answers import quantity
from mayavi.evm.rpc.client import Call, RpcClient
from mayavi.evm.rpc.refusals import NodeRefused, Refusal, retry_after_s
from tests.evm.rpc.calls import balance
from tests.evm.rpc.faulty_server import KEY, every, status
from tests.evm.rpc.scripted_node import ScriptedNode


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0.0), ("1.5", 1.5), (None, None), ("soon", None), ("-3", None), ("Thu, 01 Jan 1970 00:00:10 GMT", 3.0)],
)
def test_retry_after_forms(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, now=7.0) == seconds


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
