"""Parse types, parameters and signatures from text and from ABI JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

from mayavi.errors import BadAbi, UnknownName
from mayavi.evm.abi.types import AbiType, Address, Array, Bool, Bytes, FixedBytes, Integer, String, Tuple

Kind = Literal["function", "event", "error", "constructor"]
Mutability = Literal["pure", "view", "nonpayable", "payable"]

_TOKEN = re.compile(r"\s*([A-Za-z_$][\w$]*|\d+|->|[()\[\],])")
_LOCATIONS = frozenset({"memory", "calldata", "storage", "payable"})
_MUTABILITIES: tuple[Mutability, ...] = ("pure", "view", "nonpayable", "payable")
_ALIASES = {"uint": "uint256", "int": "int256", "byte": "bytes1", "function": "bytes24"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument, return value or event field."""

    type: AbiType
    name: str = ""
    indexed: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """A function, event, error or constructor as declared."""

    kind: Kind
    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...] = ()
    mutability: Mutability = "nonpayable"
    anonymous: bool = False

    @property
    def canonical(self) -> str:
        """Canonical text, whose hash is the selector or topic: `transfer(address,uint256)`."""
        return f"{self.name}({','.join(parameter.type.canonical for parameter in self.inputs)})"

    @property
    def input_tuple(self) -> Tuple:
        """The arguments as one type."""
        return as_tuple(self.inputs)

    @property
    def output_tuple(self) -> Tuple:
        """The return values as one type."""
        return as_tuple(self.outputs)


def as_tuple(parameters: Sequence[Parameter]) -> Tuple:
    """The type of a whole parameter list."""
    return Tuple([parameter.type for parameter in parameters], [parameter.name for parameter in parameters])


def parse_parameters(text: str) -> tuple[Parameter, ...]:
    """Parse `"address to, uint256"` or `"(address to, uint256)"`, with or without names."""
    reader = _Reader(text)
    if not reader.tokens:
        return ()
    parameters = [reader.parameter()]
    while reader.accept(","):
        parameters.append(reader.parameter())
    reader.finish()
    return tuple(parameters)


def parse_signature(text: str, kind: Kind = "function") -> Signature:
    """Parse `transfer(address to, uint256 amount)`, optionally after `function`, `event`, `error` or `constructor`.

    Return types follow after `returns`, after `->`, or directly: `balanceOf(address) view returns (uint256)`,
    `transfer(address,uint256)(bool)`. The default mutability of a function is `nonpayable`.
    """
    reader = _Reader(text)
    if reader.peek(1) != "(" and reader.peek() in ("function", "event", "error"):
        kind = cast(Kind, reader.next())
    if reader.peek() == "constructor" and reader.peek(1) == "(":
        kind = "constructor"
    name = reader.word("a name")
    inputs = reader.parameters()
    outputs: tuple[Parameter, ...] = ()
    mutability: Mutability = "nonpayable"
    anonymous = False
    while (token := reader.peek()) is not None:
        if token == "(" and kind == "function" and not outputs:
            outputs = reader.parameters()
            continue
        reader.next()
        if token in _MUTABILITIES:
            mutability = token
        elif token == "anonymous" and kind == "event":
            anonymous = True
        elif token in ("returns", "->"):
            outputs = reader.parameters()
        elif token not in ("external", "public", "virtual", "override"):
            raise BadAbi(f"signature '{text}' holds '{token}', which is not understood there")
    return Signature(kind, "" if kind == "constructor" else name, inputs, outputs, mutability, anonymous)


def signature_from_json(entry: Mapping[str, Any]) -> Signature | None:
    """Parse one entry of an ABI; None for `fallback` and `receive`, which have no signature."""
    kind = entry.get("type", "function")
    if kind in ("fallback", "receive"):
        return None
    if kind not in ("function", "event", "error", "constructor"):
        raise BadAbi(f"ABI entry has the unknown type '{kind}'")
    name = entry.get("name", "")
    if not name and kind != "constructor":
        raise BadAbi(f"ABI entry of type '{kind}' has no name")
    mutability = entry.get("stateMutability")
    if mutability is None:  # compilers before 0.5
        mutability = "view" if entry.get("constant") else "payable" if entry.get("payable") else "nonpayable"
    if mutability not in _MUTABILITIES:
        raise BadAbi(f"ABI entry '{name}' has the unknown mutability '{mutability}'")
    inputs = tuple(map(_parameter_from_json, entry.get("inputs", ())))
    outputs = tuple(map(_parameter_from_json, entry.get("outputs") or ()))
    return Signature(cast(Kind, kind), name, inputs, outputs, mutability, bool(entry.get("anonymous")))


