"""Types of Solidity's ABI: validation, encoding and decoding of their values.

This is the checked path: it detects every fault and reports its place. `generated_codec` has a faster path for types
without dynamic parts, which falls back to this one.
"""

# ruff: noqa: D102  (AbiType documents encode, decode, show and spelling)

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Mapping, Sequence, Sized
from typing import Any, SupportsIndex, cast

from mayavi.errors import BadAddress, BadArgument, BadCalldata, BadInteger
from mayavi.evm.abi.record import record_type
from mayavi.evm.abi.wire import WORD, Fault, Source, quoted
from mayavi.evm.address import checksum, to_address
from mayavi.evm.units import as_integer


class AbiType:
    """A type: its `canonical` name, whether its encoding is `dynamic`, and the size of its head in bytes."""

    __slots__ = ("canonical", "dynamic", "size")

    def __init__(self, canonical: str, *, dynamic: bool = False, size: int = WORD) -> None:
        self.canonical, self.dynamic, self.size = canonical, dynamic, size

    def encode(self, value: Any) -> bytes:
        """Encode `value`; without the offset in the head, if dynamic."""
        raise NotImplementedError

    def decode(self, source: Source, at: int) -> Any:
        """Decode the value that starts at byte `at`."""
        raise NotImplementedError

    def show(self, value: Any) -> str:
        """Format a decoded `value`: addresses checksummed, bytes in hex, fields named."""
        return f"0x{value.hex()}" if isinstance(value, bytes) else repr(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbiType) and self.spelling == other.spelling

    def __hash__(self) -> int:
        return hash(self.spelling)

    def __repr__(self) -> str:
        return self.spelling

    @property
    def spelling(self) -> str:
        """The canonical name with the names of tuple fields; it identifies the type."""
        return self.canonical


class Integer(AbiType):
    """`uintN` and `intN`."""

    __slots__ = ("bits", "high", "low", "signed")

    def __init__(self, bits: int, *, signed: bool) -> None:
        super().__init__(f"{'int' if signed else 'uint'}{bits}")
        self.bits, self.signed = bits, signed
        self.low = -(1 << bits - 1) if signed else 0
        self.high = (1 << bits - signed) - 1

    @property
    def range_text(self) -> str:
        """Range as text, with large bounds as powers of two."""
        if self.bits <= 32:
            return f"{self.low} to {self.high}"
        return f"-2**{self.bits - 1} to 2**{self.bits - 1} - 1" if self.signed else f"0 to 2**{self.bits} - 1"

    def encode(self, value: SupportsIndex) -> bytes:
        try:
            number = as_integer(value)
        except TypeError:
            raise Fault(
                BadInteger, self.canonical, f"is {quoted(value)} of type {type(value).__name__}", "give an int"
            ) from None
        if not self.low <= number <= self.high:
            raise Fault(BadInteger, self.canonical, f"is {number}, outside {self.range_text}")
        return number.to_bytes(WORD, signed=self.signed)

    def decode(self, source: Source, at: int) -> int:
        number = int.from_bytes(source.take(at, WORD, self.canonical), signed=self.signed)
        if not self.low <= number <= self.high:
            raise Fault(BadCalldata, self.canonical, f"at byte {at} is {number}, outside {self.range_text}")
        return number


class Address(AbiType):
    """`address`: 20 bytes in Python; text is accepted too."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("address")

    def encode(self, value: bytes | str) -> bytes:
        try:
            return bytes(12) + to_address(value)
        except BadAddress as error:
            raise Fault(BadAddress, self.canonical, f"is wrong: {error.message}", error.hint) from None

    def decode(self, source: Source, at: int) -> bytes:
        word = source.take(at, WORD, self.canonical)
        if any(word[:12]):
            raise Fault(BadCalldata, self.canonical, f"at byte {at} has non-zero padding: 0x{word.hex()}")
        return word[12:]

    def show(self, value: bytes) -> str:
        return checksum(value)


class Bool(AbiType):
    """`bool`: True or False; other truthy or falsy values are refused."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("bool")

    def encode(self, value: bool) -> bytes:
        if not isinstance(value, bool):
            raise Fault(
                BadArgument, self.canonical, f"is {quoted(value)} of type {type(value).__name__}", "give True or False"
            )
        return value.to_bytes(WORD)

    def decode(self, source: Source, at: int) -> bool:
        number = source.number(at, self.canonical)
        if number > 1:
            raise Fault(BadCalldata, self.canonical, f"at byte {at} is {quoted(number)}, not 0 or 1")
        return number == 1


