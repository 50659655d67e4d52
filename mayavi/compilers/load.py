"""Load a contract from a source, an artifact or a project.

Vault.sol  Vault.sol:Vault  Token.vy  out/Vault.sol/Vault.json  my-project:Vault
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mayavi.compilers.artifact import Artifact
from mayavi.compilers.package_folder import Say, announce
from mayavi.compilers.solidity import compile_solidity
from mayavi.compilers.solidity_project import SoliditySettings
from mayavi.compilers.vyper_file import compile_vyper
from mayavi.errors import AmbiguousName, BadAbi, UnknownName, UsageError

_BUILD_FOLDERS = ("out", "artifacts/contracts", "artifacts", "build/contracts", "build")
"""Where Foundry, Hardhat and Truffle put artifacts."""


@dataclass(frozen=True, slots=True)
class LoadedContract:
    """A compiled contract, and those compiled with it, among which are its libraries."""

    artifact: Artifact
    others: Mapping[str, Artifact] = field(default_factory=dict)


def load_contract(
    source: str | Path, contract: str | None = None, *, settings: SoliditySettings | None = None, say: Say = announce
) -> LoadedContract:
    """Load the contract of a file or folder: Solidity, Vyper, an artifact, or a project of Foundry or Hardhat.

    `contract` names one of several, as does `FILE:NAME`. Raises `CompileError` if a source is refused, `UnknownName`
    and `AmbiguousName` if the contract is not found.
    """
    path, named = split_name(source)
    contract = contract or named
    if path.is_dir():
        return _of_project(path, contract)
    if not path.is_file():
        raise UsageError(f"there is no file '{path}'", _hint(path))
    match path.suffix:
        case ".sol":
            return _of_solidity(path, contract, settings, say)
        case ".vy":
            return LoadedContract(compile_vyper(path, say=say))
        case ".json":
            return _of_artifact(path)
    raise UsageError(
        f"'{path}' is not a contract", "give a .sol or .vy file, the .json artifact of a compiler, or a folder"
    )


def split_name(source: str | Path) -> tuple[Path, str | None]:
    """Split `FILE:NAME` into the path and the name."""
    text = str(source)
    file, colon, name = text.rpartition(":")
    if colon and name.isidentifier() and not Path(text).exists():
        return Path(file).expanduser(), name
    return Path(text).expanduser(), None


def read_artifact(path: Path) -> Artifact:
    """Read the artifact of one contract; raise `BadAbi` if the file is invalid."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BadAbi(f"'{path}' is not an artifact: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("abi"), list):
        raise BadAbi(
            f"'{path}' is not an artifact: it has no 'abi'", "give the file that the compiler wrote for a contract"
        )
    return Artifact.from_json(data, path.stem)


def _of_solidity(path: Path, contract: str | None, settings: SoliditySettings | None, say: Say) -> LoadedContract:
    contracts = compile_solidity(path, settings, say=say)
    if contract is None:
        contract = path.stem if path.stem in contracts else None
    if contract is None:
        able = [name for name, each in contracts.items() if each.bytecode_hex]
        if len(able) != 1:
            raise AmbiguousName(
                f"'{path}' has {len(able)} contracts: {', '.join(able) or 'none'}", f'name one: "{path}:NAME"'
            )
        contract = able[0]
    if contract not in contracts:
        raise UnknownName.of("contract", contract, contracts, f"'{path}' and its imports define these")
    return LoadedContract(contracts[contract], contracts)


def _of_project(folder: Path, contract: str | None) -> LoadedContract:
    """An artifact of a project that was built, or of a folder of artifacts."""
    if contract is None:
        raise UsageError(f"'{folder}' is a folder", f'name the contract: "{folder}:NAME"')
    places = [*(folder / each for each in _BUILD_FOLDERS), folder]
    for place in places:
        if not place.is_dir():
            continue
        found = sorted(each for each in place.rglob(f"{contract}.json") if "node_modules" not in each.parts[:-1])
        if len(found) > 1:
            named = ", ".join(str(each) for each in found)
            raise AmbiguousName(f"{len(found)} artifacts are called '{contract}': {named}", "give the path of one")
        if found:
            return _of_artifact(found[0])
    raise UsageError(
        f"'{folder}' holds no artifact of '{contract}'",
        "build the project first: `forge build` writes out/, `npx hardhat compile` writes artifacts/",
    )


def _libraries(artifact: Artifact, path: Path) -> dict[str, Artifact]:
    """Libraries of an artifact, and theirs, where they were built into the same folder: `out/Maths.sol/Maths.json`."""
    root = path.parent.parent if path.parent.suffix == ".sol" else path.parent
    found: dict[str, Artifact] = {}
    missing = list(artifact.links)
    while missing:
        name = missing.pop()
        place = next(iter(sorted(root.rglob(f"{name}.json"))), None)
        if place is not None and name not in found:
            found[name] = read_artifact(place)
            missing += found[name].links
    return found


def _of_artifact(path: Path) -> LoadedContract:
    artifact = read_artifact(path)
    return LoadedContract(artifact, _libraries(artifact, path))


def _hint(path: Path) -> str | None:
    if path.suffix == ".json" and any(part in {"out", "artifacts"} for part in path.parts):
        return "build the project first: `forge build` writes out/, `npx hardhat compile` writes artifacts/"
    return None
