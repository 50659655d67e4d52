"""Folders of contract sources, npm packages and compiled code."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from mayavi.cache_directory import default_cache_dir
from mayavi.compilers.package_folder import PackageFolder

CONTRACTS_VARIABLE = "MAYAVI_CONTRACTS"
SOURCES = Path(__file__).parent / "contracts"


@dataclass(frozen=True, slots=True)
class ContractFolder(PackageFolder):
    """Contract sources, and the folder for their packages and compiled code.

    `sources` holds package.json, package-lock.json and vyper/, and is only read. `root` holds node_modules/ and build/.
    """

    sources: Path = SOURCES
    what: str = "contract packages"

    @classmethod
    def default(cls) -> ContractFolder:
        """The package's own sources and `contracts_root()`."""
        return cls(contracts_root())


def contracts_root() -> Path:
    """Folder of installed packages and compiled contracts.

    `MAYAVI_CONTRACTS`, else `contracts` in a checkout, else `contracts/<hash of the lock file>` in the cache directory.
    """
    if named := os.environ.get(CONTRACTS_VARIABLE, "").strip():
        return Path(named).expanduser()
    if checkout := checkout_root():
        return checkout / "contracts"
    key = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()[:16]
    return default_cache_dir() / "contracts" / key


def checkout_root() -> Path | None:
    """The project's checkout this package is imported from, or None if it was installed from a wheel."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "kernel" / "Cargo.toml").is_file() else None
