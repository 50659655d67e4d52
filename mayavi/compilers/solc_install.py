"""Install the Solidity compiler, solc-js, from npm: the pinned version, or another that sources demand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from mayavi.cache_directory import default_cache_dir
from mayavi.compilers.npm import npm_ci
from mayavi.compilers.package_folder import PackageFolder, Say, announce, unwritable
from mayavi.compilers.packages import ensure_packages, forbidden_download, is_offline, unfinished_install

SOURCES = Path(__file__).parent / "solc"
PINNED = str(json.loads((SOURCES / "package.json").read_bytes())["dependencies"]["solc"])
"""Version of the compiler that the lock file pins. Further pinned versions have folders of their own."""


def solc_folder(version: str = PINNED) -> PackageFolder:
    """Folder of a version of the compiler, installed or not."""
    sources = SOURCES / version if (SOURCES / version).is_dir() else SOURCES
    return PackageFolder(default_cache_dir() / "solc" / version, sources, "packages of the Solidity compiler")


def ensure_solc(version: str = PINNED, say: Say = announce) -> Path:
    """Install a version of the compiler unless it is there; return the folder of its npm package."""
    folder = solc_folder(version)
    place = folder.packages / "solc"
    if version == PINNED or (SOURCES / version).is_dir():
        ensure_packages(folder, say=say)
    elif not (place / "package.json").is_file():
        _install(folder, version, say)
    return place


def _install(folder: PackageFolder, version: str, say: Say) -> None:
    """Install a version that no lock file pins; npm checks it against the registry's own hash."""
    if is_offline():
        raise forbidden_download(f"version {version} of the Solidity compiler is not installed")
    with folder.lock(say):
        if (folder.packages / "solc" / "package.json").is_file():
            return
        say(f"installing the Solidity compiler {version} into {folder.root} (once, from the network)")
        try:
            with unfinished_install(folder) as place:
                package = {"name": "mayavi-solidity", "private": True, "dependencies": {"solc": version}}
                Path(place, "package.json").write_text(json.dumps(package), encoding="utf-8")
                npm_ci(Path(place), dev=False, command="install")
                shutil.rmtree(folder.packages, ignore_errors=True)
                Path(place, "node_modules").rename(folder.packages)
        except OSError as error:
            raise unwritable(folder.root, error) from None
