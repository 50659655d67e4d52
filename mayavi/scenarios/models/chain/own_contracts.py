"""Contracts of one's own in scenarios: compiled when the scenario is loaded, and embedded in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from mayavi.settings.model import Model


class ContractFigure(Model):
    """A figure of a contract that is recorded after every step."""

    function: str
    """View function without arguments that returns an integer."""
    unit: str = "count"
    """Unit: wad, ray, usd_e8, bps, e6 for a token with six decimals, or count."""


class OwnContract(Model):
    """A contract of your own that the scenario deploys. Agents reach it as `world.fork.contract(NAME)`."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"file", "contract", "data"})

    file: str | None = None
    """Solidity or Vyper file, artifact of a compiler, or folder of a built Foundry or Hardhat project."""
    contract: str | None = None
    """Name of the contract, where the file or folder has several."""
    constructor: list[Any] | dict[str, Any] = Field(default_factory=list)
    """Arguments of the constructor, in order or by name. An address may be a name: USDC, or an earlier contract."""
    sender: str = "Mayavi.Market"
    """Account that deploys it, which contracts call their owner: a name of the chain, or an address."""
    figures: dict[str, str | ContractFigure] = Field(default_factory=dict)
    """Figures to record after every step: {shares: totalSupply}, or {assets: {function: totalAssets, unit: e6}}."""
    data: str | None = None
    """The compiled contract, in place of `file`."""

    @model_validator(mode="after")
    def _has_code(self) -> OwnContract:
        if self.data is None:
            message = "a contract needs a `file`" if self.file is None else f"'{self.file}' is not compiled"
            raise PydanticCustomError("rule", "{message}", {"message": message})
        return self


def compiled_contract(name: str, folder: Path | None, contract: str | None) -> str:
    """Compile or read the contract of a file, relative to `folder`; return it and its libraries as JSON text."""
    from mayavi.compilers.artifact import Artifact
    from mayavi.compilers.load import load_contract

    loaded = load_contract((folder or Path()) / Path(name).expanduser(), contract)

    def as_json(artifact: Artifact) -> dict[str, Any]:
        links = {"": {each: [{"start": at} for at in places] for each, places in artifact.links.items()}}
        return {
            "contractName": artifact.name,
            "abi": list(artifact.abi),
            "bytecode": artifact.bytecode_hex,
            **({"linkReferences": links} if artifact.links else {}),
        }

    needed: dict[str, Any] = {}
    missing = list(loaded.artifact.links)
    while missing:
        library = missing.pop()
        if library in loaded.others and library not in needed:
            needed[library] = as_json(loaded.others[library])
            missing += loaded.others[library].links
    return json.dumps({"contract": as_json(loaded.artifact), "libraries": needed}, separators=(",", ":"))
