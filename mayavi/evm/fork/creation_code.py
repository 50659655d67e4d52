"""Creation code of a contract: from bytes or a compiler's artifact, followed by the encoded constructor arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mayavi.errors import BadAbi, BadArgument, MayaviError, UsageError
from mayavi.evm.abi.interface import Interface
from mayavi.evm.arguments import to_bytes

_PLACEHOLDER = re.compile(r"__.{36}__")
"""Place of a library's address in code that is not linked yet."""
_SIGNATURES = 'abi=["constructor(address owner, uint256 supply)"]'


def creation_code(code: object, arguments: Sequence[object] = (), abi: Any = None) -> bytes:
    """Return the code that creates a contract: `code` and its encoded constructor `arguments`.

    `code` is creation code in bytes, or the artifact of a compiler, as a mapping or as JSON: Hardhat's, Foundry's,
    Truffle's, solc's or Vyper's. Arguments are encoded by the constructor of `abi`, by default the artifact's own, and
    checked against it. Code without an ABI takes none. Raises `BadArgument`, `BadInteger` and `BadAddress`.
    """
    if isinstance(code, str) and code.lstrip()[:1] == "{":
        try:
            code = json.loads(code)
        except ValueError as error:
            raise BadAbi(f"the artifact is not valid JSON: {error}") from None
    if isinstance(code, Mapping):
        bytecode, abi = _bytecode(code), code.get("abi") if abi is None else abi
    else:
        bytecode = to_bytes(code, "initcode")
    if abi is None:
        if arguments:
            raise BadArgument(
                f"{len(arguments)} constructor {'argument' if len(arguments) == 1 else 'arguments'} without an ABI",
                f"give the compiler's artifact instead of its bytecode, or the ABI: {_SIGNATURES};"
                " a sender is named: sender=…",
            )
        return bytecode
    constructor = Interface.of(abi).constructor
    try:
        return bytecode + constructor.encode(*arguments)
    except MayaviError as error:
        if error.hint is None:
            expected = ", ".join(f"{each.type.canonical} {each.name}".strip() for each in constructor.signature.inputs)
            raise type(error)(error.message, f"the constructor takes ({expected})") from None
        raise


def _bytecode(artifact: Mapping[str, Any]) -> bytes:
    """Read the creation code of an artifact, which compilers put at different places."""
    name = str(artifact.get("contractName") or "the artifact")
    found = artifact.get("bytecode")
    if found is None:
        found = (artifact.get("evm") or {}).get("bytecode")
    if isinstance(found, Mapping):
        found = found.get("object")
    if not isinstance(found, str):
        raise BadArgument(
            f"{name} has no 'bytecode'", "give the artifact that the compiler wrote for the contract, or initcode"
        )
    text = found.removeprefix("0x")
    if not text:
        raise UsageError(f"{name} has no code", "interfaces and abstract contracts cannot be deployed")
    if unlinked := sorted(set(_PLACEHOLDER.findall(text))):
        raise UsageError(
            f"{name} is not linked: {len(unlinked)} {'library is' if len(unlinked) == 1 else 'libraries are'} missing",
            f"deploy them and put their addresses in the place of {', '.join(unlinked)}",
        )
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise BadArgument(f"the bytecode of {name} is not hex text") from None
