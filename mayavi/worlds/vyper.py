"""Compile the project's own Vyper contracts, once for each state of their sources.

Compiled code is kept in `build/<name>.<key>.json`; the key is a hash of all sources and of the compiler's version, so
an edited source is compiled again and an unchanged one never is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mayavi.cache_directory import write_cache_file
from mayavi.compilers.package_folder import Say, announce, unwritable
from mayavi.compilers.vyper_file import run_vyper
from mayavi.errors import CompileError, SetupError
from mayavi.worlds.contract_folder import ContractFolder, checkout_root

COMPILER_VERSION = "0.4.3"
_KEPT_STATES = 4


def vyper_contracts(sources: Path) -> list[str]:
    """Names of the contracts in `sources/vyper`. Modules, whose names are in lower case, are not contracts."""
    return sorted(path.stem for path in (sources / "vyper").glob("*.vy") if path.stem[0].isupper())


def sources_key(sources: Path) -> str:
    """A short hash of every Vyper source and the compiler's version."""
    digest = hashlib.sha256(COMPILER_VERSION.encode())
    for path in sorted((sources / "vyper").glob("*.vy")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def built_contract(folder: ContractFolder, name: str) -> dict[str, Any]:
    """ABI and bytecode of the contract `name`, compiled first if it is not."""
    path = built_path(folder, name)
    found = _read(path)
    if found is None:
        compile_contracts(folder)
        found = _read(path)
    if found is None:
        raise SetupError(f"the compiled contract '{path}' cannot be read", "remove it and run `mayavi setup`")
    return found


def uncompiled_contracts(folder: ContractFolder) -> list[str]:
    """Names of the contracts that are not compiled from the sources as they are now."""
    return [name for name in vyper_contracts(folder.sources) if _read(built_path(folder, name)) is None]


def compile_contracts(folder: ContractFolder, say: Say = announce) -> list[str]:
    """Compile contracts that have no build yet; return their names."""
    if not uncompiled_contracts(folder):
        return []
    with folder.lock(say):
        wanted = uncompiled_contracts(folder)
        if not wanted:
            return []
        say(f"compiling {len(wanted)} Vyper contracts")
        combined = _compile(folder.sources / "vyper", wanted)
        try:
            for name in wanted:
                output = combined[f"{name}.vy"]
                text = json.dumps({"abi": output["abi"], "bytecode": output["bytecode"]}, sort_keys=True)
                write_cache_file(built_path(folder, name), text.encode())
                _drop_old(folder.root / "build", name)
        except OSError as error:
            raise unwritable(folder.root, error) from None
    return wanted


def built_path(folder: ContractFolder, name: str) -> Path:
    """Path of the compiled contract `name` for the current sources."""
    return folder.root / "build" / f"{name}.{sources_key(folder.sources)}.json"


def _compile(sources: Path, names: Sequence[str]) -> dict[str, Any]:
    """The compiler's output by source name."""
    try:
        combined = run_vyper(sources, [f"{name}.vy" for name in names])
    except CompileError as error:
        raise SetupError(f"the contracts in '{sources}' do not compile: {error.message}") from None
    if combined["version"].split("+")[0].removeprefix("v") != COMPILER_VERSION:
        install = "run `make setup`" if checkout_root() else "run `pip install 'mayavi-sim[contracts]'`"
        raise SetupError(
            f"the Vyper compiler installed is {combined['version']}, not {COMPILER_VERSION}",
            f"{install}, which installs the pinned one",
        )
    return combined


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.keys() >= {"abi", "bytecode"} else None


def _drop_old(build: Path, name: str) -> None:
    """Keep the last few states: two installed versions may share the folder."""
    kept = sorted(build.glob(f"{name}.*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[_KEPT_STATES:]:
        path.unlink(missing_ok=True)
