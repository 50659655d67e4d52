"""Compiled contracts of Morpho, read from the TypeScript factories of its npm package.

The package has no artifacts; ABI and creation code stand in JavaScript files that TypeChain wrote. `mayavi setup`
installs it, or the first scenario that needs it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from mayavi.compilers.package_folder import PackageFolder, Say, announce
from mayavi.compilers.packages import ensure_packages
from mayavi.errors import SetupError
from mayavi.worlds.artifacts import Artifact, ArtifactStore
from mayavi.worlds.contract_folder import SOURCES, contracts_root

_FACTORIES = "@morpho-org/morpho-blue-bundlers/types/factories/lib"
_PLACES = {
    "Morpho": "morpho-blue/src",
    "AdaptiveCurveIrm": "morpho-blue-irm/src/adaptive-curve-irm",
    "MetaMorpho": "metamorpho/src",
    "PublicAllocator": "public-allocator/src",
}
MORPHO = "Morpho."
"""Prefix of Morpho's contracts in `MorphoArtifacts`: `Morpho.MetaMorpho`."""


def morpho_packages() -> PackageFolder:
    """Folder of the npm package."""
    return PackageFolder(contracts_root() / "morpho", SOURCES / "morpho", "packages of Morpho")


@cache
def morpho_contract(name: str, say: Say = announce) -> Artifact:
    """Return a contract of the package: Morpho, AdaptiveCurveIrm, MetaMorpho or PublicAllocator.

    Installs the package where that was not done yet; raises `SetupError` if it cannot be installed or read.
    """
    folder = morpho_packages()
    ensure_packages(folder, say=say)
    path = folder.packages / _FACTORIES / _PLACES[name] / f"{name}__factory.js"
    return read_factory(path, name)


def read_factory(path: Path, name: str) -> Artifact:
    """Read a factory that TypeChain wrote: `const _abi = […];` and `const _bytecode = "0x…";`."""
    try:
        text = path.read_text(encoding="utf-8")
        abi = re.search(r"^const _abi = (\[.*?^\]);", text, re.MULTILINE | re.DOTALL)
        code = re.search(r'^const _bytecode = "0x([0-9a-f]+)";', text, re.MULTILINE)
        if abi is None or code is None:
            raise ValueError("it has no ABI or no bytecode")
        return Artifact(name, json.loads(_as_json(abi[1])), code[1], {})
    except (OSError, ValueError) as error:
        raise SetupError(
            f"the factory of {name} cannot be read: {error}",
            f"remove '{morpho_packages().packages}' and run it again, which installs the package anew",
        ) from None


def _as_json(literal: str) -> str:
    """Turn an array of JavaScript into JSON: names of properties are not quoted there, and commas may trail."""
    quoted = re.sub(r"^(\s*)(\w+):", r'\1"\2":', literal, flags=re.MULTILINE)
    return re.sub(r",(\s*[\]}])", r"\1", quoted)


class MorphoArtifacts(ArtifactStore):
    """Artifacts of a replica, with Morpho's contracts as `Morpho.NAME`."""

    def _read(self, name: str) -> Artifact:
        bare = name.removeprefix(MORPHO)
        return morpho_contract(bare) if bare != name and bare in _PLACES else super()._read(name)
