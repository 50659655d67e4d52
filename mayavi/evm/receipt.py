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


class _Plain(NamedTuple):
    """What a receipt of the kernel holds, in plain values."""

    success: bool
    gas_used: int
    output: bytes
    logs: tuple[Log, ...]
    created: bytes | None
    reason: str


class Receipt:
    """Outcome of a transaction. `reason` is `success`, `revert` or the name of the halt."""

    __slots__ = ("_kernel", "_logs", "gas_used", "success")

    def __init__(self, kernel: KernelReceipt | _Plain) -> None:
        self._kernel, self.success, self.gas_used = kernel, kernel.success, kernel.gas_used
        self._logs: tuple[Log, ...] | None = None

    @property
    def output(self) -> bytes:
        """Returned bytes, or the revert data."""
        return self._kernel.output

    @property
    def logs(self) -> tuple[Log, ...]:
        """Events, converted when they are first asked for."""
        if self._logs is None:
            self._logs = tuple([_LOG((address, (*topics,), data)) for address, topics, data in self._kernel.logs])
        return self._logs

    @property
    def created(self) -> bytes | None:
        """Address of the created contract."""
        return self._kernel.created

    @property
    def reason(self) -> str:
        """`success`, `revert` or the name of the halt."""
        return self._kernel.reason

    def _fields(self) -> tuple[Any, ...]:
        return self.success, self.gas_used, self.output, self.logs, self.created, self.reason

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, Receipt) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        names = ("success", "gas_used", "output", "logs", "created", "reason")
        return f"Receipt({', '.join(f'{name}={value!r}' for name, value in zip(names, self._fields(), strict=True))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._fields()

    @property
    def revert_reason(self) -> Reason | None:
        """Decoded revert reason; None if the transaction did not revert."""
        return decode_revert(self.output) if self.reason == "revert" else None


def _restored(*fields: Any) -> Receipt:
    return Receipt(_Plain(*fields))


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
