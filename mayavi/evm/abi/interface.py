"""Interface of a contract: functions, events and errors, from ABI JSON or from signatures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, Self

from mayavi.errors import AmbiguousName, BadAbi, BadCalldata, UnknownName
from mayavi.evm.abi.codec import Codec, shared_codec
from mayavi.evm.abi.record import Record, record_type
from mayavi.evm.abi.signature import Parameter, Signature, as_tuple, elementary, parse_signature, signature_from_json
from mayavi.evm.abi.types import Array, Bytes, Tuple
from mayavi.evm.address import shorten
from mayavi.evm.hashing import keccak_text

HASHED_IN_TOPICS = (Array, Bytes, Tuple)
"""Types whose indexed event fields are stored as hashes."""


class Log(Protocol):
    """Log entry of a receipt: emitter, topics, data."""

    @property
    def address(self) -> bytes:
        """Address of the contract that emitted the log."""

    @property
    def topics(self) -> Sequence[bytes]:
        """Topics, 32 bytes each."""

    @property
    def data(self) -> bytes:
        """Encoded fields that are not indexed."""


class Function:
    """One function. `encode(*args)` returns calldata, `decode(output)` the returned values.

    Both are replaced by generated code on first use, so they are fast in hot loops:

        >>> balance_of = Function.parse("balanceOf(address owner) view returns (uint256)")
        >>> balance_of.encode(bytes(20)).hex()[:8]
        '70a08231'
    """

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.name = signature.name
        self.text = signature.canonical
        self.reads = signature.mutability in ("view", "pure")
        self.selector = b"" if signature.kind == "constructor" else keccak_text(self.text)[:4]

    @classmethod
    def parse(cls, text: str) -> Self:
        """From text: `transfer(address,uint256)(bool)`, or `balanceOf(address owner) view returns (uint256)`."""
        signature = parse_signature(text)
        if signature.kind not in ("function", "constructor"):
            raise BadAbi(f"'{text}' is of kind {signature.kind}, not a function")
        return cls(signature)

    @cached_property
    def inputs(self) -> Codec:
        """The codec of the arguments."""
        return shared_codec(self.signature.input_tuple)

    @cached_property
    def outputs(self) -> Codec:
        """The codec of the returned values."""
        return shared_codec(self.signature.output_tuple)

    def encode(self, *args: Any) -> bytes:
        """Calldata: the selector and `args`. A constructor has no selector."""
        compiled = self.__dict__["encode"] = self.inputs.encoder(self.selector, spread=True, subject=self._subject)
        return compiled(*args)

    def decode(self, output: bytes) -> Any:
        """Decode a call's output: None for nothing, one value itself, several values as a named tuple."""
        if not self.signature.outputs:
            self.outputs.decode_checked(output, subject=self._subject)
            return None
        unwrap = len(self.signature.outputs) == 1
        compiled = self.__dict__["decode"] = self.outputs.decoder(unwrap=unwrap, subject=self._subject)
        return compiled(output)

    def decode_input(self, calldata: bytes) -> tuple[Any, ...]:
        """Decode the arguments in `calldata`, which must start with this function's selector."""
        if calldata[: len(self.selector)] != self.selector:
            raise BadCalldata(
                f"calldata starts with 0x{calldata[:4].hex()}, but {self.text} is 0x{self.selector.hex()}"
            )
        return self.inputs.decode_checked(calldata[len(self.selector) :], subject=self._subject)

    @property
    def _subject(self) -> str:
        return self.text if self.name else f"constructor{self.text}"

    def __repr__(self) -> str:
        return f"<function {self._subject} {self.signature.mutability}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.signature,)


