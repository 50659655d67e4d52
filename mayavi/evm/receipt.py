"""Receipts of transactions, and the tree of calls inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from mayavi._kernel import Receipt as KernelReceipt
from mayavi.evm.abi.reverts import Reason, decode_revert
from mayavi.evm.address import shorten


class Log(NamedTuple):
    """One event as the chain stores it."""

    address: bytes
    topics: tuple[bytes, ...]
    data: bytes


_LOG = partial(tuple.__new__, Log)
"""A log of a triple, without a call of Python's own."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Outcome of a transaction. `reason` is `success`, `revert` or the name of the halt."""

    success: bool
    gas_used: int
    output: bytes
    logs: tuple[Log, ...]
    created: bytes | None
    reason: str

    @classmethod
    def of(cls, kernel: KernelReceipt) -> Receipt:
        """Convert a receipt of the kernel."""
        logs = tuple([_LOG((address, (*topics,), data)) for address, topics, data in kernel.logs])
        return cls(kernel.success, kernel.gas_used, kernel.output, logs, kernel.created, kernel.reason)

    @property
    def revert_reason(self) -> Reason | None:
        """Decoded revert reason; None if the transaction did not revert."""
        return decode_revert(self.output) if self.reason == "revert" else None


@dataclass(slots=True)
class CallFrame:
    """One call inside a transaction, with its gas, logs, result and inner calls."""

    kind: str
    sender: bytes
    to: bytes
    value: int
    input: bytes
    output: bytes
    gas_limit: int
    gas_used: int
    success: bool
    result: str
    logs: tuple[Log, ...]
    calls: list[CallFrame] = field(default_factory=list)

    @property
    def revert_reason(self) -> Reason | None:
        """Decoded revert reason; None if this frame did not revert."""
        return decode_revert(self.output) if self.result == "Revert" else None

    def walk(self) -> Iterator[CallFrame]:
        """Yield this frame and all frames below it, in call order."""
        yield self
        for call in self.calls:
            yield from call.walk()

    def render(self, name: Callable[[bytes], str] = shorten, depth: int = 0) -> str:
        """Call tree as indented text, one line a call; `name` formats addresses, as `fork.name` does."""
        mark = "" if self.success else f"  ✗ {_cut(str(self.revert_reason or self.result))}"
        selector = f".{self.input[:4].hex()}" if len(self.input) >= 4 and not self.kind.startswith("CREATE") else ""
        line = f"{'  ' * depth}{self.kind} {name(self.to)}{selector}  gas {self.gas_used:,}{mark}"
        return "\n".join([line, *(call.render(name, depth + 1) for call in self.calls)])


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


def frame_tree(frames: list[dict[str, Any]]) -> CallFrame:
    """Build the call tree from the kernel's flat list of frames; the first one is the transaction itself."""
    nodes: list[CallFrame] = []
    for frame in frames:
        node = CallFrame(
            kind=frame["kind"],
            sender=frame["from"],
            to=frame["to"],
            value=frame["value"],
            input=frame["input"],
            output=frame["output"],
            gas_limit=frame["gas_limit"],
            gas_used=frame["gas_used"],
            success=frame["success"],
            result=frame["result"],
            logs=tuple(Log(address, tuple(topics), data) for address, topics, data in frame["logs"]),
        )
        if frame["parent"] is not None:
            nodes[frame["parent"]].calls.append(node)
        nodes.append(node)
    return nodes[0]
