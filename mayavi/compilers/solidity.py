"""Compile Solidity files with solc-js, once for each state of their sources.

Compiled code is kept in the cache directory, `compiled/<key>.json`. The key is a hash of the file, of the settings and
of the compiler's version; if a file that it imports has changed since, it is compiled again.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mayavi.cache_directory import default_cache_dir
from mayavi.compilers.artifact import Artifact
from mayavi.compilers.kept import read_kept, write_kept
from mayavi.compilers.npm import find_node
from mayavi.compilers.package_folder import Say, announce
from mayavi.compilers.solc_install import PINNED, ensure_solc
from mayavi.compilers.solidity_project import SolidityProject, SoliditySettings, project_of
from mayavi.errors import CompileError, SetupError

_SCRIPT = Path(__file__).parent / "solc" / "compile.cjs"
_WANTED = ["abi", "evm.bytecode.object", "evm.bytecode.linkReferences"]


def compile_solidity(
    file: Path, settings: SoliditySettings | None = None, *, say: Say = announce
) -> dict[str, Artifact]:
    """Compile a file and all that it imports; return the contracts by name, those of the file first.

    Imports are looked up in the file's project, its `node_modules` and `lib`, with the remappings of Foundry. Settings
    are those of foundry.toml where there is one. Raises `CompileError` with the file and line of the first error.
    """
    project = project_of(file)
    settings = settings or project.settings
    name = file.resolve().relative_to(project.root).as_posix()
    text = _read(file)
    key = _key(name, text, project, settings)
    kept = read_kept(key)
    if kept is None:
        say(f"compiling {file}")
        kept = _compile(project, settings, {name: text}, say)
        write_kept(key, kept)
    contracts: dict[str, Artifact] = {}
    for source in sorted(kept["contracts"], key=lambda each: each != name):
        for contract, data in kept["contracts"][source].items():
            contracts.setdefault(contract, Artifact.from_json({**data, "contractName": contract}))
    return contracts


def compile_packages(
    root: Path, contracts: Mapping[str, str], settings: SoliditySettings, remappings: Sequence[str] = ()
) -> dict[str, Artifact]:
    """Compile contracts of installed npm packages; `contracts` maps each name to its file below `root/node_modules`."""
    project = SolidityProject(root, tuple(remappings), settings)
    sources = {file: _read(root / "node_modules" / file) for file in dict.fromkeys(contracts.values())}
    output = _compile(project, settings, sources, announce, wanted=sources)["contracts"]
    return {name: Artifact.from_json({**output[file][name], "contractName": name}) for name, file in contracts.items()}


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CompileError(f"'{file}' cannot be read: {error}") from None


def _key(name: str, text: str, project: SolidityProject, settings: SoliditySettings) -> str:
    version = settings.version or PINNED
    facts = [name, text, str(project.root), project.remappings, version, settings.as_json(version)]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _compile(
    project: SolidityProject,
    settings: SoliditySettings,
    sources: Mapping[str, str],
    say: Say,
    wanted: Iterable[str] = ("*",),
) -> dict[str, Any]:
    """Contracts of the sources `wanted`, and the hash of every file that was imported."""
    answer = _run(project, settings, sources, say, wanted)
    if (version := answer.get("version")) and settings.version is None:
        answer = _run(project, replace(settings, version=version), sources, say, wanted)
    _raise_errors(answer, project, sources)
    imported = {file: hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in answer["read"].values()}
    return {"contracts": answer["output"].get("contracts", {}), "imported": imported}


def _run(
    project: SolidityProject,
    settings: SoliditySettings,
    sources: Mapping[str, str],
    say: Say,
    wanted: Iterable[str],
) -> dict[str, Any]:
    node = find_node()
    if node is None:
        raise SetupError(
            "Node.js is not installed, and the Solidity compiler needs it",
            "`pip install 'mayavi-sim[contracts]'` brings it, or install Node.js 20 or newer from https://nodejs.org",
        )
    version = settings.version or PINNED
    request = {
        "solc": str(ensure_solc(version, say)),
        "root": str(project.root),
        "input": {
            "language": "Solidity",
            "sources": {name: {"content": text} for name, text in sources.items()},
            "settings": {
                **settings.as_json(version),
                "remappings": list(project.remappings),
                "outputSelection": {source: {"*": _WANTED} for source in wanted},
            },
        },
    }
    finished = subprocess.run(
        [*node, str(_SCRIPT)], input=json.dumps(request), capture_output=True, text=True, check=False
    )
    if finished.returncode != 0:
        last = (finished.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise SetupError(
            f"the Solidity compiler failed: {last}", f"remove '{default_cache_dir() / 'solc'}' and try again"
        )
    answer: dict[str, Any] = json.loads(finished.stdout)
    return answer


def _raise_errors(answer: Mapping[str, Any], project: SolidityProject, sources: Mapping[str, str]) -> None:
    errors = [each for each in answer["output"].get("errors", ()) if each["severity"] == "error"]
    if not errors:
        return
    first = errors[0]
    message = " ".join(str(first["message"]).split())
    place = first.get("sourceLocation") or {}
    name = str(place.get("file", ""))
    where = name
    if name and place.get("start", -1) >= 0:
        file = answer["read"].get(name)
        text = sources[name] if name in sources else Path(file).read_text(encoding="utf-8") if file else ""
        before = text.encode()[: place["start"]].decode(errors="ignore")
        where = f"{name}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
    if first.get("errorCode") == "5333" and answer.get("version", "") is None:
        message = "no version of the compiler satisfies the `pragma solidity` of all sources"
    rest = f"and {len(errors) - 1} more" if len(errors) > 1 else None
    hint = rest if where else f"in the project {project.root}"
    raise CompileError(f"{where}: {first['type']}: {message}" if where else f"{first['type']}: {message}", hint)
