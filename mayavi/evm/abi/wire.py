"""Checked reading of encoded bytes, and faults that name the wrong value.

Shared by all types of `mayavi.evm.abi.types`.
"""

from __future__ import annotations

from typing import Final

from mayavi.errors import BadCalldata, UsageError

WORD: Final = 32
"""Bytes per word; every ABI encoding is a multiple of it."""


class Fault(Exception):  # noqa: N818 (it is never raised to a caller)
    """Fault of a value, with the path to it, which is filled in from the inside out."""

    def __init__(self, kind: type[UsageError], abi_type: str, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.kind, self.abi_type, self.text, self.hint = kind, abi_type, text, hint
        self.path: list[str] = []

    def error(self, role: str, subject: str = "") -> UsageError:
        """Error to raise for this fault: `role` describes the value, `subject` its function."""
        place = "".join(reversed(self.path)).lstrip(".")
        label = f"{role} '{place}' " if place else ""
        return self.kind(f"{subject + ': ' if subject else ''}{label}({self.abi_type}) {self.text}", self.hint)


class Source:
    """Bytes being decoded. Total reads are bounded by the data, so that hostile offsets cannot multiply the work.

    A `strict` source also requires every value at the place where an encoder puts it: `reached` is the end of all bytes
    that are read or reserved for open heads.
    """

    __slots__ = ("data", "left", "reached", "strict")

    def __init__(self, data: bytes, *, strict: bool = True) -> None:
        self.data = data
        self.strict = strict
        self.left = len(data)
        self.reached = 0

    def take(self, at: int, size: int, abi_type: str) -> bytes:
        """Read `size` bytes at `at`."""
        end = at + size
        if end > len(self.data):
            raise Fault(
                BadCalldata,
                abi_type,
                f"needs {size} bytes at byte {quoted(at)}, but the data ends at byte {len(self.data)}",
            )
        self.left -= size
        if self.left < 0:
            raise Fault(BadCalldata, abi_type, f"at byte {at} overlaps another value")
        if end > self.reached:
            self.reached = end
        return self.data[at:end]

    def number(self, at: int, abi_type: str) -> int:
        """Read the word at `at`, an offset or a length."""
        return int.from_bytes(self.take(at, WORD, abi_type))

    def follow(self, at: int, frame: int, head_size: int, abi_type: str) -> int:
        """Resolve the offset at `at`, in a frame that starts at `frame` with a head of `head_size`."""
        offset = self.number(at, abi_type)
        target = frame + offset
        if offset < head_size:
            raise Fault(BadCalldata, abi_type, f"has the offset {offset} at byte {at}, inside the head")
        if self.strict and target != self.reached and target < len(self.data):
            raise Fault(
                BadCalldata,
                abi_type,
                f"has the offset {offset} at byte {at}, but its data belongs at {self.reached - frame}",
            )
        return target


def quoted(value: object) -> str:
    """Format `value` for messages: bytes in hex, long values shortened."""
    text = repr(value) if not isinstance(value, bytes) else f"0x{value.hex()}"
    return text if len(text) <= 80 else text[:77] + "…"
