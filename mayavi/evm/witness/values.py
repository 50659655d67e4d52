"""Values of witness files: bytes and numbers in any of the spellings that producers use."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any

from mayavi.evm.rpc.answers import BadValue

MAX_BYTES = 1 << 24  # more than a block may hold


def as_bytes(value: object, length: int | None = None) -> bytes:
    """Bytes from hex text, with or without `0x`, or from a list of numbers; exactly `length` of them if given."""
    try:
        if isinstance(value, str):
            raw = bytes.fromhex(value[2:] if value[:2] in ("0x", "0X") else value)
        elif isinstance(value, list):
            raw = bytes(value)
        else:
            raise BadValue(f"{value!r:.80} is neither hex text nor a list of bytes")
    except (ValueError, TypeError):
        raise BadValue(f"{value!r:.80} is neither hex text nor a list of bytes") from None
    if len(raw) > MAX_BYTES:
        raise BadValue(f"{len(raw):,} bytes are more than the {MAX_BYTES:,} expected")
    if length is not None and len(raw) != length:
        raise BadValue(f"{value!r:.80} has {len(raw)} bytes, not {length}")
    return raw


def as_number(value: object, bits: int = 256) -> int:
    """Unsigned number from a JSON number, hex text (`0x…`), decimal text or a boolean, at most `bits` wide."""
    if isinstance(value, bool | int):
        number = int(value)
    elif isinstance(value, str):
        try:
            number = int(value, 16 if value[:2] in ("0x", "0X") else 10)
        except ValueError:
            raise BadValue(f"{value!r:.80} is not a number") from None
    else:
        raise BadValue(f"{value!r:.80} is not a number")
    if number < 0 or number >> bits:
        raise BadValue(f"{value!r:.80} does not fit into {bits} unsigned bits")
    return number


def as_list(value: object) -> list[Any]:
    """Return `value` if it is a JSON list."""
    if not isinstance(value, list):
        raise BadValue(f"{value!r:.80} is not a JSON list")
    return value


def as_object(value: object) -> dict[str, Any]:
    """Return `value` if it is a JSON object."""
    if not isinstance(value, dict):
        raise BadValue(f"{value!r:.80} is not a JSON object")
    return value


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Name without case and underscores: `state_root` and `stateRoot` are the same."""
    return name.replace("_", "").lower()


class Fields:
    """JSON object whose members are found under any of several names."""

    def __init__(self, value: object) -> None:
        self._values: dict[str, Any] = {}
        for name, member in as_object(value).items():
            self.add(name, member)

    def add(self, name: str, member: Any) -> None:
        """Add a member, which must be equal to one of that name that is there."""
        if self._values.setdefault(plain(name), member) != member:
            raise BadValue(f"'{name}' is given twice, with different values")

    def get(self, *names: str) -> Any:
        """Member under one of `names` (plain); None if absent. Members under two of them must be equal."""
        if len(names) == 1:
            return self._values.get(names[0])
        found = [self._values[name] for name in names if self._values.get(name) is not None]
        if any(each != found[0] for each in found[1:]):
            raise BadValue(f"'{names[0]}' is given under two names, with different values")
        return found[0] if found else None

    def need(self, *names: str) -> Any:
        """Member under one of `names`; `BadValue` if absent."""
        found = self.get(*names)
        if found is None:
            raise BadValue(f"there is no '{names[0]}'")
        return found

    def refuse_misspelt(self, known: AbstractSet[str]) -> None:
        """Raise `BadValue` for a name that differs from one of `known` (plain) by one character."""
        for name in self._values.keys() - known:
            meant = next((each for each in sorted(known) if _one_edit(name, each)), None)
            if meant is not None:
                raise BadValue(f"unknown member '{name}': did you mean '{meant}'?")

    def merge(self, other: Fields) -> None:
        """Add the members of `other`; a member of both must be equal."""
        for name, member in other._values.items():
            self.add(name, member)


def _one_edit(a: str, b: str) -> bool:
    """Whether one character added, left out or replaced makes `a` of `b`."""
    shorter, longer = sorted((a, b), key=len)
    if len(longer) - len(shorter) > 1:
        return False
    same = next((at for at, (x, y) in enumerate(zip(shorter, longer, strict=False)) if x != y), len(shorter))
    return shorter[same + (len(shorter) == len(longer)) :] == longer[same + 1 :]
