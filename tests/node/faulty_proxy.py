"""A proxy in front of a real node that counts requests and misbehaves on command."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.evm.rpc.faulty_server import FaultyServer
from tests.node.local_node import LocalNode


class FaultyProxy(FaultyServer):
    """Proxy that forwards to the node; faults change the answers."""

    def __init__(self, node: LocalNode) -> None:
        self.node = node
        self._one_at_a_time = threading.Lock()
        super().__init__()

    def answer(self, question: Any) -> Any:
        with self._one_at_a_time:
            return self.node.post(json.dumps(question).encode())


@contextmanager
def faulty_proxy(node: LocalNode) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(node)
    try:
        yield proxy
    finally:
        proxy.close()
