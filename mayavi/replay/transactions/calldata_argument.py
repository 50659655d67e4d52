"""Replace one argument in calldata, by name or position, in nested tuples and arrays too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mayavi.errors import UsageError, did_you_mean
from mayavi.evm.abi.interface import Function
from mayavi.evm.abi.types import AbiType, Array, Tuple
from mayavi.replay.transactions.override_values import parse_argument, wei


def with_argument(
    function: Function, calldata: bytes, path: Sequence[str], text: str, amount: Callable[[str], int] = wei
) -> bytes:
    """Return `calldata` with the argument at `path` replaced by the value in `text`; `amount` parses integers."""
    values = function.inputs.decode(calldata[4:], strict=False)
    changed = _replaced(function.inputs.root, values, list(path), text, function.text, amount)
    return function.encode(*changed)


def _replaced(kind: AbiType, value: Any, path: list[str], text: str, where: str, amount: Callable[[str], int]) -> Any:
    if not path:
        if isinstance(kind, Tuple | Array):
            raise UsageError(f"{where} is of type {kind.canonical}", "name one of its parts: arg.NAME.PART=…")
        return parse_argument(text, kind.canonical, amount)
    head, *rest = path
    if isinstance(kind, Tuple):
        at = _position(head, kind.fields, len(kind.parts), where)
        inner = kind.parts[at]
    elif isinstance(kind, Array):
        at = _position(head, (), len(value), where)
        inner = kind.element
    else:
        raise UsageError(f"{where} is of type {kind.canonical} and has no part '{head}'")
    items = list(value)
    items[at] = _replaced(inner, items[at], rest, text, f"'{head}' of {where}", amount)
    return items


def _position(name: str, names: Sequence[str], count: int, where: str) -> int:
    if name.isdecimal():
        if int(name) < count:
            return int(name)
        raise UsageError(f"{where} has {count} parts, and none at position {name}", "positions start at 0")
    found = [place for place, known in enumerate(names) if known.lower() == name.lower()]
    if not found:
        known = ", ".join(filter(None, names))
        raise UsageError(f"{where} has no argument '{name}'", did_you_mean(name, names) or f"known: {known}")
    return found[0]
