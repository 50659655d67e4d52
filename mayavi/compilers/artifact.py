"""Compiled contracts, as the artifacts of Hardhat, Foundry, Truffle, solc and Vyper describe them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from mayavi.errors import BadArgument, UsageError

_PLACEHOLDER = re.compile(r"__.{36}__")
"""Place of a library's address in code that is not linked yet."""


@dataclass(frozen=True)
class Artifact:
    """One compiled contract. `links` maps each library to the byte offsets of its address in the code."""

    name: str
    abi: Sequence[Mapping[str, Any]]
    bytecode_hex: str
    links: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any], name: str = "") -> Self:
        """Read an artifact, whichever compiler wrote it; raise `BadArgument` if it has no `bytecode`.

        That of an interface or an abstract contract is empty.
        """
        name = str(data.get("contractName") or name or "the artifact")
        code: Any = data.get("bytecode")
        links: Any = data.get("linkReferences")
        if code is None:
            code = (data.get("evm") or {}).get("bytecode")
        if isinstance(code, Mapping):
            code, links = code.get("object"), code.get("linkReferences")
        if not isinstance(code, str):
            raise BadArgument(
                f"{name} has no 'bytecode'", "give the artifact that the compiler wrote for the contract, or initcode"
            )
        code = code.removeprefix("0x")
        places = {
            library: [int(place["start"]) for place in each]
            for libraries in (links or {}).values()
            for library, each in libraries.items()
        }
        return cls(name, data.get("abi") or [], code, places)

    def linked(self, libraries: Mapping[str, bytes]) -> bytes:
        """Return the creation code with the addresses of `libraries`; raise `UsageError` if one is missing."""
        if not self.bytecode_hex:
            raise UsageError(f"{self.name} has no code", "interfaces and abstract contracts cannot be deployed")
        if missing := sorted(set(self.links) - set(libraries)):
            what = f"library {missing[0]}" if len(missing) == 1 else f"libraries {', '.join(missing)}"
            given = ", ".join(f'"{each}": address' for each in missing)
            raise UsageError(f"{self.name} needs the {what}", f"deploy it first: libraries={{{given}}}")
        digits = list(self.bytecode_hex)
        # Placeholders are not hex, so they are replaced before the text is parsed.
        for library, offsets in self.links.items():
            for offset in offsets:
                digits[2 * offset : 2 * offset + 40] = libraries[library].hex()
        text = "".join(digits)
        if unlinked := sorted(set(_PLACEHOLDER.findall(text))):
            many = "library is" if len(unlinked) == 1 else "libraries are"
            raise UsageError(
                f"{self.name} is not linked: {len(unlinked)} {many} missing",
                f"deploy them and put their addresses in the place of {', '.join(unlinked)}",
            )
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise BadArgument(f"the bytecode of {self.name} is not hex text") from None