class FixedBytes(AbiType):
    """`bytesN`: exactly N bytes, never padded silently."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        super().__init__(f"bytes{length}")
        self.length = length

    def encode(self, value: bytes | str) -> bytes:
        raw = _to_bytes(value, self)
        if len(raw) != self.length:
            raise Fault(BadArgument, self.canonical, f"has {len(raw)} bytes, not {self.length}: {quoted(value)}")
        return raw.ljust(WORD, b"\0")

    def decode(self, source: Source, at: int) -> bytes:
        word = source.take(at, WORD, self.canonical)
        if any(word[self.length :]):
            raise Fault(BadCalldata, self.canonical, f"at byte {at} has non-zero padding: 0x{word.hex()}")
        return word[: self.length]


class Bytes(AbiType):
    """`bytes` of any length."""

    __slots__ = ()

    def __init__(self, canonical: str = "bytes") -> None:
        super().__init__(canonical, dynamic=True)

    def encode(self, value: Any) -> bytes:
        raw = _to_bytes(value, self)
        return len(raw).to_bytes(WORD) + raw + bytes(-len(raw) % WORD)

    def decode(self, source: Source, at: int) -> Any:
        length = source.number(at, self.canonical)
        padding = -length % WORD if source.strict else 0
        padded = source.take(at + WORD, length + padding, self.canonical)
        if any(padded[length:]):
            raise Fault(BadCalldata, self.canonical, f"at byte {at} has non-zero padding after its {length} bytes")
        return padded[:length]


class String(Bytes):
    """`string`: text, encoded as UTF-8."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("string")

    def encode(self, value: str) -> bytes:
        if not isinstance(value, str):
            raise Fault(BadArgument, self.canonical, f"is {quoted(value)} of type {type(value).__name__}", "give text")
        try:
            return super().encode(value.encode())
        except UnicodeEncodeError:
            raise Fault(BadArgument, self.canonical, f"is {quoted(value)}, which UTF-8 cannot hold") from None

    def decode(self, source: Source, at: int) -> str:
        raw: bytes = super().decode(source, at)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise Fault(BadCalldata, self.canonical, f"at byte {at} is not UTF-8 at its byte {error.start}") from None


class Tuple(AbiType):
    """`(T1,T2,…)`: a struct, or a whole argument list. With field names it decodes to a record and takes mappings."""

    __slots__ = ("fields", "make", "parts")

    def __init__(self, parts: Sequence[AbiType], fields: Sequence[str] = ()) -> None:
        self.parts = tuple(parts)
        self.fields = tuple(fields) or ("",) * len(self.parts)
        dynamic = any(part.dynamic for part in self.parts)
        canonical = f"({','.join(part.canonical for part in self.parts)})"
        super().__init__(canonical, dynamic=dynamic, size=WORD if dynamic else self.head_size)
        given = [name for name in self.fields if name]
        self.make = record_type(self.fields) if given and len(set(given)) == len(given) else tuple

    @property
    def head_size(self) -> int:
        """Size of the head in bytes, before the data of dynamic parts."""
        return sum(part.size for part in self.parts)

    @property
    def spelling(self) -> str:
        inside = (f"{part.spelling} {name}".rstrip() for part, name in zip(self.parts, self.fields, strict=True))
        return f"({','.join(inside)})"

    def encode(self, value: Any) -> bytes:
        return _encode_parts(self.parts, self._in_order(value), self.fields)

    def decode(self, source: Source, at: int) -> tuple[Any, ...]:
        return self.make(_decode_parts(self.parts, source, at, self.fields))

    def show(self, value: Sequence[Any]) -> str:
        shown = (part.show(each) for part, each in zip(self.parts, value, strict=True))
        named = (f"{name}={text}" if name else text for name, text in zip(self.fields, shown, strict=True))
        return f"({', '.join(named)})"

    def __reduce__(self) -> tuple[Any, ...]:  # the record class is generated and cannot be imported
        return Tuple, (self.parts, self.fields)

    def _in_order(self, value: Any) -> Sequence[Any]:
        if isinstance(value, Mapping):
            if not all(self.fields):
                raise Fault(BadArgument, self.canonical, "is a mapping, but its fields have no names", "give a tuple")
            if set(value) != set(self.fields):
                lacking = [name for name in self.fields if name not in value]
                odd = [str(name) for name in value if name not in self.fields]
                text = f"lacks {', '.join(lacking)}" if lacking else f"has no field {', '.join(odd)}"
                raise Fault(BadArgument, self.canonical, text, f"its fields are {', '.join(self.fields)}")
            return [value[name] for name in self.fields]
        return _elements(value, self, len(self.parts))