class Error:
    """One custom error. `decode(output)` returns its arguments from revert data, in any layout Solidity allows."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.name = signature.name
        self.text = signature.canonical
        self.selector = keccak_text(self.text)[:4]

    @classmethod
    def parse(cls, text: str) -> Self:
        """From text: `InsufficientBalance(uint256 available, uint256 required)`."""
        return cls(parse_signature(text, "error"))

    @cached_property
    def inputs(self) -> Codec:
        """The codec of the arguments."""
        return shared_codec(self.signature.input_tuple)

    def decode(self, output: bytes) -> tuple[Any, ...]:
        """Decode the arguments in revert data, which must start with this error's selector."""
        if output[:4] != self.selector:
            raise BadCalldata(f"revert data starts with 0x{output[:4].hex()}, but {self.text} is not that")
        return self.inputs.decode_checked(output[4:], strict=False, subject=self.text)

    def __repr__(self) -> str:
        return f"<error {self.text}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.signature,)


@dataclass(frozen=True, slots=True)
class EventLog:
    """Decoded log: `log.args.amount`, `log.name`, and the `address` that emitted it."""

    event: Event
    address: bytes
    args: Record

    @property
    def name(self) -> str:
        """The event's name."""
        return self.event.name

    def __str__(self) -> str:
        return f"{self.name}{self.event.shape.show(self.args)}"


class Event:
    """One event. `decode(log)` returns its fields; indexed fields of dynamic type are hashes.

    Decoding is not strict, because old compilers logged data with non-zero padding.
    """

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.name = signature.name
        self.text = signature.canonical
        self.topic = None if signature.anonymous else keccak_text(self.text)
        self._indexed = [parameter for parameter in signature.inputs if parameter.indexed]
        self.topic_count = len(self._indexed) + (self.topic is not None)

    @classmethod
    def parse(cls, text: str) -> Self:
        """From text: `Transfer(address indexed from, address indexed to, uint256 value)`."""
        return cls(parse_signature(text, "event"))

    @cached_property
    def shape(self) -> Tuple:
        """Type of the decoded fields, in which indexed dynamic fields are `bytes32` hashes."""
        hashed = elementary("bytes32")
        return as_tuple(
            [
                Parameter(hashed if each.indexed and isinstance(each.type, HASHED_IN_TOPICS) else each.type, each.name)
                for each in self.signature.inputs
            ]
        )

    @cached_property
    def _codecs(self) -> tuple[Codec, Codec]:
        indexed = [part for part, each in zip(self.shape.parts, self.signature.inputs, strict=True) if each.indexed]
        plain = [each for each in self.signature.inputs if not each.indexed]
        return shared_codec(Tuple(indexed)), shared_codec(as_tuple(plain))

    def matches(self, log: Log) -> bool:
        """Whether `log` has this event's topic and number of indexed fields."""
        topics = log.topics
        return len(topics) == self.topic_count and (self.topic is None or topics[0] == self.topic)

    def decode(self, log: Log) -> EventLog:
        """Decode the fields of `log`, in declared order."""
        if not self.matches(log):
            raise BadCalldata(f"log of {shorten(log.address)} with {len(log.topics)} topics is not {self.text}")
        topic_codec, data_codec = self._codecs
        indexed = iter(topic_codec.decode(b"".join(log.topics[self.topic is not None :])))
        try:
            plain = iter(data_codec.decode(log.data))  # generated code
        except BadCalldata:
            plain = iter(data_codec.decode(log.data, strict=False))
        values = [next(indexed if parameter.indexed else plain) for parameter in self.signature.inputs]
        return EventLog(self, log.address, record_type(self.shape.fields)(values))

    def __repr__(self) -> str:
        return f"<event {self.text}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.signature,)


