"""Generated encoders and decoders for types without dynamic parts: the hot path.

A tuple of static types is a fixed row of words, so one `struct` format packs or unpacks all of it and one line of
Python per word does the rest. Generated code accepts only the common form of a value (`int`, 20 `bytes`, …); anything
else goes to the checked path, which accepts the value or reports the fault. The source text consists of canonical
types and counters only, never of a caller's text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from mayavi.evm.abi.types import AbiType, Address, Array, Bool, FixedBytes, Integer, Tuple
from mayavi.evm.abi.wire import WORD

_MOST_WORDS: Final = 128  # above this, generated code is larger but not faster
_STRUCT_CODES: Final = {8: "B", 16: "H", 32: "I", 64: "Q"}


def words_of(root: AbiType) -> int | None:
    """Number of words of `root`; None if this module does not support it."""
    if root.dynamic or root.size > _MOST_WORDS * WORD:
        return None
    return root.size // WORD


def make_encoder(
    root: Tuple, prefix: bytes, checked: Callable[[tuple[Any, ...]], bytes], *, spread: bool
) -> Callable[..., bytes]:
    """Generate an encoder of `root` that prepends `prefix`. It takes one sequence, or with `spread` arguments."""
    plan = _EncoderPlan()
    plan.open(root, "values", trusted=spread)
    operands = ["prefix", *plan.operands] if prefix else plan.operands
    formats = [f"{len(prefix)}s", *plan.formats] if prefix else plan.formats
    source = "\n".join(
        [
            f"def encode({'*' if spread else ''}values):",
            "    try:",
            *plan.lines,
            f"{plan.indent}return pack({', '.join(operands)})",
            "    except (AttributeError, OverflowError, StructError, TypeError, ValueError):",
            "        pass",
            "    return checked(values)",
        ]
    )
    pack = struct.Struct(">" + "".join(formats)).pack
    return _build(source, "encode", {"pack": pack, "prefix": prefix, "StructError": struct.error, "checked": checked})


def make_decoder(root: Tuple, checked: Callable[[bytes], Any], *, unwrap: bool) -> Callable[[bytes], Any]:
    """Generate a decoder of `root`; with `unwrap` it returns the only value instead of a tuple of one."""
    plan = _DecoderPlan()
    value = plan.value_of(root.parts[0] if unwrap else root)
    condition = " and ".join(plan.conditions)
    give = [f"    {line}" for line in plan.lines]
    targets = "".join(f"{target}, " for target in plan.targets)
    source = "\n".join(
        [
            "def decode(data):",
            "    try:",
            f"        {targets}= unpack(data)" if targets else "        unpack(data)",
            "    except (StructError, TypeError):",
            "        return checked(data)",
            *give,
            f"    if {condition}:" if condition else "    if True:",
            f"        return {value}",
            "    return checked(data)",
        ]
    )
    names = {
        "unpack": struct.Struct(">" + "".join(plan.formats)).unpack,
        "StructError": struct.error,
        "checked": checked,
        "number": int.from_bytes,
        **plan.names,
    }
    return _build(source, "decode", names)


def _build(source: str, name: str, names: dict[str, Any]) -> Callable[..., Any]:
    exec(compile(source, f"<generated {name}r>", "exec"), names)
    made: Callable[..., Any] = names[name]
    return made


class _EncoderPlan:
    """Source of an encoder: unpack nested values, test them, pack them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.formats: list[str] = []
        self.operands: list[str] = []
        self.indent = " " * 8
        self._count = 0

    def open(self, node: Tuple | Array, variable: str, *, trusted: bool = False) -> None:
        """Unpack `variable` recursively, then test the leaves in one condition."""
        leaves: list[tuple[AbiType, str]] = []
        self._open(node, variable, leaves, trusted)
        tests = [test for leaf, name in leaves if (test := self._leaf(leaf, name))]
        if tests:
            self.lines.append(f"{self.indent}if {' and '.join(tests)}:")
            self.indent += "    "

    def _open(self, node: Tuple | Array, variable: str, leaves: list[tuple[AbiType, str]], trusted: bool) -> None:
        parts = node.parts if isinstance(node, Tuple) else (node.element,) * (node.length or 0)
        names = [self._name() for _ in parts]
        if not trusted:
            self.lines.append(f"{self.indent}if type({variable}) is not tuple and type({variable}) is not list:")
            self.lines.append(f"{self.indent}    return checked(values)")
        self.lines.append(f"{self.indent}{''.join(f'{name}, ' for name in names) or '() '}= {variable}")
        for part, name in zip(parts, names, strict=True):
            if isinstance(part, Tuple | Array):
                self._open(part, name, leaves, trusted=False)
            else:
                leaves.append((part, name))

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _leaf(self, leaf: AbiType, name: str) -> str:
        match leaf:
            case Integer(signed=False, bits=bits) if bits in _STRUCT_CODES:
                self._pack(f"{WORD - bits // 8}x{_STRUCT_CODES[bits]}", name)
                return f"type({name}) is int"
            case Integer(signed=False, bits=bits):
                self._pack(f"{WORD - bits // 8}x{bits // 8}s", f"{name}.to_bytes({bits // 8})")
                return f"type({name}) is int"
            case Integer(low=low, high=high):
                self._pack("32s", f"{name}.to_bytes(32, 'big', signed=True)")
                return f"type({name}) is int and {low} <= {name} <= {high}"
            case Address():
                self._pack("12x20s", name)
                return f"type({name}) is bytes and len({name}) == 20"
            case Bool():
                self._pack("31xB", name)
                return f"type({name}) is bool"
            case FixedBytes(length=length):
                self._pack(f"{length}s{WORD - length}x", name)
                return f"type({name}) is bytes and len({name}) == {length}"
        raise AssertionError(f"{leaf} is not a word")

    def _pack(self, code: str, operand: str) -> None:
        self.formats.append(code)
        self.operands.append(operand)


