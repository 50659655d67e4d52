"""Compiles the project's own Vyper contracts, once for each state of their sources.

    python -m mayavi.worlds.vyper

Compiled code is kept in `contracts/build/<name>.<key>.json`; the key is a hash of all sources and of the compiler's
version, so an edited source is compiled anew and an untouched one never is.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mayavi.errors import SetupError

COMPILER_VERSION = "0.4.3"


def vyper_contracts(root: Path) -> list[str]:
    """The contracts that have a source in `root`. Modules, whose names are in lower case, are not contracts."""
    return sorted(path.stem for path in (root / "vyper").glob("*.vy") if path.stem[0].isupper())


def sources_key(root: Path) -> str:
    """A short hash of every Vyper source and the compiler's version."""
    digest = hashlib.sha256(COMPILER_VERSION.encode())
    for path in sorted((root / "vyper").glob("*.vy")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def built_contract(root: Path, name: str) -> dict[str, Any]:
    """ABI and bytecode of the contract `name`, compiled now when it has not been compiled before."""
    path = _built_path(root, name, sources_key(root))
    if not path.exists():
        compile_contracts(root)
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def compile_contracts(root: Path) -> list[str]:
    """Compile every contract of `root` whose result is not there yet; gives the names of those compiled."""
    key = sources_key(root)
    wanted = [name for name in vyper_contracts(root) if not _built_path(root, name, key).exists()]
    if not wanted:
        return []
    folder = root / "vyper"
    command = [sys.executable, "-m", "vyper.cli.vyper_compile", "-f", "combined_json", "-p", str(folder)]
    result = subprocess.run(
        [*command, *(f"{name}.vy" for name in wanted)], cwd=folder, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        if "No module named 'vyper" in result.stderr:
            raise SetupError("the Vyper compiler is not installed", "run `make setup`, which installs it")
        raise SetupError(f"the contracts in '{folder}' do not compile: {result.stderr.strip()}")
    combined = json.loads(result.stdout)
    if combined["version"].split("+")[0].removeprefix("v") != COMPILER_VERSION:
        raise SetupError(
            f"the Vyper compiler installed is {combined['version']}, not {COMPILER_VERSION}",
            "run `make setup`, which installs the pinned one",
        )
    (root / "build").mkdir(exist_ok=True)
    for source, output in combined.items():
        if source == "version":
            continue
        name = Path(source).stem
        text = json.dumps({"abi": output["abi"], "bytecode": output["bytecode"]}, sort_keys=True)
        _write_atomically(_built_path(root, name, key), text)
    _remove_stale(root, key)
    return wanted


def _built_path(root: Path, name: str, key: str) -> Path:
    return root / "build" / f"{name}.{key}.json"


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _remove_stale(root: Path, key: str) -> None:
    for path in (root / "build").glob("*.json"):
        if not path.name.endswith(f".{key}.json"):
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    from mayavi.worlds.artifacts import contracts_root

    compiled = compile_contracts(contracts_root())
    print(f"compiled {', '.join(compiled)}" if compiled else "Vyper contracts are up to date")
