"""Creation code of a contract: from bytes, an artifact or a source, followed by the constructor's arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi.compilers.artifact import Artifact
from mayavi.errors import BadAbi, BadAddress, BadArgument, MayaviError, UnknownName
from mayavi.evm.abi.interface import Interface
from mayavi.evm.arguments import to_bytes

_SIGNATURES = 'abi=["constructor(address owner, uint256 supply)"]'

Resolve = Callable[[Any], bytes]
"""Function that turns a name or an address into an address."""


@dataclass(frozen=True, slots=True)
class ContractCode:
    """Code of a contract before its libraries and its constructor's arguments are known."""

    artifact: Artifact | bytes
    abi: Any = None
    """ABI of the contract, in any form that `Interface.of` reads; none if it is unknown."""
    others: Mapping[str, Artifact] = field(default_factory=dict)
    """Contracts that were compiled with it."""

    @property
    def name(self) -> str:
        """Name of the contract, or an empty text."""
        return self.artifact.name if isinstance(self.artifact, Artifact) else ""

    @property
    def libraries(self) -> Sequence[str]:
        """Libraries whose addresses the code needs."""
        return list(self.artifact.links) if isinstance(self.artifact, Artifact) else []

    def linked(self, libraries: Mapping[str, bytes]) -> bytes:
        """Return the creation code with the addresses of `libraries`."""
        return self.artifact.linked(libraries) if isinstance(self.artifact, Artifact) else self.artifact

    def arguments(self, given: Sequence[object], named: Mapping[str, object], resolve: Resolve | None = None) -> bytes:
        """Encode the constructor's arguments, by position or by name; addresses may be names that `resolve` knows."""
        if self.abi is None:
            if given or named:
                count = len(given) + len(named)
                raise BadArgument(
                    f"{count} constructor {'argument' if count == 1 else 'arguments'} without an ABI",
                    f"give the compiler's artifact instead of its bytecode, or the ABI: {_SIGNATURES};"
                    " a sender is named: sender=…",
                )
            return b""
        constructor = Interface.of(self.abi).constructor
        inputs = constructor.signature.inputs
        expected = ", ".join(f"{each.type.canonical} {each.name}".strip() for each in inputs)
        try:
            values = _by_position([each.name for each in inputs], given, named)
            if resolve is not None and len(values) == len(inputs):
                values = [
                    _resolved(value, resolve) if each.type.canonical == "address" else value
                    for each, value in zip(inputs, values, strict=True)
                ]
            return constructor.encode(*values)
        except MayaviError as error:
            if error.hint is None:
                raise type(error)(error.message, f"the constructor takes ({expected})") from None
            raise


def contract_code(code: object, abi: Any = None, *, contract: str | None = None) -> ContractCode:
    """Return the code of a contract.

    `code` is creation code in bytes or hex, the artifact of a compiler as a mapping or as JSON (Hardhat's, Foundry's,
    Truffle's, solc's or Vyper's), or the path of an artifact, a Solidity or Vyper file, or a project.
    """
    if isinstance(code, ContractCode):
        return code
    if isinstance(code, str) and code.lstrip()[:1] == "{":
        try:
            code = json.loads(code)
        except ValueError as error:
            raise BadAbi(f"the artifact is not valid JSON: {error}") from None
    if isinstance(code, Mapping):
        return ContractCode(Artifact.from_json(code), code.get("abi") if abi is None else abi)
    if isinstance(code, Path) or (isinstance(code, str) and not code.startswith(("0x", "0X"))):
        from mayavi.compilers.load import load_contract

        loaded = load_contract(code, contract)
        return ContractCode(loaded.artifact, loaded.artifact.abi if abi is None else abi, loaded.others)
    return ContractCode(to_bytes(code, "initcode"), abi)


def creation_code(code: object, arguments: Sequence[object] = (), abi: Any = None) -> bytes:
    """Return the code that creates a contract without libraries: `code` and its encoded constructor `arguments`.

    Arguments are checked against the constructor of `abi`, by default the artifact's own. Code without an ABI takes
    none. Raises `BadArgument`, `BadInteger` and `BadAddress`.
    """
    found = contract_code(code, abi)
    return found.linked({}) + found.arguments(arguments, {})


def _by_position(names: Sequence[str], given: Sequence[object], named: Mapping[str, object]) -> list[object]:
    """Arguments in the order of the constructor's; raise `UnknownName` or `BadArgument` for a wrong name."""
    if not named:
        return list(given)
    for name in named:
        if name not in names:
            raise UnknownName.of("constructor argument", name, names)
    if twice := [name for name in names[: len(given)] if name in named]:
        raise BadArgument(f"the constructor argument '{twice[0]}' is given twice")
    if missing := [name for name in names[len(given) :] if name not in named]:
        raise BadArgument(f"the constructor argument '{missing[0]}' is missing")
    return [*given, *(named[name] for name in names[len(given) :])]


def _resolved(value: object, resolve: Resolve) -> object:
    """The address of a label; anything else as it is, so that the encoder reports it."""
    if not isinstance(value, str) or value.startswith(("0x", "0X")):
        return value
    try:
        return resolve(value)
    except UnknownName as error:
        raise BadAddress(error.message, error.hint) from None