class _DecoderPlan:
    """Source of a decoder: unpack words, test their padding, build the values."""

    def __init__(self) -> None:
        self.formats: list[str] = []
        self.targets: list[str] = []
        self.lines: list[str] = []
        self.conditions: list[str] = []
        self.names: dict[str, Any] = {}

    def value_of(self, node: AbiType) -> str:
        """Expression of `node`'s value, whose words are the next to unpack."""
        match node:
            case Tuple():
                values = "".join(f"{self.value_of(part)}, " for part in node.parts)
                if node.make is tuple:
                    return f"({values})"
                maker = f"make{len(self.names)}"
                self.names[maker] = node.make
                return f"{maker}(({values}))"
            case Array():
                return f"[{', '.join(self.value_of(node.element) for _ in range(node.length or 0))}]"
            case Integer(signed=False, bits=bits) if bits in _STRUCT_CODES:
                self._padding(WORD - bits // 8)
                return self._target(_STRUCT_CODES[bits])
            case Integer(signed=False, bits=bits):
                self._padding(WORD - bits // 8)
                return f"number({self._target(f'{bits // 8}s')})"
            case Integer(bits=256):
                return f"number({self._target('32s')}, 'big', signed=True)"
            case Integer(low=low, high=high):
                word = self._target("32s")
                self.lines.append(f"{word} = number({word}, 'big', signed=True)")
                self.conditions.append(f"{low} <= {word} <= {high}")
                return word
            case Address():
                self._padding(12)
                return self._target("20s")
            case Bool():
                self._padding(31)
                byte = self._target("B")
                self.conditions.append(f"{byte} < 2")
                return f"{byte} == 1"
            case FixedBytes(length=length):
                word = self._target(f"{length}s")
                self._padding(WORD - length)
                return word
        raise AssertionError(f"{node} is not a word")

    def _target(self, code: str) -> str:
        name = f"w{len(self.targets)}"
        self.formats.append(code)
        self.targets.append(name)
        return name

    def _padding(self, size: int) -> None:
        if size:
            zeros = f"ZEROS{size}"
            self.names[zeros] = bytes(size)
            self.conditions.append(f"{self._target(f'{size}s')} == {zeros}")
