"""One compiled contract of a replica, with its creation code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from mayavi.compilers import artifact as compiled
from mayavi.evm.abi.codec import Codec
from mayavi.evm.abi.signature import signature_from_json


class Artifact(compiled.Artifact):
    """One compiled contract of a replica."""

    def initcode(self, arguments: Sequence[object] = (), libraries: Mapping[str, bytes] | None = None) -> bytes:
        """Creation code linked against `libraries`, followed by the encoded constructor `arguments`."""
        return self.linked(libraries or {}) + self._constructor.encode(arguments)

    @cached_property
    def _constructor(self) -> Codec:
        for entry in self.abi:
            if entry["type"] == "constructor" and (signature := signature_from_json(entry)):
                return Codec(signature.input_tuple)
        return Codec.of("")
