"""Addresses: 20 bytes internally, checksummed text for people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from string import hexdigits
from typing import Any, Protocol, TypeGuard

from mayavi.errors import BadAddress
from mayavi.evm.hashing import checksum_address, keccak256


class Addressed(Protocol):
    """Object with an address: an account, a token, a contract."""

    @property
    def address(self) -> bytes:
        """Address, 20 bytes."""


AddressLike = bytes | str | Addressed
"""Accepted forms of an address: 20 bytes, `0x` and 40 hex digits, or an object with an `address`."""

ZERO_ADDRESS = bytes(20)
"""Zero address, which contracts use for "none"."""

_HEX = frozenset(hexdigits)


def to_address(value: AddressLike) -> bytes:
    """Return the 20 bytes of `value`; raise `BadAddress` if it is invalid.

    Text in a single case has no checksum. Text in mixed case has an EIP-55 checksum, which must be right.
    """
    if type(value) is bytes and len(value) == 20:
        return value
    if isinstance(value, str):
        return _parse(value)
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) == 20:
            return bytes(value)
        raise BadAddress(f"address 0x{bytes(value[:40]).hex()} has {len(value)} bytes, not 20")
    place = getattr(value, "address", None)
    if type(place) is bytes and len(place) == 20:
        return place
    raise BadAddress(
        f"{value!r} is not an address but of type {type(value).__name__}",
        "give 20 bytes, or text of 0x and 40 hex digits",
    )


def checksum(address: AddressLike) -> str:
    """`address` as text with its EIP-55 checksum, as block explorers show it."""
    return checksum_address(to_address(address))


def shorten(address: AddressLike) -> str:
    """`address` as `0xA0b8…eB48`, for tables and messages."""
    text = checksum(address)
    return f"{text[:6]}…{text[-4:]}"


@lru_cache(maxsize=4096)
def _parse(text: str) -> bytes:
    if text[:2] not in ("0x", "0X"):
        hint = f"write '0x{text}'" if len(text) == 40 and _HEX.issuperset(text) else None
        raise BadAddress(f"address '{_cut(text)}' does not start with 0x", hint)
    digits = text[2:]
    stray = next((character for character in digits if character not in _HEX), None)
    if stray is not None:
        raise BadAddress(f"address '{_cut(text)}' holds '{stray}', which is not a hex digit")
    if len(digits) != 40:
        raise BadAddress(f"address '{_cut(text)}' has {len(digits)} hex digits, not 40")
    address = bytes.fromhex(digits)
    if digits != digits.lower() and digits != digits.upper():
        right = checksum_address(address)
        if digits != right[2:]:
            raise BadAddress(
                f"address '{text}' has a wrong checksum, so a digit may be mistyped",
                f"its own checksum would be {right}; in lower case it is taken unchecked",
            )
    return address


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def account_address(name: str) -> bytes:
    """Address of the simulated account `name`: the same in every run and every world."""
    return keccak256(b"mayavi account " + name.encode())[12:]


class Addresses(tuple[bytes, ...]):
    """Tuple of addresses, validated and hashed once: a cheap dictionary key."""

    _hash: int | None = None

    def __new__(cls, addresses: Iterable[bytes]) -> Addresses:
        """Raise `BadAddress` for anything but 20 bytes."""
        made = super().__new__(cls, addresses)
        if made and not are_addresses(made):
            at, wrong = next((at, each) for at, each in enumerate(made) if not are_addresses((each,)))
            raise BadAddress(f"item {at} is not an address of 20 bytes: {wrong!r}", "convert it with `to_address`")
        return made

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Addresses, (tuple(self),)  # hashes differ from process to process


def are_addresses(values: Collection[Any]) -> TypeGuard[Sequence[bytes]]:
    """Whether `values` are addresses as bytes, one at least."""
    return {*map(type, values)} == {bytes} and {*map(len, values)} == {20}