class Interface:
    """A parsed ABI: look functions up by name or full signature, events by log, errors by selector."""

    def __init__(self, signatures: Iterable[Signature], name: str = "") -> None:
        self.name = name
        self.functions: dict[str, Function] = {}
        self.events: dict[str, Event] = {}
        self._named_events: dict[str, Event] = {}
        self.errors: dict[bytes, Error] = {}
        self.constructor = Function(Signature("constructor", "", ()))
        self._by_name: dict[str, list[Function]] = {}
        for signature in signatures:
            match signature.kind:
                case "function":
                    function = self.functions[signature.canonical] = Function(signature)
                    self._by_name.setdefault(function.name, []).append(function)
                case "event":
                    self.events[signature.canonical] = Event(signature)
                case "error":
                    error = Error(signature)
                    self.errors[error.selector] = error
                case "constructor":
                    self.constructor = Function(signature)

    @classmethod
    def of(cls, abi: Any, name: str = "") -> Interface:
        """From an `Interface`, ABI JSON (parsed or text), a compiler artifact with an `abi`, or signatures."""
        if isinstance(abi, Interface):
            return abi
        if isinstance(abi, str):
            if abi.lstrip()[:1] not in ("[", "{"):
                return cls([parse_signature(abi)], name)
            try:
                abi = json.loads(abi)
            except ValueError as error:
                raise BadAbi(f"the ABI is not valid JSON: {error}") from None
        if isinstance(abi, Mapping):
            if "abi" not in abi:
                raise BadAbi("the artifact has no 'abi'", "give the ABI itself, or a compiler artifact that holds one")
            name, abi = name or str(abi.get("contractName", "")), abi["abi"]
        if isinstance(abi, list | tuple) and {*map(type, abi)} <= {str}:
            return _of_signatures(tuple(abi), name)
        return cls(filter(None, map(_entry, abi)), name)

    def function(self, name: str) -> Function:
        """Return the function with this name, or with this full signature if the name is overloaded."""
        if "(" in name:
            exact = self.functions.get(name) or self.functions.get(parse_signature(name).canonical)
            if exact is None:
                raise UnknownName.of(f"function of {self.name or 'this contract'}", name, self.functions)
            return exact
        overloads = self.overloads(name)
        if len(overloads) > 1:
            raise AmbiguousName(
                f"function '{name}' has {len(overloads)} signatures: {', '.join(each.text for each in overloads)}",
                f'choose one by its full signature: contract["{overloads[0].text}"]',
            )
        return overloads[0]

    def overloads(self, name: str) -> list[Function]:
        """All functions called `name`, at least one."""
        found = self._by_name.get(name)
        if not found:
            raise UnknownName.of(f"function of {self.name or 'this contract'}", name, self._by_name)
        return found

    def event(self, name: str) -> Event:
        """The event of this name or full signature."""
        known = self._named_events.get(name)
        if known is not None:
            return known
        found = [event for event in self.events.values() if name in (event.name, event.text)]
        if not found:
            raise UnknownName.of("event", name, [event.name for event in self.events.values()])
        if len(found) > 1:
            texts = ", ".join(event.text for event in found)
            raise AmbiguousName(f"event '{name}' has {len(found)} signatures: {texts}", "give the full signature")
        self._named_events[name] = found[0]
        return found[0]

    def decode_log(self, log: Log) -> EventLog | None:
        """Decode `log` with the matching event; None if no event matches."""
        event = self.event_of(log)
        return None if event is None else event.decode(log)

    def event_of(self, log: Log) -> Event | None:
        """Return the event that `log` is of; None if no event matches."""
        for event in self.events.values():
            if event.matches(log):
                return event
        return None

    def __repr__(self) -> str:
        counts = f"{len(self.functions)} functions, {len(self.events)} events, {len(self.errors)} errors"
        return f"<interface {self.name + ': ' if self.name else ''}{counts}>"


@lru_cache(maxsize=512)
def _of_signatures(texts: tuple[str, ...], name: str) -> Interface:
    """Interface of signatures, cached because adapters use the same ones for every contract."""
    return Interface(map(parse_signature, texts), name)


def _entry(entry: object) -> Signature | None:
    if isinstance(entry, str):
        return parse_signature(entry)
    if isinstance(entry, Mapping):
        return signature_from_json(entry)
    raise BadAbi(f"ABI entry {entry!r} is of type {type(entry).__name__}", "give ABI JSON entries or signatures")
