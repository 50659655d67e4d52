"""Find the project of a Solidity file: its folder, remappings and compiler settings."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mayavi.errors import UsageError

_HARDHAT = ("hardhat.config.js", "hardhat.config.ts", "hardhat.config.cjs")
_MARKS = ("foundry.toml", "remappings.txt", *_HARDHAT, "package.json")


@dataclass(frozen=True, slots=True)
class SoliditySettings:
    """Settings of the Solidity compiler. The defaults give code that runs under the rules of Shanghai and later."""

    version: str | None = None
    """Version of the compiler; by default 0.8.27, or the lowest that the sources allow."""
    optimizer_runs: int | None = 200
    """Runs that the optimizer expects; none: no optimizer."""
    evm_version: str | None = None
    """Rules to compile for; by default Shanghai's, or the newest that an older compiler knows."""
    via_ir: bool = False
    metadata: bool = False
    """Whether the code ends with the compiler's version, as that of deployed contracts does."""

    def as_json(self, version: str) -> dict[str, Any]:
        """Settings in solc's standard JSON, for code that does not depend on the folder it was compiled in."""
        runs, known = self.optimizer_runs, tuple(int(part) for part in version.split("."))
        settings: dict[str, Any] = {
            "optimizer": {"enabled": runs is not None, "runs": 200 if runs is None else runs},
            "metadata": {"bytecodeHash": "none"} if known >= (0, 6, 0) else {},
        }
        if not self.metadata and known >= (0, 8, 18):
            settings["metadata"]["appendCBOR"] = False
        if self.evm_version is not None or known >= (0, 8, 20):
            settings["evmVersion"] = self.evm_version or "shanghai"
        if self.via_ir:
            settings["viaIR"] = True
        return settings


@dataclass(frozen=True, slots=True)
class SolidityProject:
    """Folder that imports are looked up in, with its remappings and settings."""

    root: Path
    remappings: tuple[str, ...]
    settings: SoliditySettings


def project_of(file: Path) -> SolidityProject:
    """Return the project of a source: the nearest folder with a configuration of Foundry, Hardhat or npm."""
    file = file.resolve()
    root = next((each for each in file.parents if any((each / mark).is_file() for mark in _MARKS)), file.parent)
    configured = _foundry(root)
    remappings = [*_lines(root / "remappings.txt"), *configured.get("remappings", ())]
    return SolidityProject(root, tuple(str(each) for each in remappings), _settings(configured))


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _foundry(root: Path) -> dict[str, Any]:
    """Settings of the default profile of foundry.toml."""
    path = root / "foundry.toml"
    if not path.is_file():
        return {}
    try:
        profile = tomllib.loads(path.read_text(encoding="utf-8")).get("profile", {}).get("default", {})
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        raise UsageError(f"'{path}' cannot be read: {error}") from None
    return profile if isinstance(profile, dict) else {}


def _settings(configured: dict[str, Any]) -> SoliditySettings:
    settings = SoliditySettings()
    version = configured.get("solc") or configured.get("solc_version")
    if isinstance(version, str) and re.fullmatch(r"\d+\.\d+\.\d+", version):
        settings = replace(settings, version=version)
    if isinstance(runs := configured.get("optimizer_runs"), int):
        settings = replace(settings, optimizer_runs=runs)
    if configured.get("optimizer") is False:
        settings = replace(settings, optimizer_runs=None)
    if isinstance(evm := configured.get("evm_version"), str):
        settings = replace(settings, evm_version=evm)
    return replace(settings, via_ir=bool(configured.get("via_ir", False)))
