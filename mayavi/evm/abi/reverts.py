"""Decode revert data to a readable reason.

`decode_revert` never raises, whatever the bytes: a contract may revert with anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from mayavi.errors import BadCalldata
from mayavi.evm.abi.interface import Error, Interface

Kind = Literal["empty", "text", "aave", "panic", "custom", "unknown"]

_ERROR: Final = bytes.fromhex("08c379a0")  # Error(string)
_PANIC: Final = bytes.fromhex("4e487b71")  # Panic(uint256)
_LONGEST_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class Reason:
    """Decoded revert reason.

    `message`, also returned by `str()`, is one printable line: the error, and its meaning if known. `hint` is what to
    do next, or the meaning of a terse text. `name` is the name of the error: `Error`, `Panic`,
    `COLLATERAL_CANNOT_COVER_NEW_BORROW` or that of a custom error; empty if it has none. `args` are its decoded
    arguments.
    """

    kind: Kind
    name: str
    message: str
    args: tuple[Any, ...] = ()
    hint: str | None = None

    def __str__(self) -> str:
        return self.message


def decode_revert(output: bytes, abis: Iterable[Any] = ()) -> Reason:
    """Decode the revert data `output`; `abis` (interfaces, or anything `Interface.of` reads) name custom errors."""
    data = bytes(output)
    if not data:
        return Reason(
            "empty", "", "no reason given", (), "a bare `require`, a failed low-level call, or no such function"
        )
    selector = data[:4]
    if len(data) < 4:
        return _unknown(data)
    if selector == _ERROR:
        return _text(data)
    if selector == _PANIC and len(data) >= 36:
        return _panic(int.from_bytes(data[4:36]))
    for abi in abis:
        if error := Interface.of(abi).errors.get(selector):
            return _custom(error, data, _known().get(selector, (None, ""))[1])
    known, sentence = _known().get(selector, (None, ""))
    return _custom(known, data, sentence) if known else _unknown(data)


def _text(data: bytes) -> Reason:
    from mayavi.evm.abi.revert_tables import AAVE_V3, TEXTS

    body = data[4:]
    start = int.from_bytes(body[:32]) + 32
    length = int.from_bytes(body[start - 32 : start]) if start <= len(body) else 0
    raw = body[start : start + length]
    if len(body) < 64 or start > len(body) or len(raw) < length:  # hand-written reverts may lack the padding
        return Reason("unknown", "Error", f"Error(string) with damaged text 0x{_cut(data.hex())}", (data,))
    text = raw.decode(errors="backslashreplace")
    shown = _printable(text)
    if text.isascii() and text.isdecimal() and len(text) <= 3 and (aave := AAVE_V3.get(int(text))) and text[0] != "0":
        meaning, hint = _parts(aave[1])
        return Reason("aave", aave[0], f"{text} {aave[0]}: {meaning}", (int(text),), hint)
    return Reason("text", "Error", shown or "an empty reason", (text,), TEXTS.get(text))


def _panic(code: int) -> Reason:
    from mayavi.evm.abi.revert_tables import PANICS

    meaning = PANICS.get(code, "a panic Solidity does not document")
    return Reason("panic", "Panic", f"panic 0x{code:02x}: {meaning}", (code,))


def _custom(error: Error, data: bytes, sentence: str) -> Reason:
    meaning, hint = _parts(sentence)
    try:
        args = error.decode(data)
    except BadCalldata:
        return Reason("custom", error.name, f"{error.text} with damaged arguments 0x{_cut(data[4:].hex())}", (), hint)
    shown = _printable(f"{error.name}{error.inputs.root.show(args)}")
    return Reason("custom", error.name, f"{shown}: {meaning}" if meaning else shown, args, hint)


def _parts(sentence: str) -> tuple[str, str | None]:
    """Reason of a revert, with a hint if the table has one."""
    meaning, _, hint = sentence.partition("; ")
    return meaning, hint or None


def _unknown(data: bytes) -> Reason:
    if len(data) % 32 == 4:
        text = f"custom error 0x{data[:4].hex()}" + (f" with arguments 0x{_cut(data[4:].hex())}" if data[4:] else "")
        return Reason("unknown", "", text, (data,), "the contract's ABI would name it")
    return Reason("unknown", "", f"unknown revert data 0x{_cut(data.hex())}", (data,))


@cache
def _known() -> dict[bytes, tuple[Error, str]]:
    """Well-known custom errors by selector, hashed at the first revert that needs them."""
    from mayavi.evm.abi.revert_tables import CUSTOM_ERRORS

    errors = ((Error.parse(text), sentence) for text, sentence in CUSTOM_ERRORS.items())
    return {error.selector: (error, sentence) for error, sentence in errors}


def _printable(text: str) -> str:
    """`text` on one line, without control characters."""
    return _cut("".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… ({len(text)} characters)"