class Array(AbiType):
    """`T[k]` and `T[]`; decodes to a list."""

    __slots__ = ("element", "length")

    def __init__(self, element: AbiType, length: int | None) -> None:
        self.element, self.length = element, length
        dynamic = length is None or element.dynamic
        size = WORD if dynamic else element.size * cast(int, length)
        super().__init__(f"{element.canonical}[{'' if length is None else length}]", dynamic=dynamic, size=size)

    @property
    def spelling(self) -> str:
        return f"{self.element.spelling}[{'' if self.length is None else self.length}]"

    def encode(self, value: Any) -> bytes:
        values = _elements(value, self, self.length)
        body = _encode_parts((self.element,) * len(values), values)
        return body if self.length is not None else len(values).to_bytes(WORD) + body

    def decode(self, source: Source, at: int) -> list[Any]:
        length = self.length
        if length is None:
            length = source.number(at, self.canonical)
            at += WORD
        if length * self.element.size > source.left:
            raise Fault(
                BadCalldata,
                self.canonical,
                f"at byte {at} needs {quoted(length)} elements, more than the {len(source.data)} bytes of data hold",
            )
        return _decode_parts((self.element,) * length, source, at)

    def show(self, value: Sequence[Any]) -> str:
        return f"[{', '.join(map(self.element.show, value))}]"


def _encode_parts(parts: Sequence[AbiType], values: Sequence[Any], fields: Sequence[str] | None = None) -> bytes:
    heads: list[bytes] = []
    tails: list[bytes] = []
    tail_at = sum(part.size for part in parts)
    place = 0
    try:
        for place, part in enumerate(parts):
            encoded = part.encode(values[place])
            if part.dynamic:
                heads.append(tail_at.to_bytes(WORD))
                tails.append(encoded)
                tail_at += len(encoded)
            else:
                heads.append(encoded)
    except Fault as fault:
        fault.path.append(_step(place, fields))
        raise
    return b"".join(heads + tails)


def _decode_parts(parts: Sequence[AbiType], source: Source, at: int, fields: Sequence[str] | None = None) -> list[Any]:
    values: list[Any] = []
    head_at = at
    head_size = sum(part.size for part in parts)
    source.reached = max(source.reached, at + head_size)
    try:
        for part in parts:
            if part.dynamic:
                values.append(part.decode(source, source.follow(head_at, at, head_size, part.canonical)))
            else:
                values.append(part.decode(source, head_at))
            head_at += part.size
    except Fault as fault:
        fault.path.append(_step(len(values), fields))
        raise
    return values


def _step(place: int, fields: Sequence[str] | None) -> str:
    return f".{fields[place]}" if fields and fields[place] else f"[{place}]"


def _elements(value: Any, abi_type: AbiType, count: int | None) -> Sequence[Any]:
    if isinstance(value, str | bytes | bytearray | Mapping | set | frozenset) or not isinstance(value, Sized):
        hint = "give a list" if isinstance(abi_type, Array) else "give a tuple"
        raise Fault(BadArgument, abi_type.canonical, f"is {quoted(value)} of type {type(value).__name__}", hint)
    if count is not None and len(value) != count:
        raise Fault(BadArgument, abi_type.canonical, f"takes {count} values, got {len(value)}")
    return cast(Sequence[Any], value)


def _to_bytes(value: Any, abi_type: AbiType) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str) and value[:2] == "0x":
        try:
            return unhexlify(value[2:])
        except ValueError:
            raise Fault(BadArgument, abi_type.canonical, f"is {quoted(value)}, which is not hex text") from None
    raise Fault(
        BadArgument,
        abi_type.canonical,
        f"is {quoted(value)} of type {type(value).__name__}",
        "give bytes, or text of 0x and hex digits",
    )
