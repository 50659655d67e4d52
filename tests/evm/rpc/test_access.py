"""Access lists: what a node says a call touches, and what it cannot say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evm.rpc.faulty_server import SteppedClock
from tests.evm.rpc.remote_states import Opened
from tests.evm.rpc.scripted_node import ALICE, POOL, ScriptedNode


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
