"""A node that misbehaves on request, a clock that tests set, and what reads from the node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi.evm.rpc.client import RpcClient
from mayavi.evm.rpc.remote import RemoteState
from tests.evm.rpc.faulty_server import SteppedClock
from tests.evm.rpc.remote_states import Opened
from tests.evm.rpc.scripted_node import ScriptedNode, scripted_node


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