@cache
def elementary(name: str) -> AbiType:
    """Return the type named by one word: `uint256`, `address`, `bytes4`, `string` …"""
    full = _ALIASES.get(name, name)
    match full:
        case "address":
            return Address()
        case "bool":
            return Bool()
        case "bytes":
            return Bytes()
        case "string":
            return String()
    found = re.fullmatch(r"(uint|int|bytes)([1-9]\d{0,2})", full)
    if found:
        stem, number = found[1], int(found[2])
        if stem == "bytes" and number <= 32:
            return FixedBytes(number)
        if stem != "bytes" and number <= 256 and number % 8 == 0:
            return Integer(number, signed=stem == "int")
    raise UnknownName.of("Solidity type", name, ["address", "bool", "bytes", "bytes32", "string", "uint256", "int256"])


def _parameter_from_json(entry: Mapping[str, Any]) -> Parameter:
    spelled = entry.get("type")
    if not isinstance(spelled, str):
        raise BadAbi(f"ABI parameter {dict(entry)!r} has no type")
    stem, bracket, rest = spelled.partition("[")
    if stem == "tuple":
        abi_type: AbiType = as_tuple(tuple(map(_parameter_from_json, entry.get("components", ()))))
    else:
        abi_type = elementary(stem)
    reader = _Reader(bracket + rest)
    abi_type = reader.array_of(abi_type)
    reader.finish()
    return Parameter(abi_type, entry.get("name") or "", bool(entry.get("indexed")))


class _Reader:
    """Tokens of a text, words and brackets, read from the left."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.tokens: list[str] = []
        stripped, at = text.rstrip("; \t\n"), 0
        while at < len(stripped):
            found = _TOKEN.match(stripped, at)
            if found is None:
                raise BadAbi(f"'{text}' cannot be read at '{stripped[at:].strip()[:20]}'")
            self.tokens.append(found[1])
            at = found.end()

    def peek(self, ahead: int = 0) -> str | None:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def next(self) -> str:
        token = self.peek()
        if token is None:
            raise BadAbi(f"'{self.text}' ends too early")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        got = self.next()
        if got != token:
            raise BadAbi(f"'{self.text}' has '{got}' where '{token}' is expected")

    def word(self, what: str) -> str:
        token = self.next()
        if not (token[0].isalpha() or token[0] in "_$"):
            raise BadAbi(f"'{self.text}' has '{token}' where {what} is expected")
        return token

    def finish(self) -> None:
        if self.peek() is not None:
            raise BadAbi(f"'{self.text}' has '{self.peek()}' after its end")

    def parameters(self) -> tuple[Parameter, ...]:
        self.expect("(")
        if self.accept(")"):
            return ()
        found = [self.parameter()]
        while self.accept(","):
            found.append(self.parameter())
        self.expect(")")
        return tuple(found)

    def parameter(self) -> Parameter:
        abi_type, name, indexed = self.type(), "", False
        while (token := self.peek()) is not None and (token[0].isalpha() or token[0] in "_$"):
            self.at += 1
            if token == "indexed":
                indexed = True
            elif token not in _LOCATIONS:
                if name:
                    raise BadAbi(f"'{self.text}' has '{token}' after the name '{name}'")
                name = token
        return Parameter(abi_type, name, indexed)

    def type(self) -> AbiType:
        if self.peek() == "tuple":
            self.at += 1
        if self.peek() == "(":
            return self.array_of(as_tuple(self.parameters()))
        return self.array_of(elementary(self.word("a type")))

    def array_of(self, element: AbiType) -> AbiType:
        while self.accept("["):
            if element.size == 0:
                raise BadAbi(f"'{self.text}' has an array of the empty tuple")
            length = None
            if self.peek() != "]":
                token = self.next()
                if not token.isdecimal() or int(token) == 0:
                    raise BadAbi(f"'{self.text}' has the array length '{token}', which is not a positive integer")
                length = int(token)
            self.expect("]")
            element = Array(element, length)
        return element
