"""ABI codecs, compiled once per list of types and cached.

    >>> codec = Codec.of("address to, uint256 amount")
    >>> codec.decode(codec.encode((bytes(20), 7))).amount
    7

Values: integers are `int`, addresses 20 `bytes` (or text), `bytes` and `bytesN` are `bytes` (or hex text), arrays
decode to lists, tuples to named tuples. Nothing is rounded, truncated, padded or guessed: a value that does not fit
raises `BadInteger`, `BadAddress` or `BadArgument`, naming the argument, its type and range.

Decoding is strict: it accepts exactly the output of `encode`, and `BadCalldata` locates any difference: too short,
bytes left over, an offset or length that points elsewhere, padding that is not zero, a number outside its range, a bool
that is not 0 or 1, text that is not UTF-8. With `strict=False` the layout is as free as Solidity allows (bytes left
over, gaps, values in any order, bytes without clean padding); the values themselves are checked all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from mayavi.errors import BadArgument, BadCalldata
from mayavi.evm.abi.generated_codec import make_decoder, make_encoder, words_of
from mayavi.evm.abi.signature import as_tuple, parse_parameters
from mayavi.evm.abi.types import AbiType, Tuple
from mayavi.evm.abi.wire import Fault, Source


class Codec:
    """Encoder and decoder of one list of types. `Codec.of` caches one per list, so that its code is generated once."""

    __slots__ = ("_decode", "_encode", "root")

    def __init__(self, types: Tuple | Iterable[AbiType | str]) -> None:
        self.root = types if isinstance(types, Tuple) else Tuple([_as_type(each) for each in types])
        self._encode: Callable[..., bytes] | None = None
        self._decode: Callable[[bytes], tuple[Any, ...]] | None = None

    @staticmethod
    @cache
    def of(types: str) -> Codec:
        """Return the codec of comma-separated types, names optional: `"address to, uint8[2] flags"`, `"bytes"`."""
        return shared_codec(as_tuple(parse_parameters(types)))

    def encode(self, values: Any) -> bytes:
        """Encode `values`, one for each type (or a mapping, if all have names)."""
        encode = self._encode
        if encode is None:
            encode = self._encode = self.encoder()
        return encode(values)

    def decode(self, data: bytes, *, strict: bool = True) -> tuple[Any, ...]:
        """Decode the values in `data`, which must hold nothing else unless `strict` is false."""
        if not strict:
            return self.decode_checked(data, strict=False)
        decode = self._decode
        if decode is None:
            decode = self._decode = self.decoder()
        return decode(data)

    def encoder(self, prefix: bytes = b"", *, spread: bool = False, subject: str = "") -> Callable[..., bytes]:
        """Return an encoder that prepends `prefix`, for hot loops; with `spread` it takes the values as arguments."""

        def checked(values: Any) -> bytes:
            return prefix + self.encode_checked(values, subject)

        if words_of(self.root) is not None:
            return make_encoder(self.root, prefix, checked, spread=spread)
        return (lambda *values: checked(values)) if spread else checked

    def decoder(self, *, unwrap: bool = False, subject: str = "") -> Callable[[bytes], Any]:
        """Return a decoder for hot loops; with `unwrap` it returns the only value instead of a tuple of one."""

        def checked(data: bytes) -> Any:
            values = self.decode_checked(data, subject=subject)
            return values[0] if unwrap else values

        return make_decoder(self.root, checked, unwrap=unwrap) if words_of(self.root) is not None else checked

    def encode_checked(self, values: Any, subject: str = "") -> bytes:
        """`encode` without generated code; `subject` is named in errors."""
        expected = len(self.root.parts)
        if isinstance(values, tuple | list) and len(values) != expected:
            noun = "argument" if expected == 1 else "arguments"
            raise BadArgument(f"{subject or self.root.spelling} takes {expected} {noun}, got {len(values)}")
        try:
            return self.root.encode(values)
        except Fault as fault:
            raise fault.error("argument", subject) from None

    def decode_checked(self, data: bytes, *, strict: bool = True, subject: str = "") -> tuple[Any, ...]:
        """`decode` without generated code; `subject` is named in errors."""
        source = Source(bytes(data), strict=strict)
        lead = f"{subject}: " if subject else ""
        if len(source.data) < self.root.head_size:
            raise BadCalldata(
                f"{lead}{self.root.canonical} needs at least {self.root.head_size} bytes, got {len(source.data)}",
                "perhaps there is no contract at the address, or it has no such function" if not source.data else None,
            )
        try:
            values = self.root.decode(source, 0)
        except Fault as fault:
            raise fault.error("value", subject) from None
        if source.left and strict:
            raise BadCalldata(
                f"{lead}{self.root.canonical} takes {len(source.data) - source.left} bytes, got {len(source.data)}",
                "the types may not be those of the data; `Codec.decode(data, strict=False)` ignores the rest",
            )
        return values

    def __reduce__(self) -> tuple[Any, ...]:  # code is generated again after unpickling
        return shared_codec, (self.root,)

    def __repr__(self) -> str:
        return f"Codec.of({self.root.spelling[1:-1]!r})"


@cache
def shared_codec(root: Tuple) -> Codec:
    """Return the cached codec of these types and names."""
    return Codec(root)


def _as_type(each: AbiType | str) -> AbiType:
    if isinstance(each, AbiType):
        return each
    parameters = parse_parameters(each)
    return parameters[0].type if len(parameters) == 1 else as_tuple(parameters)
