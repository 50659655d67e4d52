"""Compiled contracts of npm packages that few worlds need: installed on first use, then reduced to the code in use."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.cache_directory import write_cache_file
from mayavi.compilers.package_folder import PackageFolder, Say, announce, unwritable
from mayavi.compilers.packages import OFFLINE_VARIABLE, ensure_packages, is_offline, read_json
from mayavi.errors import ActionRefused, SetupError
from mayavi.evm.state import is_before
from mayavi.worlds.artifacts import Artifact
from mayavi.worlds.contract_folder import SOURCES, contracts_root

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_HEX = re.compile(r'hex"([0-9a-fA-F]+)"')
_RETURN_THE_REST = "61{size:04x}80600a3d393df3"
"""Creation code that stores what follows it: the size, then CODECOPY from byte 10 and RETURN."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Contracts of one protocol in its npm packages.

    `folder` holds package.json and package-lock.json below the contract sources. `files` maps each contract to its
    artifact below node_modules, or to a Solidity file that holds its deployed code as a hex literal.
    """

    name: str
    title: str
    folder: str
    files: Mapping[str, str]

    def packages(self, root: Path) -> PackageFolder:
        """Folder of the npm packages, with `root` as its root."""
        return PackageFolder(root, SOURCES / self.folder, f"packages of {self.title}")

    @property
    def path(self) -> Path:
        """File of the extracted contracts, named after the lock file and the list of contracts."""
        lock = (SOURCES / self.folder / "package-lock.json").read_bytes()
        key = hashlib.sha256(lock + json.dumps(dict(self.files)).encode()).hexdigest()[:16]
        return contracts_root() / "build" / f"{self.name}.{key}.json"


def published_contracts(publication: Publication, say: Say = announce) -> Mapping[str, Artifact]:
    """Return the contracts by name; install their packages first where that was not done yet.

    Only the code in use is kept: the packages, which may take over a hundred megabytes, are removed again.
    """
    if (found := _read(publication.path)) is not None:
        return found
    place = contracts_root() / publication.name
    with publication.packages(place).lock(say):
        if (found := _read(publication.path)) is not None:
            return found
        packages = publication.packages(place / "install")
        if is_offline() and packages.missing_packages():
            raise SetupError(
                f"the contracts of {publication.title} are not installed, and {OFFLINE_VARIABLE} forbids downloads",
                f"unset {OFFLINE_VARIABLE} and run `mayavi setup --all` once; it needs the network",
            )
        ensure_packages(packages, say=say)
        artifacts = {name: _artifact(packages.packages / file, name) for name, file in publication.files.items()}
        try:
            facts = {name: asdict(each) for name, each in artifacts.items()}
            write_cache_file(publication.path, json.dumps(facts).encode())
            shutil.rmtree(packages.root)
        except OSError as error:
            raise unwritable(place, error) from None
    return artifacts


def require_cancun(fork: Fork, what: str) -> None:
    """Raise `ActionRefused` if the fork's rules are older than those that the code of `what` needs."""
    if is_before(fork.hardfork, "cancun"):
        raise ActionRefused(
            f"{what} needs the rules of Cancun, and this fork has those of {fork.hardfork}",
            'open it with later ones, such as `Fork.replica("ethereum", hardfork="cancun")`',
        )


def _artifact(file: Path, name: str) -> Artifact:
    if file.suffix == ".json" and (data := read_json(file)) is not None:
        return Artifact.from_json({**data, "contractName": name})
    code = _HEX.search(file.read_text(encoding="utf-8")) if file.suffix == ".sol" and file.is_file() else None
    if code is None:
        raise SetupError(f"the npm package holds no compiled contract '{name}' at '{file}'", "run the command again")
    return Artifact(name, [], _RETURN_THE_REST.format(size=len(code[1]) // 2) + code[1], {})


def _read(path: Path) -> dict[str, Artifact] | None:
    found = read_json(path)
    return None if found is None else {name: Artifact(**each) for name, each in found.items()}
