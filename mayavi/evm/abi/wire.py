"""Checked reading of encoded bytes, and faults that name the wrong value.

What stands here is shared by all types of `mayavi.evm.abi.types` and knows none of them.
"""

from __future__ import annotations

from typing import Final

from mayavi.errors import BadCalldata, UsageError

WORD: Final = 32
"""The bytes of a word; everything in the ABI takes a multiple of it."""


class Fault(Exception):  # noqa: N818 (it is never raised to a caller)
    """What is wrong with a value, and the path to it, filled in from the inside out."""

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
    """Bytes being decoded. No more is read than there is, so that hostile offsets cannot multiply the work.

    A `strict` source also wants every value where an encoder would have put it: `reached` is the byte behind all that
    has been read or is still to be read of open heads.
    """

    __slots__ = ("data", "left", "reached", "strict")

    def __init__(self, data: bytes, *, strict: bool = True) -> None:
        self.data = data
        self.strict = strict
        self.left = len(data)
        self.reached = 0

    def take(self, at: int, size: int, abi_type: str) -> bytes:
        """The `size` bytes at `at`."""
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
        """The word at `at`, an offset or a length."""
        return int.from_bytes(self.take(at, WORD, abi_type))

    def follow(self, at: int, frame: int, head_size: int, abi_type: str) -> int:
        """Where the offset at `at` points to, in a frame that starts at `frame` with a head of `head_size`."""
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
    """`value` as messages quote it: bytes in hex, nothing long."""
    text = repr(value) if not isinstance(value, bytes) else f"0x{value.hex()}"
    return text if len(text) <= 80 else text[:77] + "…"
